"""A table of text in Markdown and LaTeX, pages in HTML by jinja, and numbers in CSV.

Of Markdown and LaTeX the tabulate package would write the rows alone; what takes the lines here is what it lacks: marks of the
best and the tied, a `|` inside a cell, `table*` with its caption and label.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from calirare.plots.templates import templates_of

Mark = Literal["", "best", "tied"]
TIE = "⁼"
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "†": r"$^\dagger$",
    "−": "$-$",
    "–": "--",
    "…": r"\ldots{}",
    "λ": r"$\lambda$",
}


@dataclass(frozen=True)
class Text:
    """One cell: its text, and whether it is the best of its column or tied with it."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True)
class Table:
    """A table of text.

    Args:
        name: For its label in LaTeX and its anchor in HTML.
        title: Its caption.
        header: Heads of the columns.
        rows: Cells; the first `num_text_columns` are words, the others numbers.
        notes: What a reader must know to read it.
        num_text_columns: How many columns are aligned to the left.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    notes: tuple[str, ...] = ()
    num_text_columns: int = 1


def to_markdown(table: Table, level: int = 3) -> str:
    """Heading, notes, table."""
    rule = [":--" if column < table.num_text_columns else "--:" for column in range(len(table.header))]
    lines = [f"{'#' * level} {table.title}", "", *(f"{note}\n" for note in table.notes)]
    lines += [_markdown_row(table.header), _markdown_row(rule)]
    lines += [_markdown_row([_markdown_cell(cell) for cell in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _markdown_cell(cell: Text) -> str:
    return {"best": f"**{cell.text}**", "tied": f"{cell.text}{TIE}", "": cell.text}[cell.mark]


def to_latex(table: Table) -> str:
    """A `table*` for `booktabs` and `graphicx`, as wide as the page."""
    columns = "l" * table.num_text_columns + "r" * (len(table.header) - table.num_text_columns)
    caption = ". ".join([table.title, *(note.rstrip(".") for note in table.notes)]) + "."
    body = [" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows]
    return "\n".join(
        [
            r"\begin{table*}[t]",
            r"\centering",
            rf"\caption{{{_escape_latex(caption)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(_escape_latex(head) for head in table.header) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
            "",
        ]
    )


def _latex_cell(cell: Text) -> str:
    text = _escape_latex(cell.text)
    return {"best": rf"\textbf{{{text}}}", "tied": rf"{text}$^{{=}}$", "": text}[cell.mark]


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text).replace(TIE, r"$^{=}$").replace("**", "")


def render(template: str, **values: object) -> str:
    """A page of `templates/`."""
    return templates_of("calirare.benchmark", "benchmark").get_template(template).render(**values)


def to_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Numbers in full precision, one line each."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if value is None or value != value else value for value in row] for row in rows)
    return stream.getvalue()
