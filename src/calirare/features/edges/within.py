"""What two columns of one edge say together: how long after the click the install came, the price of a kilogram beside its kind's usual.

No tree subtracts or divides, and sums over a node's edges have lost what belongs together. So, of each edge alone:

* of two clocks, the days from one to the other, and whether they are as near as one edge in twenty has them;
* of two numbers above 0 their ratio, where its logarithm varies less than that of the number above the line;
* of numbers above 0 and of these ratios, how far their logarithm is from what is usual with the same category, where that
  tells something of it. What is usual is learned once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from calirare.data.edge_table import EARLIEST_CLOCK, EdgeColumn, EdgeTable
from calirare.features.edges.day_parts import DAY
from calirare.features.edges.directions import at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import LARGEST_EDGE_VALUE, EdgeGroups, Moments
from calirare.features.edges.multiples import TELLS, enough, logs_of_both
from calirare.features.edges.node_numbers import as_told
from calirare.features.edges.plan import BesideCategory, EdgePlan, Pair, WithinPlan

SAME_EDGE = " of the same edge"
SAME_CATEGORY = " against what is usual with the same "
_MOST = 3
"""Pairs of times, ratios, and numbers beside a category."""
_NEAR = 0.05
"""Share of the edges whose times are near."""
_SOME_EDGES = 200_000
"""Of which it is seen what tells something."""


def plan_within(table: EdgeTable) -> WithinPlan:
    """What is told of a table, decided on some of its edges."""
    step = -(-len(table) // _SOME_EDGES) or 1
    columns = table.take(slice(None, None, step)).columns
    numbers = {one.name: one.values for one in columns if one.kind == "number"}
    ratios = _plan_ratios(numbers)
    told = {(name, ""): values for name, values in numbers.items()}
    told |= {(one.name, one.other): _ratio(numbers[one.name], numbers[one.other]) for one in ratios}
    found = [pair for both, values in told.items() for pair in _beside(both, values, columns)]
    beside = tuple(one for _, one in sorted(found, key=lambda pair: pair[0])[:_MOST])
    return WithinPlan(_plan_times(columns), ratios, beside)


def within_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no such edges.

    Args:
        table: All edges of N nodes; others may be named from N on.
        plan: What is told.
        num_nodes: N.
    """
    there = {column.name: column for column in table.columns}
    told = list(_told(there, plan.within))
    for which in directions_of(plan.directed) if told else ():
        own, _ = ends_of_edges(table, which)
        groups = EdgeGroups(own, num_nodes)
        for name, values, statistics in told:
            found = Moments.of(at_ends(values, own), groups)
            for what in statistics:
                column = np.hypot(found.mean, found.spread) if what == "size" else getattr(found, _ATTRIBUTES[what])
                yield f"{name}, {what} of {which}", np.where(found.count > 0, column, np.nan)


_ATTRIBUTES = {"mean": "mean", "share": "mean", "least": "least", "greatest": "greatest"}
_Told = tuple[str, np.ndarray, tuple[str, ...]]


def _told(there: dict[str, EdgeColumn], plan: WithinPlan) -> Iterator[_Told]:
    """(name, a value of each edge, statistics of it) of all columns that the table has."""
    for one in plan.times:
        if _are(there, "time", one.name, one.other):
            days = (there[one.name].values - there[one.other].values) / DAY
            near = np.where(np.isnan(days), np.nan, np.abs(days) <= one.near)
            yield f"{one.name} after {one.other}{SAME_EDGE} in days", days, ("mean", "least", "greatest")
            yield f"{one.name} within {one.near:g} days of {one.other}{SAME_EDGE}", near, ("share",)
    for one in plan.ratios:
        if _are(there, "number", one.name, one.other):
            ratio = _ratio(there[one.name].values, there[one.other].values)
            yield f"{one.name} / {one.other}{SAME_EDGE}", ratio, ("mean", "least", "greatest")
    for told in plan.beside:
        if _are(there, "number", told.name, told.other or told.name) and _are(there, "category", told.category):
            values = there[told.name].values
            values = _ratio(values, there[told.other].values) if told.other else values
            apart = _logarithm(values) - there[told.category].by_category(dict(told.usual), np.nan, np.nan)
            name = f"{told.name} / {told.other}" if told.other else told.name
            yield f"{name}{SAME_CATEGORY}{told.category}", apart, ("mean", "size", "least", "greatest")


def _are(there: dict[str, EdgeColumn], kind: str, *names: str) -> bool:
    return all(name in there and there[name].kind == kind for name in names)


def _ratio(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """NaN where one of them is not above 0."""
    with np.errstate(all="ignore"):
        ratio = np.where((values > 0) & (other > 0), values / other, np.nan)
    return np.where(ratio < LARGEST_EDGE_VALUE, ratio, np.nan)


def _logarithm(values: np.ndarray) -> np.ndarray:
    """NaN of what is not above 0."""
    return np.log(np.where(values > 0, values, np.nan))


def _plan_times(columns: Sequence[EdgeColumn]) -> tuple[Pair, ...]:
    """Of every two clocks that do not always lie equally far apart; the one that comes first as a rule is the earlier."""
    found = []
    clocks = [one for one in columns if one.kind == "time" and _earliest(one.values) >= EARLIEST_CLOCK]
    for one, other in combinations(clocks, 2):
        days = (other.values - one.values) / DAY
        days = days[np.isfinite(days)]
        if not enough(days.size, len(one.values)) or not np.ptp(days):
            continue
        first, second = (one, other) if np.median(days) >= 0 else (other, one)
        found.append(Pair(second.name, first.name, as_told(np.quantile(np.abs(days), _NEAR), 2)))
    return tuple(found[:_MOST])


def _earliest(times: np.ndarray) -> float:
    return float(np.min(times, initial=np.inf, where=~np.isnan(times)))


def _plan_ratios(numbers: dict[str, np.ndarray]) -> tuple[Pair, ...]:
    """Numbers that rise with another: what varies more is divided by what varies less."""
    found = []
    for one, other in combinations(numbers, 2):
        both = logs_of_both(numbers[one], numbers[other])
        if both is None:
            continue
        logs = dict(zip((one, other), both, strict=True))
        above, below = sorted(logs, key=lambda name: -np.var(logs[name]))
        most, left = np.var(logs[above]), np.var(logs[above] - logs[below])
        if 1e-9 * most < left < (1 - TELLS) * most:  # but no copies in another unit
            found.append((left / most, Pair(above, below)))
    return tuple(pair for _, pair in sorted(found, key=lambda pair: pair[0])[:_MOST])


def _beside(
    both: tuple[str, str], values: np.ndarray, columns: Sequence[EdgeColumn]
) -> Iterator[tuple[float, BesideCategory]]:
    """(share of the variance that is left, what is told): of the category that takes away the most, if any does."""
    logs, best = _logarithm(values), None
    for column in columns:
        if column.kind != "category":
            continue
        some = ~np.isnan(logs) & (column.values >= 0)
        code, mine = column.values[some].astype(np.int64), logs[some]
        if not enough(mine.size, some.size) or not np.ptp(mine):
            continue
        count, middle = np.bincount(code, minlength=len(column.categories)), float(mine.mean())
        total = np.bincount(code, weights=mine, minlength=len(column.categories))
        left_out = (total[code] - mine + middle) / count[code]  # the others of its category, and one as all are
        left = float(np.mean(np.square(mine - left_out)) / np.var(mine))
        if left < min(1 - TELLS, 1.0 if best is None else best[0]):
            usual = zip(column.categories, (total + middle) / (count + 1), count, strict=True)
            told = tuple((name, float(mean)) for name, mean, times in usual if times)
            best = left, BesideCategory(*both, column.name, told)
    if best is not None:
        yield best
