"""Our numbers beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calirare.benchmark.formats import Cell, Table
from calirare.benchmark.measures import CONDITIONAL_NOTE, MEASURES
from calirare.benchmark.paper import COUNTERPARTS, TableName, published
from calirare.benchmark.ranking import CellKey, ScoreBook
from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.tables import MISSING, display_names, show

COMPARED = {
    "calibration": ("recall", "macro_f1", "ace", "macro_ace"),
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

    cell: CellKey
    paper_method: str
    entry: str
    measure: str
    ours: float
    published: float

    @property
    def difference(self) -> float:
        return self.ours - self.published

    @property
    def is_better(self) -> bool:
        return self.difference > 0 if MEASURES[self.measure].higher_is_better else self.difference < 0


def pairs(book: ScoreBook, table: TableName, dataset_names: Sequence[str]) -> Iterator[Pair]:
    """Every number of the paper's table that one of ours stands beside."""
    for paper_method, entries in COUNTERPARTS.items():
        for entry in (entry for entry in entries if entry in book.entries):
            for cell in (cell for cell in book.cells if cell[0] in dataset_names):
                for measure in COMPARED[table]:
                    score, value = book.get(cell, entry, measure), published(table, *cell, paper_method, measure)
                    if score is not None and value is not None:
                        yield Pair(cell, paper_method, entry, measure, score.mean * MEASURES[measure].scale, value)


def comparison_table(book: ScoreBook, table: TableName, source: DatasetSource) -> Table | None:
    """Ours, published and the difference, on one graph; None where the paper has nothing to compare with."""
    names = display_names(book.entries)
    found: dict[tuple[int, str, str], dict[str, Pair]] = {}
    for pair in pairs(book, table, [source.name]):
        found.setdefault((pair.cell[1], pair.paper_method, pair.entry), {})[pair.measure] = pair
    measures = [measure for measure in COMPARED[table] if any(measure in by for by in found.values())]
    rows = []
    for (labels, paper_method, entry), by_measure in sorted(found.items(), key=lambda item: item[0][0]):
        cells = [Cell(str(labels)), Cell(paper_method), Cell(names[entry])]
        for measure in measures:
            cells += _triple(book, by_measure.get(measure))
        rows.append(tuple(cells))
    heads = [head for m in measures for head in (MEASURES[m].title, "paper", "difference")]
    name = f"{table}-published-{source.name}"
    header = ("labels", "paper's method", "ours", *heads)
    return Table(name, f"{source.title}: beside the paper", header, tuple(rows), (), 3) if rows else None


def _triple(book: ScoreBook, pair: Pair | None) -> list[Cell]:
    if pair is None:
        return [Cell(MISSING)] * 3
    measure = MEASURES[pair.measure]
    ours = Cell(show(book.get(pair.cell, pair.entry, pair.measure), measure).text)
    return [ours, Cell(f"{pair.published:.{measure.decimals}f}"), Cell(signed(pair.difference, measure.decimals))]


def comparison_overview(book: ScoreBook, table: TableName, sources: Sequence[DatasetSource]) -> Table | None:
    """Mean difference to the paper over all cells, and in how many of them ours is better."""
    names = display_names(book.entries)
    found: dict[tuple[str, str], dict[str, list[Pair]]] = {}
    for pair in pairs(book, table, [source.name for source in sources]):
        found.setdefault((pair.paper_method, pair.entry), {}).setdefault(pair.measure, []).append(pair)
    rows = []
    for (paper_method, entry), by_measure in found.items():
        cells = [_difference(measure, by_measure.get(measure, [])) for measure in COMPARED[table]]
        rows.append((Cell(paper_method), Cell(names[entry]), *cells))
    notes = ["Ours less the paper's, mean over the cells; in brackets, in how many of them ours is better."]
    notes.append(CONDITIONAL_NOTE if table == "calibration" else _F1_NOTE)
    header = ("paper's method", "ours", *(MEASURES[measure].title for measure in COMPARED[table]))
    title = "Beside the paper's " + ("Table 2" if table == "calibration" else "Table 3")
    return Table(f"{table}-published", title, header, tuple(rows), tuple(notes), 2) if rows else None


def _difference(measure: str, found: list[Pair]) -> Cell:
    if not found:
        return Cell(MISSING)
    mean = float(np.mean([pair.difference for pair in found]))
    wins = sum(pair.is_better for pair in found)
    return Cell(f"{signed(mean, MEASURES[measure].decimals)} ({wins}/{len(found)})")


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
