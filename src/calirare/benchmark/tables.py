"""The tables of the benchmark, from scores to text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from calirare.benchmark.formats import Table, Text
from calirare.benchmark.grid import DECISIONS, Entry
from calirare.benchmark.paper import STATISTICS
from calirare.benchmark.ranking import CellKey, Score, ScoreBook, mean_over_cells, times_best
from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.store import Row
from calirare.metrics.registry import CONDITIONAL_NOTE, METRICS

CALIBRATION_METRICS = (
    "recall",
    "macro_f1",
    "true_class_ace",
    "macro_true_class_ace",
    "accuracy",
    "negative_log_likelihood",
    "brier_score",
    "classwise_ace",
    "expected_calibration_error",
    "average_precision",
    "roc_auc",
    "negative_log_likelihood_rare",
)
CLASSIFICATION_METRICS = ("accuracy", "recall", "macro_f1", "rare_f1", "precision", "average_precision", "roc_auc")
RANK_NOTE = (
    "Mean ± standard deviation over the seeds. Bold: the best mean of its column; ⁼: a paired t-test over the seeds "
    "(5%, not corrected for the number of comparisons) cannot tell it from the best."
)
MISSING = "–"
NETWORKS = ("gcn", "gat", "gin", "sage")


def display_names(entries: Sequence[str]) -> dict[str, str]:
    """What to call each entry among the others: prior and detector are named where they tell entries apart.

    >>> display_names(["jackknife", "jackknife:balanced", "uncalibrated@gin"])
    {'jackknife': 'jackknife (natural)', 'jackknife:balanced': 'jackknife (balanced)', 'uncalibrated@gin': 'uncalibrated, GIN'}
    """
    parsed = {key: _split_key(key) for key in entries}
    names = {}
    for key, (method, prior, detector, decision) in parsed.items():
        peers = [other for other in parsed.values() if other[0] == method]
        name = method
        if prior != "natural" or len({other[1] for other in peers}) > 1:
            name += f" ({prior})"
        if detector != "gcn" or len({other[2] for other in peers}) > 1:
            name += f", {detector.upper() if detector in NETWORKS else detector}"
        if decision != DECISIONS[0]:
            name += f", cut for {METRICS[decision].title}"
        names[key] = name
    return names


def _split_key(key: str) -> tuple[str, str, str, str]:
    head, _, options = key.partition("[")
    if options:
        name, _, rest = key.rpartition("]")
        tail = Entry.parse(f"x{rest}")
        return f"{name}]", tail.prior, tail.detector, tail.decision
    entry = Entry.parse(head)
    return entry.method, entry.prior, entry.detector, entry.decision


class Shows(Protocol):
    """A metric, or a column of the leaderboard."""

    def show(self, value: float) -> str:
        """In its units."""


def show(score: Score | None, column: Shows, *, spread: bool = True) -> Text:
    """Mean ± spread in the column's units; bold the best, ⁼ what a paired test cannot tell from it."""
    if score is None or not math.isfinite(score.mean):
        return Text(MISSING)
    text = column.show(score.mean)
    if spread and math.isfinite(score.spread):
        text += f" ± {column.show(score.spread)}"
    return Text(text, score.mark)


def statistics_table(sources: Sequence[DatasetSource]) -> Table:
    """The paper's Table 1: what we loaded, and in brackets what the paper says where that differs."""
    rows = []
    for source in sources:
        graph = source.load()
        ours = (graph.num_nodes, graph.edge_index.shape[1], graph.num_features)
        paper = STATISTICS.get(source.name)
        theirs = (None, None, None) if paper is None else (paper.nodes, paper.edges, paper.features)
        cells = [Text(_beside(f"{a:,}", None if b is None else f"{b:,}")) for a, b in zip(ours, theirs, strict=True)]
        share = Text(_beside(f"{graph.rare_share:.2%}", None if paper is None else f"{paper.rare_share:.2%}"))
        rows.append((Text(source.title), *cells, share, Text(f"{graph.known.size:,}")))
    notes = [
        "Edges are counted in both directions, as the paper does. In brackets: the paper's number where it differs."
    ]
    if any(source.where == "facebook" for source in sources):
        notes.append(
            "Facebook: the 128 reduced features that the paper used are no longer available; these are the words they "
            "were made from, so numbers on this graph are not comparable one to one."
        )
    header = ("graph", "nodes", "edges", "features", "rare class", "labelled")
    return Table("statistics", "The graphs", header, tuple(rows), tuple(notes))


def _beside(ours: str, paper: str | None) -> str:
    return ours if paper is None or paper == ours else f"{ours} ({paper})"


def overview_table(book: ScoreBook, metrics: Sequence[str], title: str, name: str) -> Table:
    """Each entry's mean over all cells, and how often it is the best or tied with the best."""
    names = display_names(book.entries)
    columns = [_overview_column(book, metric) for metric in metrics]
    rows = tuple((Text(names[entry]), *(column[entry] for column in columns)) for entry in book.entries)
    note = (
        f"Mean over the cells (graph × labels per class), {len(book.cells)} in all; in brackets, in how many of them "
        "the method is the best or tied with the best."
    )
    header = ("method", *(METRICS[metric].head for metric in metrics))
    return Table(f"{name}-overview", title, header, rows, (note, *_dagger_note(metrics)))


def _overview_column(book: ScoreBook, name: str) -> dict[str, Text]:
    metric = METRICS[name]
    means = {entry: mean_over_cells(book, entry, name) for entry in book.entries}
    shown = {entry: show(Score(mean, math.nan, 0), metric).text for entry, mean in means.items()}
    finite = [mean for mean in means.values() if math.isfinite(mean)]
    if metric.conditional or not finite:
        return {entry: Text(text) for entry, text in shown.items()}
    best = max(finite) if metric.higher_is_better else min(finite)
    return {
        entry: Text(
            shown[entry] + (f" ({times_best(book, entry, name)})" if math.isfinite(mean) else ""),
            "best" if mean == best else "",
        )
        for entry, mean in means.items()
    }


def cell_table(
    book: ScoreBook,
    cell: CellKey,
    title: str,
    metrics: Sequence[str],
    budgets: Mapping[str, tuple[str, str]],
    name: str,
) -> Table:
    """All methods on one graph at one number of labels."""
    names = display_names(book.entries)
    rows = tuple(
        (
            Text(names[entry]),
            *(Text(words) for words in budgets[entry]),
            *(show(book.get(cell, entry, metric), METRICS[metric]) for metric in metrics),
        )
        for entry in book.entries
        if book.has(cell, entry)
    )
    header = ("method", "trains on", "calibrates on", *(METRICS[metric].head for metric in metrics))
    return Table(f"{name}-{cell[0]}-{cell[1]}", title, header, rows, _dagger_note(metrics), 3)


def _dagger_note(metrics: Sequence[str]) -> tuple[str, ...]:
    return (CONDITIONAL_NOTE,) if any(METRICS[metric].conditional for metric in metrics) else ()


def budgets_of(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """The labels each entry trains on and calibrates on."""
    return {row["entry"]: (row["trains_on"], row["calibrates_on"]) for row in rows}
