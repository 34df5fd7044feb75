"""The tables of the benchmark, from scores to text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from calirare.benchmark.formats import Table, Text
from calirare.benchmark.grid import DECISIONS, Entry
from calirare.benchmark.paper import STATISTICS
from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.standings import Cell, Column, Score, Standings
from calirare.benchmark.store import Row
from calirare.metrics.registry import CONDITIONAL_NOTE, METRICS

CALIBRATION_METRICS = (
    "recall", "macro_f1", "true_class_ace", "macro_true_class_ace", "accuracy", "negative_log_likelihood", "brier_score",
    "classwise_ace", "expected_calibration_error", "average_precision", "roc_auc", "negative_log_likelihood_rare",
)  # fmt: skip
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


def show(score: Score | None, column: Column, *, spread: bool = True) -> Text:
    """Mean ± spread in the column's units; bold the best, ⁼ what a paired test cannot tell from it."""
    if score is None or not math.isfinite(score.mean):
        return Text(MISSING)
    text = column.show(score.mean)
    if spread and math.isfinite(score.spread):
        text += f" ± {column.show(score.spread)}"
    return Text(text, score.mark)


def means_column(
    values: Mapping[str, float], names: Iterable[str], column: Column, after: Mapping[str, str] | None = None
) -> list[Text]:
    """The values of these names and what stands after them, the best marked; a dash where there is none."""
    best_of = max if column.higher_is_better else min
    best = math.nan if column.conditional else best_of(filter(math.isfinite, values.values()), default=math.nan)
    found = []
    for name in names:
        value = values.get(name, math.nan)
        shown = column.show(value) + (after or {}).get(name, "") if math.isfinite(value) else MISSING
        found.append(Text(shown, "best" if value == best else ""))
    return found


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


def overview_table(standings: Standings, metrics: Sequence[str], name: str) -> Table:
    """Each entry's mean over all cells, and how often it is the best or tied with the best."""
    names = display_names(standings.names)
    columns = []
    for metric in (METRICS[name] for name in metrics):
        means = {entry: standings.overall(metric.name, entry) for entry in names}
        wins = standings.wins(metric.name)
        counts = {entry: "" if metric.conditional else f" ({sum(wins[entry])})" for entry in names}
        columns.append(means_column(means, standings.names, metric, counts))
    rows = tuple((Text(shown), *found) for shown, *found in zip(names.values(), *columns, strict=True))
    note = (
        f"Mean over the cells (graph × labels per class), {len(standings.cells)} in all; in brackets, in how many of them "
        "the method is the best or tied with the best."
    )
    header = ("method", *(METRICS[metric].head for metric in metrics))
    return Table(f"{name}-overview", "Over all graphs", header, rows, (note, *_dagger_note(metrics)))


def cell_table(
    standings: Standings,
    cell: Cell,
    title: str,
    metrics: Sequence[str],
    budgets: Mapping[str, tuple[str, str]],
    name: str,
) -> Table:
    """All methods on one graph at one number of labels."""
    columns = {metric: standings.scores(cell, metric) for metric in metrics}
    rows = tuple(
        (
            Text(shown),
            *(Text(words) for words in budgets[entry]),
            *(show(columns[metric].get(entry), METRICS[metric]) for metric in metrics),
        )
        for entry, shown in display_names(standings.names).items()
        if entry in standings.values[cell]
    )
    header = ("method", "trains on", "calibrates on", *(METRICS[metric].head for metric in metrics))
    return Table(f"{name}-{cell.graph}-{cell.size}", title, header, rows, _dagger_note(metrics), 3)


def _dagger_note(metrics: Sequence[str]) -> tuple[str, ...]:
    return (CONDITIONAL_NOTE,) if any(METRICS[metric].conditional for metric in metrics) else ()


def budgets_of(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """The labels each entry trains on and calibrates on."""
    return {row["entry"]: (row["trains_on"], row["calibrates_on"]) for row in rows}
