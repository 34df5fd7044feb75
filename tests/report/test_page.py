"""The page as text: whole, escaped, and self-contained."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest

import calirare as cr
from calirare.decisions.costs import ACTIONS, Costs
from calirare.errors import InputError, MissingDependencyError
from calirare.metrics import recall_at_budget
from calirare.report import gather, write_report
from calirare.report.page import _script_json, render, share_rows

pytestmark = pytest.mark.usefixtures("few_sentences")
DATE = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
EXTERNAL = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("a", "href"), ("source", "src")}


class Page(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.text, self.scripts, self._inside = [], [], [], ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        (self.scripts if self._inside in ("script", "style") else self.text).append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def contents(clf, graph):
    return gather(clf, graph, budget=20, num_resamples=20, date=DATE, model_version="abc123")


@pytest.fixture(scope="module")
def page(contents):
    return Page(render(contents, rows=30, plotly="/* plotly */"))


def test_nothing_is_loaded_from_elsewhere(page):
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert (tag, name) not in EXTERNAL or value.startswith("#"), (tag, value)
    assert "@import" not in "".join(page.scripts) and "url(" not in "".join(page.scripts)


def test_names_from_users_stay_text(page, graph):
    assert [tag for tag, _ in page.tags].count("script") == 3  # figures, plotly, ours
    assert not any(tag == "img" for tag, _ in page.tags)
    assert "<script>window.hacked = 1</script>" in page.words
    assert f"rare means {graph.class_names[1]}" in page.words


def test_figures_are_json_that_cannot_end_their_tag(page):
    figures = json.loads(page.scripts[1])
    assert set(figures) == {"reliability", "scores", "costs"}
    names = [trace["name"] for trace in figures["scores"]["data"]]
    assert names[1].startswith("&lt;img") and "<" not in names[1]
    assert _script_json({"a": "</script><!--"}).count("<") == 0


def test_it_says_what_was_found(page, contents):
    groups = contents.queue.groups
    assert f"{groups['alert'].num_nodes} are alerted, {groups['review'].num_nodes} go to a person" in page.words
    assert f"{contents.evaluation.after['average_precision'].value:.3f} (" in page.words
    for words in ("2 January 2026, 03:04 UTC", "abc123", "train + val: 200 labels", "neither training nor calibration"):
        assert words in page.words
    assert f"torch {contents.versions['torch']}" in page.words
    assert sum(tag == "tr" for tag, _ in page.tags) > 30


def test_recall_within_the_budget_is_of_the_same_share_of_the_nodes_that_judge(graph, split):
    """A budget of 20 for the queue is another one for the nodes that judge, where these are fewer or more."""
    y = np.full(graph.num_nodes, -1)
    y[split.train] = graph.y[split.train]
    graph = graph.with_labels(y)
    contents = gather(cr.RareCategoryClassifier(detector="linear").fit(graph), graph, budget=20, num_resamples=5)
    evidence = contents.evaluation.evidence
    allowed = round(20 * evidence.y.size / len(contents.queue))
    assert 0 < allowed < 20
    expected = recall_at_budget(evidence.y_rare, evidence.probability, allowed)
    said = f"Recall within the budget ({allowed} of {evidence.y.size} nodes) {expected:.3f} ("
    assert said in Page(render(contents, rows=3, plotly="")).words


def test_the_prices_are_those_given(clf, graph):
    costs = Costs(miss=80, alarm=4, review=1, review_error=0.1)
    contents = gather(clf, graph, costs=costs, num_resamples=2)
    assert contents.queue.costs == contents.costs == costs
    assert "to end in the wrong call 10.0% of the time" in Page(render(contents, rows=3, plotly="")).words


@pytest.mark.parametrize(("miss", "lines"), [(80.0, True), (np.linspace(40, 80, 300), False)])
def test_thresholds_are_spoken_of_where_they_are_drawn(clf, graph, miss, lines):
    miss = miss if lines else np.resize(miss, graph.num_nodes)
    contents = gather(clf, graph, costs=Costs(miss=miss), num_resamples=2)
    assert (contents.limits is not None) == lines
    assert ("Dotted lines are the thresholds" in Page(render(contents, rows=3, plotly="")).words) == lines


def test_no_probability_lies_outside_of_its_interval_as_they_are_written(page, contents):
    rows = zip(
        *(share_rows(contents.queue, 30).frame()[name] for name in ("id", "probability", "lower", "upper")), strict=True
    )
    for name, p, lower, upper in rows:
        assert f"{name} {p:.3f} {lower:.3f} – {upper:.3f}" in page.words
        assert f"{lower:.3f}" <= f"{p:.3f}" <= f"{upper:.3f}"


def test_the_queue_is_cut_to_the_rows_asked_for(contents):
    rows = [attributes for tag, attributes in Page(render(contents, rows=5, plotly="")).tags if tag == "td"]
    assert sum(attributes.get("class") == "id" for attributes in rows) == 5


@pytest.mark.parametrize(
    ("alerts", "reviews", "rows", "shown"),
    [
        (404, 100, 200, (100, 100, 0)),
        (404, 30, 200, (170, 30, 0)),
        (20, 300, 200, (20, 180, 0)),
        (20, 30, 200, (20, 30, 150)),
        (3, 3, 5, (3, 2, 0)),
        (3, 3, -1, (0, 0, 0)),
    ],
)
def test_a_reviewer_finds_the_reviews_in_a_queue_that_is_mostly_alerts(contents, alerts, reviews, rows, shown):
    """Of 404 alerts and 100 reviews the first 200 rows were alerts all of them."""
    code = np.repeat([0, 1, 2], [alerts, reviews, 1_000 - alerts - reviews])
    many = contents.queue.take(np.arange(1_000) % len(contents.queue))
    many = replace(many, node=np.arange(1_000), decisions=replace(many.decisions, action=np.array(ACTIONS)[code]))
    found = share_rows(many, rows)
    assert tuple((found.action == name).sum() for name in ACTIONS) == shown
    assert (np.diff(found.node) > 0).all()  # in the order of the queue
    if sum(shown) == 5:
        groups = {
            name: replace(contents.queue.groups[name], num_nodes=(code == k).sum()) for k, name in enumerate(ACTIONS)
        }
        many = replace(many, groups=contents.queue.groups | groups)
        words = Page(render(replace(contents, queue=many), rows=rows, plotly="")).words
        assert (
            "5 of 1,000 nodes: 3 of 3 alerts, 2 of 3 reviews, 0 of 994 cleared, of each the most valuable first."
            in words
        )


def test_on_paper_stand_sixty_rows_shared_alike(contents):
    """Of those that are listed."""
    page = Page(render(contents, rows=100, plotly=""))
    hidden = [tag for tag, attributes in page.tags if attributes.get("class") == "unprinted"]
    assert len(hidden) == 40 and "60 of these are printed." in page.words
    assert share_rows(contents.queue, 60).action.tolist().count("review") == 20


def test_without_test_labels_the_left_out_ones_judge(graph, split):
    y = np.full(graph.num_nodes, -1)
    y[split.train] = graph.y[split.train]
    graph = graph.with_labels(y)
    blind = cr.RareCategoryClassifier(detector="linear").fit(graph)
    contents = gather(blind, graph, num_resamples=10)
    assert contents.evaluation.evidence.source == "left_out"
    assert contents.evaluation.evidence.y.size == split.train.size
    words = Page(render(contents, rows=3, plotly="")).words
    assert "There is no test set" in words
    evidence = contents.evaluation.evidence
    assert (
        contents.evaluation.num_called == sum(evidence.after[:, 1] > 0.5) > 0 and "of the nodes it calls rare" in words
    )
    nobody = replace(evidence, predicted=np.zeros_like(evidence.y))
    none = replace(contents, evaluation=replace(contents.evaluation, evidence=nobody))
    assert "; it calls none of them rare" in Page(render(none, rows=3, plotly="")).words


def test_what_a_stack_chose_is_in_a_table(graph, split):
    members = ["linear", cr.detectors.Forest(trees=20)]
    stack = cr.RareCategoryClassifier(cr.detectors.Stack(members)).fit(graph, split)
    contents = gather(stack, graph, num_resamples=2)
    assert {one.name: one.weight for one in contents.detectors} == stack.weights_
    words = Page(render(contents, rows=3, plotly="")).words
    assert "Detectors: what was chosen" in words
    for one in contents.detectors:
        assert f"{one.weight:.2f}" in words and f"{one.loss:.3f}" in words
    assert f"{contents.detectors_loss:.3f}" in words
    assert "Disagreement: how far the detectors" in words
    for row in share_rows(contents.queue, 3):
        assert f"{row['lower']:.3f} – {row['upper']:.3f} {row['disagreement']:.3f}" in words


def test_a_single_detector_needs_no_such_table(contents):
    words = Page(render(contents, rows=3, plotly="")).words
    assert "Detectors: what was chosen" not in words and "Disagreement" not in words


def test_balanced_probabilities_are_reported_without_decisions(graph, split):
    balanced = cr.RareCategoryClassifier(detector="linear", prior="balanced").fit(graph, split)
    contents = gather(balanced, graph, num_resamples=10)
    assert contents.queue is None
    words = Page(render(contents, rows=3, plotly="")).words
    assert "fitted with prior='balanced'" in words and "Labels that pull it most" not in words


def test_a_method_without_calibration_has_no_before(graph, split):
    plain = cr.RareCategoryClassifier(detector="linear", method="uncalibrated").fit(graph, split)
    contents = gather(plain, graph, num_resamples=10)
    page = Page(render(contents, rows=3, plotly=""))
    assert not contents.calibrates
    assert "before calibration" not in page.words and "before calibration" not in page.scripts[1]


def test_the_file_is_whole_or_absent(clf, graph, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="must end in .html"):
        write_report(clf, graph, tmp_path / "report.pdf")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_report(clf, graph, tmp_path / "folder.html")
    monkeypatch.setattr("calirare.report.page.render", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(clf, graph, tmp_path / "report.html", num_resamples=2)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_a_missing_library_gives_the_install_line(clf, graph, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingDependencyError, match="calirare\\[report\\]"):
        write_report(clf, graph, tmp_path / "report.html")


def test_the_columns_of_both_tables_and_the_audit_are_there(tmp_path):
    rows = np.arange(200)
    rare = rows % 10 == 0
    nodes = {"id": rows * 3, "x": np.random.default_rng(0).normal(size=200) + rare, "y": rare.astype(int)}
    nodes["closed"] = [float(k) if one else None for k, one in enumerate(rare)]
    edges = {"source": rows[:-1] * 3, "target": rows[1:] * 3, "<amount>": rows[1:] * 1.5}
    graph = cr.read_tables(nodes, edges, label="y", rare=1)
    clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    page = write_report(clf, graph, tmp_path / "report.html", num_resamples=20).read_text(encoding="utf-8")
    assert "The 7 columns of the tables" in page and "<td>&lt;amount&gt;</td>" in page
    assert "What the audit found" in page and "it was known only after the label" in page


def test_what_to_beware_of_stands_before_everything_else(graph, split):
    """Labels that know nothing of the columns: the first words below the title."""
    rng = np.random.default_rng(0)
    shuffled = graph.with_labels(rng.permutation(graph.y))
    clf = cr.RareCategoryClassifier(detector="linear").fit(shuffled, cr.Split(train=split.train))
    contents = gather(clf, shuffled, num_resamples=5, title="A title")
    assert contents.beware[0].startswith("No skill is shown")
    words = Page(render(contents, rows=3, plotly="")).words
    assert f"A title {contents.beware[0]}" in words


def test_labels_to_look_at_again_are_listed(contents, page):
    assert contents.look_again and "Labels to look at again" in page.words
    for one in contents.look_again:
        assert f"{one.id} {one.label} {one.probability:.3f} {one.likelier}" in page.words
    sure = replace(contents, look_again=[replace(contents.look_again[0], probability=2e-7)])
    assert f"{sure.look_again[0].label} <0.0001" in Page(render(sure, rows=3, plotly="")).words
