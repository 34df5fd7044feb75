"""Tables in every format."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

from calirare.benchmark.comparison import signed
from calirare.benchmark.formats import Table, Text, render, to_csv, to_latex, to_markdown

TABLE = Table(
    "t",
    "A & B",
    ("method", "Recall", "ACE†"),
    (
        (Text("label_smoothing"), Text("91.0 ± 0.5", "best"), Text("0.1")),
        (Text("<b>|x"), Text("90.9", "tied"), Text("–")),
    ),
    ("50% of it",),
)


def test_markdown():
    lines = to_markdown(TABLE).splitlines()
    assert lines[0] == "### A & B" and "50% of it" in lines
    assert lines[-2] == "| label_smoothing | **91.0 ± 0.5** | 0.1 |"
    assert lines[-1] == r"| <b>\|x | 90.9⁼ | – |"
    assert {line.replace(r"\|", "").count("|") for line in lines[-4:]} == {4}


def test_latex_escapes_what_it_must():
    text = to_latex(TABLE)
    assert r"label\_smoothing & \textbf{91.0 $\pm$ 0.5} & 0.1 \\" in text
    assert r"\caption{A \& B. 50\% of it.}" in text
    assert r"ACE$^\dagger$" in text and r"90.9$^{=}$" in text
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 1


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "b"):
            self.text.append(data)


def test_html_closes_its_tags_and_escapes():
    parser = Cells()
    parser.feed(render("page.html", statistics=TABLE, sections=[], titles={}, command="calirare", facts=[]))
    assert not parser.open
    assert parser.text == ["method", "Recall", "ACE†", "label_smoothing", "91.0 ± 0.5", "0.1", "<b>|x", "90.9", "–"]


def test_csv_leaves_what_is_missing_empty():
    text = to_csv(["a", "b"], [[float("nan"), None], [0.1 + 0.2, "x,y"]])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ["", ""], ["0.30000000000000004", "x,y"]]


def test_signs():
    assert [signed(value, 2) for value in (0.127, -0.127, -0.001, float("nan"))] == ["+0.13", "−0.13", "0.00", "–"]
