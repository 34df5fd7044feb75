"""What has shifted since the fit: said on screen, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calirare.cli import console

if TYPE_CHECKING:
    import numpy as np

    from calirare.data.graph import RareGraph
    from calirare.data.tables.shift import Shifts
    from calirare.estimator.classifier import RareCategoryClassifier

SHIFTED = 3
"""Exit code where `--strict` refuses tables that have shifted."""
Strict = Annotated[
    bool, typer.Option("--strict", help=f"Refuse tables that have shifted since the fit, with exit code {SHIFTED}.")
]


def check_shifts(graph: RareGraph, strict: bool) -> Shifts:
    """The shifts of new tables; with `strict` the program ends where one is large, before anything is written."""
    from calirare.data.tables.shift import compare_with_fit

    return refuse_large(compare_with_fit(graph), strict)


def check_scores(classifier: RareCategoryClassifier, probability: np.ndarray, shifts: Shifts, strict: bool) -> Shifts:
    """The same, with P(rare) of the nodes without a label among what is compared."""
    from calirare.estimator.score_profile import and_scores

    return refuse_large(and_scores(shifts, probability, classifier.state_.scores), strict)


def refuse_large(shifts: Shifts, strict: bool) -> Shifts:
    """The shifts; with `strict` the program ends where one is large."""
    if strict and shifts.matters:
        first, *others = [one for one in shifts.found if one.severity == "large"]
        also = "".join(f"; {one.table}, column {one.column!r}, too" for one in others)
        console.fail(
            f"the tables have shifted since the fit; {first.table}, column {first.column!r}: {first.words}{also}"
        )
        raise typer.Exit(SHIFTED)
    return shifts


def show_shifts(shifts: Shifts) -> None:
    """Print the columns that are not as they were at fit."""
    if not shifts.found:
        return
    rows = [(one.severity, one.table, one.column, f"{one.psi:.2f}", one.words) for one in shifts.found]
    header = ["shift", "table", "column", "PSI", "what has changed"]
    console.show_table("These tables are not like those of the fit", header, rows, right=(3,))
    if shifts.matters:
        console.show("BEWARE: with such a shift the scores may be worth nothing. --strict refuses it.")
        console.show(_way_out(shifts))


def _way_out(shifts: Shifts) -> str:
    """What to do about large shifts."""
    from calirare.data.tables.findings.finding import ignore

    moved = [one.column for one in shifts.found if one.severity == "large" and one.table != "scores"]
    columns = [ignore(name) for name in moved if not name.startswith("(")]
    without = (
        f"; or fit without what is new every time, such as a month or a running number: {columns[0]}" if columns else ""
    )
    return f"Are the tables whole, in the same units, and over as long a time as at the fit? If so, fit on tables like these{without}."
