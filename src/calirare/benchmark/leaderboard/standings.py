"""Rows become standings: means, spreads, ties, mean ranks over graphs, and what a rank difference is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, rankdata

from calirare.benchmark.competitors import competitors
from calirare.benchmark.leaderboard.measures import MEASURES
from calirare.benchmark.ranking import Score, score_series
from calirare.benchmark.store import Row

Cell = tuple[str, str, int]
"""Graph, protocol, size: competitors are compared within it."""


@dataclass(frozen=True, eq=False)
class Standings:
    """Every number of a set of rows, by cell, competitor and seed.

    Args:
        values: The rows by cell, competitor and seed.
        cells: Sorted.
    """

    values: dict[Cell, dict[str, dict[int, Row]]]
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Standings:
        """From rows; of two for the same thing the later counts, of failed and skipped ones none."""
        values: dict[Cell, dict[str, dict[int, Row]]] = {}
        for row in rows:
            if "failed" not in row and "skipped" not in row:
                cell = (row["graph"], row["protocol"], row["size"])
                values.setdefault(cell, {}).setdefault(row["competitor"], {})[row["seed"]] = row
        ordered = {cell: _same_seeds(values[cell]) for cell in sorted(values)}
        return cls(ordered, tuple(ordered))

    def of_protocol(self, *names: str) -> list[Cell]:
        """The cells of these protocols."""
        return [cell for cell in self.cells if cell[1] in names]

    def scores(self, cell: Cell, measure: str, names: Sequence[str]) -> dict[str, Score]:
        """Mean, spread, best and ties of one column in one cell."""
        series = {
            name: {seed: float(row.get(measure, math.nan)) for seed, row in sorted(self.values[cell][name].items())}
            for name in names
            if name in self.values[cell]
        }
        series = {name: found for name, found in series.items() if any(map(math.isfinite, found.values()))}
        return score_series(series, MEASURES[measure].higher) if series else {}

    def mean(self, cell: Cell, measure: str, name: str) -> float:
        """Over seeds; NaN where there is no row."""
        found = [float(row.get(measure, math.nan)) for row in self.values[cell].get(name, {}).values()]
        return float(np.mean(found)) if found else math.nan

    def complete(self, cells: Sequence[Cell], names: Sequence[str], measure: str) -> list[str]:
        """The names that have this number in every cell, for as many seeds as the others."""
        found = list(names) if cells else []
        for cell in cells:
            most = max(len(by_seed) for by_seed in self.values[cell].values())
            found = [
                name
                for name in found
                if len(self.values[cell].get(name, ())) == most and math.isfinite(self.mean(cell, measure, name))
            ]
        return found

    def overall(self, cells: Sequence[Cell], measure: str, name: str) -> float:
        """Mean over cells; NaN where one is missing."""
        return float(np.mean([self.mean(cell, measure, name) for cell in cells])) if cells else math.nan


def _same_seeds(found: dict[str, dict[int, Row]]) -> dict[str, dict[int, Row]]:
    """The seeds that all of the core have, so that nobody of a run that was stopped is judged by more draws than others."""
    known = competitors()
    core = [set(by_seed) for name, by_seed in found.items() if name not in known or known[name].core]
    kept = set.intersection(*core) if core else set()
    if not kept:
        return dict(sorted(found.items()))
    left = {name: {seed: by_seed[seed] for seed in sorted(kept & set(by_seed))} for name, by_seed in found.items()}
    return {name: by_seed for name, by_seed in sorted(left.items()) if by_seed}


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over graphs, 1 the best.

    Args:
        measure: By which column.
        ranks: Mean rank of each competitor, best first.
        num_graphs: Over how many graphs; sizes of one graph count as one.
        critical: Nemenyi's critical difference at 5%: ranks that differ by less cannot be told apart.
    """

    measure: str
    ranks: dict[str, float]
    num_graphs: int
    critical: float


def mean_ranks(standings: Standings, cells: Sequence[Cell], measure: str, names: Sequence[str]) -> Ranks:
    """Ranks within each cell by the mean over seeds, averaged within a graph, then over graphs.

    Only competitors with a number in every cell are ranked.
    """
    names = standings.complete(cells, names, measure)
    sign = -1.0 if MEASURES[measure].higher else 1.0
    by_graph: dict[str, list[np.ndarray]] = {}
    for cell in cells:
        found = np.array([standings.mean(cell, measure, name) for name in names])
        by_graph.setdefault(cell[0], []).append(rankdata(sign * found))
    table = np.array([np.mean(one, axis=0) for one in by_graph.values()]).reshape(len(by_graph), len(names))
    means = table.mean(axis=0) if len(table) else np.empty(0)
    order = np.argsort(means, kind="stable")
    ranks = {names[k]: float(means[k]) for k in order}
    return Ranks(measure, ranks, len(table), critical_difference(len(names), len(table)))


def critical_difference(num_competitors: int, num_graphs: int) -> float:
    """q √(k (k + 1) / (6 N)), q the 95% quantile of the studentised range over √2 (Nemenyi; key `demsar2006`).

    >>> round(critical_difference(4, 30), 3)  # the table of Demšar gives q = 2.569 for four
    0.856
    """
    if num_competitors < 2 or num_graphs < 1:
        return math.nan
    q = _range_quantile(num_competitors) / math.sqrt(2)
    return float(q * math.sqrt(num_competitors * (num_competitors + 1) / (6 * num_graphs)))


@cache
def _range_quantile(count: int) -> float:
    """0.95-quantile of the range of `count` standard normals, P(range ≤ q) = k ∫ φ(z) (Φ(z) - Φ(z - q))^(k-1) dz.

    SciPy's `studentized_range.ppf` gives the same in seconds, not microseconds.
    """
    z = np.linspace(-9, 9, 4001)

    def excess(q: float) -> float:
        return float(count * np.trapezoid(norm.pdf(z) * (norm.cdf(z) - norm.cdf(z - q)) ** (count - 1), z) - 0.95)

    return float(brentq(excess, 1e-6, 20))


def wins(
    standings: Standings, cells: Sequence[Cell], measure: str, name: str, rivals: Sequence[str]
) -> tuple[int, int, int]:
    """(cells in which `name` has the best mean, further ones in which a paired t-test at 5% cannot tell, all cells)."""
    judged = [cell for cell in cells if name in standings.values[cell]]
    scores = [standings.scores(cell, measure, rivals).get(name) for cell in judged]
    best = sum(score is not None and score.best for score in scores)
    return best, sum(score is not None and score.tied for score in scores), len(judged)
