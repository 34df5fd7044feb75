"""Rows over seeds become standings: means, spreads, ties, mean ranks over graphs, and what a rank difference is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtr
from scipy.stats import norm, rankdata

from calirare.benchmark.formats import Mark
from calirare.benchmark.store import Row

SIGNIFICANCE = 0.05


class Cell(NamedTuple):
    """Names are compared within it."""

    graph: str
    protocol: str
    size: int


class Column(Protocol):
    """A metric, or a measure of the leaderboard."""

    @property
    def higher_is_better(self) -> bool: ...
    @property
    def conditional(self) -> bool: ...  # then nothing is ranked by it
    def show(self, value: float) -> str: ...


@dataclass(frozen=True)
class Score:
    """One number of a table.

    Args:
        mean: Over seeds.
        spread: Standard deviation over seeds; NaN for a single one.
        num_seeds: How many.
        best: Whether it has the best mean of its cell.
        tied: Whether a paired t-test over the seeds cannot tell it from the best (5%).
    """

    mean: float
    spread: float
    num_seeds: int
    best: bool = False
    tied: bool = False

    @property
    def mark(self) -> Mark:
        """As tables mark it."""
        return "best" if self.best else "tied" if self.tied else ""


@dataclass(frozen=True, eq=False)
class Standings:
    """Every number of a set of rows.

    Args:
        values: The rows by cell, name and seed.
        columns: What the numbers are, by their key in the rows.
        names: Who is compared, in the order of the tables.
    """

    values: dict[Cell, dict[str, dict[int, Row]]]
    columns: Mapping[str, Column]
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, rows: Iterable[Row], keys: Sequence[str], columns: Mapping[str, Column], names: Iterable[str]
    ) -> Standings:
        """From rows; of two for the same thing the later counts, of failed and skipped ones and of other names none.

        Args:
            rows: One for each run.
            keys: What they call graph, protocol, size, seed and name: `Task.COLUMNS`.
            columns, names: As above.
        """
        names = tuple(names)
        values: dict[Cell, dict[str, dict[int, Row]]] = {}
        for row in rows:
            *cell, seed, name = (row[key] for key in keys[:5])
            if name in names and "failed" not in row and "skipped" not in row:
                values.setdefault(Cell(*cell), {}).setdefault(name, {})[seed] = row
        return cls(values, columns, names)

    @property
    def cells(self) -> list[Cell]:
        return list(self.values)

    def within(self, cells: Iterable[Cell]) -> Standings:
        """The same of these cells alone."""
        return replace(self, values={cell: self.values[cell] for cell in cells})

    def of_protocol(self, *names: str) -> Standings:
        """The same of these protocols alone."""
        return self.within(cell for cell in self.values if cell.protocol in names)

    def scores(self, cell: Cell, column: str, names: Sequence[str] | None = None) -> dict[str, Score]:
        """Mean, spread, best and ties of one column in one cell, among all names or some, where there is a number."""
        series = {
            name: {seed: float(row.get(column, math.nan)) for seed, row in sorted(self.values[cell][name].items())}
            for name in (self.names if names is None else names)
            if name in self.values[cell]
        }
        series = {name: found for name, found in series.items() if any(map(math.isfinite, found.values()))}
        told = self.columns[column]
        return score_series(series, told.higher_is_better, compete=not told.conditional) if series else {}

    def mean(self, cell: Cell, column: str, name: str) -> float:
        """Over seeds; NaN where there is no row."""
        found = [float(row.get(column, math.nan)) for row in self.values[cell].get(name, {}).values()]
        return float(np.mean(found)) if found else math.nan

    def complete(self, column: str, names: Sequence[str] | None = None) -> list[str]:
        """The names, of all or some, that have this number in every cell, for as many seeds as the others."""
        found = list(self.names if names is None else names) if self.values else []
        for cell, there in self.values.items():
            most = max(map(len, there.values()))
            found = [
                name
                for name in found
                if len(there.get(name, ())) == most and math.isfinite(self.mean(cell, column, name))
            ]
        return found

    def overall(self, column: str, name: str) -> float:
        """Mean over cells; NaN where one is missing."""
        return float(np.mean([self.mean(cell, column, name) for cell in self.values])) if self.values else math.nan

    def wins(self, column: str, names: Sequence[str] | None = None) -> dict[str, tuple[int, int]]:
        """In how many cells each of the names has the best mean, and in how many more a paired test cannot tell."""
        found = [self.scores(cell, column, names) for cell in self.values]
        told = {
            name: [scores[name] for scores in found if name in scores]
            for name in (self.names if names is None else names)
        }
        return {name: (sum(one.best for one in all_), sum(one.tied for one in all_)) for name, all_ in told.items()}


def score_series(
    series: dict[str, dict[int, float]], higher_is_better: bool, *, compete: bool = True
) -> dict[str, Score]:
    """Scores of one metric in one cell, from the values of each name by seed. Only names with all seeds compete.

    >>> found = score_series({"a": {0: 1.0, 1: 2.0}, "b": {0: 1.5, 1: 2.5}}, higher_is_better=True)
    >>> found["b"].best, found["a"].tied
    (True, False)
    """
    result = {
        name: Score(float(np.mean(list(by_seed.values()))), _spread(list(by_seed.values())), len(by_seed))
        for name, by_seed in series.items()
    }
    seeds = max(score.num_seeds for score in result.values())
    rivals = [name for name, score in result.items() if score.num_seeds == seeds and math.isfinite(score.mean)]
    if not compete or not rivals:
        return result
    sign = -1.0 if higher_is_better else 1.0
    best = min(rivals, key=lambda name: sign * result[name].mean)
    for name in rivals:
        score = result[name]
        is_best = score.mean == result[best].mean
        tied = not is_best and paired_p_value(series[name], series[best]) > SIGNIFICANCE
        result[name] = Score(score.mean, score.spread, score.num_seeds, is_best, tied)
    return result


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def paired_p_value(first: dict[int, float], second: dict[int, float]) -> float:
    """Two-sided p-value of a paired t-test over the shared seeds; 0 where a single seed allows no test.

    `scipy.stats.ttest_rel` gives the same in ten times the time, and a page asks for thousands.

    >>> round(paired_p_value({0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.1, 1: 2.3, 2: 3.2}), 4)
    0.0742
    """
    seeds = sorted(first.keys() & second.keys())
    differences = np.array([first[seed] - second[seed] for seed in seeds])
    if not differences.any() and differences.size:
        return 1.0
    if differences.size < 2 or differences.std() == 0:  # SciPy warns here and says NaN
        return 0.0
    with np.errstate(over="ignore"):
        t = differences.mean() / (differences.std(ddof=1) / math.sqrt(differences.size))
    return float(2 * stdtr(differences.size - 1, -abs(t)))


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over graphs, 1 the best.

    Args:
        column: By which.
        ranks: Mean rank of each name, best first.
        num_graphs: Over how many graphs; sizes of one graph count as one.
        critical: Nemenyi's critical difference at 5%: ranks that differ by less cannot be told apart.
    """

    column: str
    ranks: dict[str, float]
    num_graphs: int
    critical: float


def mean_ranks(standings: Standings, column: str, names: Sequence[str] | None = None) -> Ranks:
    """Ranks within each cell by the mean over seeds, averaged within a graph, then over graphs.

    Only names, of all or some, with a number in every cell are ranked.
    """
    names = standings.complete(column, names)
    sign = -1.0 if standings.columns[column].higher_is_better else 1.0
    by_graph: dict[str, list[np.ndarray]] = {}
    for cell in standings.cells:
        found = np.array([standings.mean(cell, column, name) for name in names])
        by_graph.setdefault(cell.graph, []).append(rankdata(sign * found))
    table = np.array([np.mean(one, axis=0) for one in by_graph.values()]).reshape(len(by_graph), len(names))
    means = table.mean(axis=0) if len(table) else np.empty(0)
    ranks = {names[k]: float(means[k]) for k in np.argsort(means, kind="stable")}
    return Ranks(column, ranks, len(table), critical_difference(len(names), len(table)))


def critical_difference(num_names: int, num_graphs: int) -> float:
    """q √(k (k + 1) / (6 N)), q the 95% quantile of the studentised range over √2 (Nemenyi; key `demsar2006`).

    >>> round(critical_difference(4, 30), 3)  # the table of Demšar gives q = 2.569 for four
    0.856
    """
    if num_names < 2 or num_graphs < 1:
        return math.nan
    q = _range_quantile(num_names) / math.sqrt(2)
    return float(q * math.sqrt(num_names * (num_names + 1) / (6 * num_graphs)))


@cache
def _range_quantile(count: int) -> float:
    """0.95-quantile of the range of `count` standard normals, P(range ≤ q) = k ∫ φ(z) (Φ(z) - Φ(z - q))^(k-1) dz.

    SciPy's `studentized_range.ppf` gives the same in seconds, not microseconds.
    """
    z = np.linspace(-9, 9, 4001)

    def excess(q: float) -> float:
        return float(count * np.trapezoid(norm.pdf(z) * (norm.cdf(z) - norm.cdf(z - q)) ** (count - 1), z) - 0.95)

    return float(brentq(excess, 1e-6, 20))
