"""Rows over seeds become scores: mean, spread, the best of a cell, and what a paired test cannot tell from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from calirare.benchmark.formats import Mark
from calirare.benchmark.store import Row
from calirare.metrics.registry import METRICS

SIGNIFICANCE = 0.05
CellKey = tuple[str, int]
"""Dataset and labels per class: the methods are compared within it."""


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


@dataclass(frozen=True)
class ScoreBook:
    """Every score of a set of rows, by cell, entry and metric."""

    scores: dict[tuple[CellKey, str, str], Score]
    cells: tuple[CellKey, ...]
    entries: tuple[str, ...]

    def get(self, cell: CellKey, entry: str, metric: str) -> Score | None:
        return self.scores.get((cell, entry, metric))

    def has(self, cell: CellKey, entry: str) -> bool:
        return (cell, entry, "recall") in self.scores


def collect(rows: Iterable[Row], entries: Sequence[str], metrics: Sequence[str] = tuple(METRICS)) -> ScoreBook:
    """Scores of the given entries, ranked among themselves in every cell.

    Args:
        rows: One for each dataset, labels per class, entry and seed.
        entries: The lines of the table, in its order.
        metrics: Its columns.
    """
    values: dict[CellKey, dict[str, dict[int, Row]]] = {}
    for row in rows:
        if row["entry"] in entries:
            in_cell = values.setdefault((row["dataset"], row["labels_per_class"]), {})
            in_cell.setdefault(row["entry"], {})[row["seed"]] = row
    scores = {}
    for cell, found in values.items():
        for name in metrics:
            series = {
                entry: {seed: float(row[name]) for seed, row in sorted(found[entry].items())}
                for entry in entries
                if entry in found
            }
            metric = METRICS[name]
            found_scores = score_series(series, metric.higher_is_better, compete=not metric.conditional)
            scores.update({(cell, entry, name): score for entry, score in found_scores.items()})
    return ScoreBook(scores, tuple(values), tuple(entries))


def score_series(
    series: dict[str, dict[int, float]], higher_is_better: bool, *, compete: bool = True
) -> dict[str, Score]:
    """Scores of one metric in one cell, from the values of each entry by seed. Only entries with all seeds compete.

    >>> found = score_series({"a": {0: 1.0, 1: 2.0}, "b": {0: 1.5, 1: 2.5}}, higher_is_better=True)
    >>> found["b"].best, found["a"].tied
    (True, False)
    """
    result = {
        entry: Score(float(np.mean(list(by_seed.values()))), _spread(list(by_seed.values())), len(by_seed))
        for entry, by_seed in series.items()
    }
    seeds = max(score.num_seeds for score in result.values())
    rivals = [entry for entry, score in result.items() if score.num_seeds == seeds and math.isfinite(score.mean)]
    if not compete or not rivals:
        return result
    sign = -1.0 if higher_is_better else 1.0
    best = min(rivals, key=lambda entry: sign * result[entry].mean)
    for entry in rivals:
        score = result[entry]
        is_best = score.mean == result[best].mean
        tied = not is_best and paired_p_value(series[entry], series[best]) > SIGNIFICANCE
        result[entry] = Score(score.mean, score.spread, score.num_seeds, is_best, tied)
    return result


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


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


def mean_over_cells(book: ScoreBook, entry: str, metric: str) -> float:
    """Mean of an entry over all cells; NaN where it lacks one."""
    scores = [book.get(cell, entry, metric) for cell in book.cells]
    return float(np.mean([score.mean if score else math.nan for score in scores])) if scores else math.nan


def times_best(book: ScoreBook, entry: str, metric: str) -> int:
    """In how many cells the entry is the best or tied with it."""
    scores = [book.get(cell, entry, metric) for cell in book.cells]
    return sum(score is not None and (score.best or score.tied) for score in scores)
