"""Our numbers beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calirare.benchmark.formats import Table, Text
from calirare.benchmark.paper import COUNTERPARTS, TableName, published
from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.standings import Cell, Standings
from calirare.benchmark.tables import MISSING, display_names, show
from calirare.metrics.registry import CONDITIONAL_NOTE, METRICS

COMPARED = {
    "calibration": ("recall", "macro_f1", "true_class_ace", "macro_true_class_ace"),
    "classification": ("accuracy", "recall", "macro_f1", "rare_f1"),
}
_F1_NOTE = (
    "The paper's Table 3 prints Macro-F1 for GCN-CS and Ours, but F1 of the rare class for GIN-CS and GAT-CS: accuracy, "
    "recall and the number of rare test nodes fix the confusion matrix, and only that reading agrees with it. Their "
    "Macro-F1 here follows from that matrix."
)


@dataclass(frozen=True)
class Pair:
    """One of our numbers and the published one, both in the table's units."""

    cell: Cell
    paper_method: str
    entry: str
    metric: str
    ours: float
    published: float

    @property
    def difference(self) -> float:
        return self.ours - self.published

    @property
    def is_better(self) -> bool:
        return METRICS[self.metric].improves(self.ours, self.published)


def pairs(standings: Standings, table: TableName, dataset_names: Sequence[str]) -> Iterator[Pair]:
    """Every number of the paper's table that one of ours stands beside."""
    for paper_method, entries in COUNTERPARTS.items():
        for entry in (entry for entry in entries if entry in standings.names):
            for cell in (cell for cell in standings.cells if cell.graph in dataset_names):
                for metric in COMPARED[table]:
                    mean = standings.mean(cell, metric, entry) * METRICS[metric].scale
                    value = published(table, cell.graph, cell.size, paper_method, metric)
                    if math.isfinite(mean) and value is not None:
                        yield Pair(cell, paper_method, entry, metric, mean, value)


def comparison_table(standings: Standings, table: TableName, source: DatasetSource) -> Table | None:
    """Ours, published and the difference, on one graph; None where the paper has nothing to compare with."""
    names = display_names(standings.names)
    found: dict[tuple[int, str, str], dict[str, Pair]] = {}
    for pair in pairs(standings, table, [source.name]):
        found.setdefault((pair.cell.size, pair.paper_method, pair.entry), {})[pair.metric] = pair
    metrics = [metric for metric in COMPARED[table] if any(metric in by for by in found.values())]
    rows = []
    for (labels, paper_method, entry), by_metric in sorted(found.items(), key=lambda item: item[0][0]):
        cells = [Text(str(labels)), Text(paper_method), Text(names[entry])]
        for metric in metrics:
            cells += _triple(standings, by_metric.get(metric))
        rows.append(tuple(cells))
    heads = [head for m in metrics for head in (METRICS[m].head, "paper", "difference")]
    name = f"{table}-published-{source.name}"
    header = ("labels", "paper's method", "ours", *heads)
    return Table(name, f"{source.title}: beside the paper", header, tuple(rows), (), 3) if rows else None


def _triple(standings: Standings, pair: Pair | None) -> list[Text]:
    if pair is None:
        return [Text(MISSING)] * 3
    metric = METRICS[pair.metric]
    ours = Text(show(standings.scores(pair.cell, pair.metric)[pair.entry], metric).text)
    return [ours, Text(f"{pair.published:.{metric.decimals}f}"), Text(signed(pair.difference, metric.decimals))]


def comparison_overview(standings: Standings, table: TableName, sources: Sequence[DatasetSource]) -> Table | None:
    """Mean difference to the paper over all cells, and in how many of them ours is better."""
    names = display_names(standings.names)
    found: dict[tuple[str, str], dict[str, list[Pair]]] = {}
    for pair in pairs(standings, table, [source.name for source in sources]):
        found.setdefault((pair.paper_method, pair.entry), {}).setdefault(pair.metric, []).append(pair)
    rows = []
    for (paper_method, entry), by_metric in found.items():
        cells = [_difference(metric, by_metric.get(metric, [])) for metric in COMPARED[table]]
        rows.append((Text(paper_method), Text(names[entry]), *cells))
    notes = ["Ours less the paper's, mean over the cells; in brackets, in how many of them ours is better."]
    notes.append(CONDITIONAL_NOTE if table == "calibration" else _F1_NOTE)
    header = ("paper's method", "ours", *(METRICS[metric].head for metric in COMPARED[table]))
    title = "Beside the paper's " + ("Table 2" if table == "calibration" else "Table 3")
    return Table(f"{table}-published", title, header, tuple(rows), tuple(notes), 2) if rows else None


def _difference(metric: str, found: list[Pair]) -> Text:
    if not found:
        return Text(MISSING)
    mean = float(np.mean([pair.difference for pair in found]))
    wins = sum(pair.is_better for pair in found)
    return Text(f"{signed(mean, METRICS[metric].decimals)} ({wins}/{len(found)})")


def signed(value: float, decimals: int) -> str:
    """A difference with its sign.

    >>> signed(1.25, 1), signed(-0.0312, 3), signed(0.0001, 3)
    ('+1.2', '−0.031', '0.000')
    """
    if not math.isfinite(value):
        return MISSING
    text = f"{abs(value):.{decimals}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else '−'}{text}"
