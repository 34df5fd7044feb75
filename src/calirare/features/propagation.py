"""What the neighbours' columns say: mean and spread over them, apart from the node's own.

With A the row-normalised adjacency, Ax is the mean over the neighbours, A²x the mean over the neighbours' neighbours
(the node itself is among them), and √(A(x²) − (Ax)²) the spread. One A for incoming, outgoing and all neighbours;
for each edge type too where there are few, and for the numbers of the edges by which neighbours count (see `weights`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from calirare.data.graph import RareGraph
from calirare.data.threads import in_threads
from calirare.features.alone import is_alone
from calirare.features.columns import ColumnGroup, Columns
from calirare.features.edge_columns import is_main
from calirare.features.relations import RELATIONS, Relation, relation_matrix, row_normalised

MOST_COLUMNS = 440
"""Columns of all kinds, about; see `plan_aggregates`."""
_FEWEST_OWN = 16
MOST_TYPES_APART = 4
"""Edge types whose neighbours are looked at apart."""
_BLOCK = 16
_ROWS_AT_ONCE = 4_096
Statistic = Literal["mean", "spread", "two steps"]
Whose = Literal["own", "main", "detail"]
"""The node's attributes; structure and the numbers, sums and means of its edges; all else that its edges say."""
_STATISTICS: tuple[Statistic, ...] = ("mean", "spread", "two steps")
_WHOSE: tuple[Whose, ...] = ("own", "main", "detail")


@dataclass(frozen=True)
class Aggregate:
    """One family of propagated columns.

    Args:
        relation: `"neighbours"`, `"incoming neighbours"` or `"outgoing neighbours"`.
        type: An edge type, or "" for all.
        statistic: What is taken over the neighbours.
        whose: Of which columns.
        weight: By what the neighbours count (see `Relation`).
    """

    relation: str
    type: str
    statistic: Statistic
    whose: Whose
    weight: str = ""

    @property
    def over(self) -> Relation:
        return Relation(self.relation, self.type, self.weight)

    def name(self, column: str) -> str:
        """
        >>> Aggregate("incoming neighbours", "wire", "mean", "own").name("balance")
        'balance, mean over incoming neighbours (wire)'
        >>> Aggregate("outgoing neighbours", "", "two steps", "own", "amount").name("balance")
        'balance, mean over outgoing neighbours two steps away by amount'
        """
        what, where = ("mean", " two steps away") if self.statistic == "two steps" else (self.statistic, "")
        by = f" by {self.weight}" if self.weight else ""
        return f"{column}, {what} over {self.relation}{where}{by}" + (f" ({self.type})" if self.type else "")


def plain_means(columns: Columns) -> tuple[str, ...]:
    """The group of each column, but "mean" and "two steps" for plain means of own columns over all neighbours.

    >>> names = ("age", "age, mean over neighbours", "age, spread over neighbours")
    >>> plain_means(Columns(np.zeros((1, 3)), names, ("own", "neighbours", "neighbours")))
    ('own', 'mean', 'neighbours')
    """
    own = [name for name, group in columns if group == "own"]
    plain = [Aggregate(RELATIONS[0], "", statistic, "own") for statistic in ("mean", "two steps")]
    family = {one.name(name): one.statistic for one in plain for name in own}
    return tuple(family.get(name, group) if group == "neighbours" else group for name, group in columns)


def whose_column(name: str, group: ColumnGroup, types: Sequence[str]) -> Whose | None:
    """What a column counts as; None for what is not propagated: what edges of a single type say, comparisons, rhythm.

    >>> [whose_column(name, "edges", ["wire"]) for name in ("value, sum of incoming", "value, least of incoming")]
    ['main', 'detail']
    >>> whose_column("value, sum of incoming (wire)", "edges", ["wire"])
    """
    if group != "edges":
        return "own" if group == "own" else "main"
    if is_alone(name) or any(name.endswith(f" ({type})") for type in types):
        return None
    return "main" if is_main(name) else "detail"


def plan_aggregates(
    whose: Sequence[Whose | None],
    directed: bool,
    types: Sequence[str],
    weights: Sequence[str] = (),
    spread_of_own: bool = True,
) -> tuple[Aggregate, ...]:
    """The aggregates whose columns fit into `MOST_COLUMNS` with the node's `whose` own ones, most needed first.

    1. Means of own columns, 2. means of main columns, over incoming and outgoing neighbours (undirected: over all):
    these are always there. Then, each if there is room: 3. own over all neighbours, 4. own two steps away, 5. own by
    the weights of neighbours, 6. that two steps away, 7. spread of own, 8. means of details, 9. main two steps away,
    10. main over all neighbours, 11. own and main over the neighbours by single edge types, 12. details over all
    neighbours, 13. details two steps away, 14. spread of main, 15. spread of details. By weights, over incoming and outgoing
    neighbours apart. Without 7 if not `spread_of_own`: the spread of a direction of words says nothing.
    """
    relations = RELATIONS if directed else RELATIONS[:1]
    few = list(types) if len(types) <= MOST_TYPES_APART else []
    aggregates = [
        Aggregate(relation, type, statistic, mine)
        for type in ["", *few]
        for relation in relations
        for statistic in _STATISTICS
        for mine in _WHOSE
        if mine in whose
        and not (type and (statistic != "mean" or mine == "detail"))
        and not (statistic == "spread" and mine == "own" and not spread_of_own)
    ]
    apart, means = relations[1:] or relations, [one for one in _STATISTICS if one != "spread" and "own" in whose]
    aggregates += [Aggregate(way, "", one, "own", weight) for weight in weights for way in apart for one in means]
    room, kept = MOST_COLUMNS - len(whose) - len(relations), set()  # a distance from each of the neighbours, too
    for level in range(1, 16):
        here = [aggregate for aggregate in aggregates if _level(aggregate, directed) == level]
        size = sum(whose.count(aggregate.whose) for aggregate in here)
        if level <= 2 or size <= room:
            room -= size
            kept.update(here)
    return tuple(aggregate for aggregate in aggregates if aggregate in kept)


def room_for_own(whose: Sequence[Whose | None], directed: bool) -> int:
    """Of how many own columns the levels 1 to 4 of `plan_aggregates` fit, at least a few.

    >>> room_for_own(["own"] * 100 + ["main"] * 12, directed=False), room_for_own(["own"] * 100 + ["main"] * 12, directed=True)
    (157, 50)
    """
    relations, main = (3, 2 * whose.count("main")) if directed else (1, whose.count("main"))
    return max(_FEWEST_OWN, (MOST_COLUMNS - len(whose) - main - relations) // (2 * relations))


def most_varied(whose: list[Whose | None], share_apart: Callable[[int], float], most: int) -> list[Whose | None]:
    """No more than so many own columns: the neighbours are not asked about those in which the fewest nodes stand apart.

    >>> most_varied(["own", "main", "own", "own"], [0.01, 0.5, 0.9, 0.3].__getitem__, 2)
    [None, 'main', 'own', 'own']
    """
    own = [k for k, one in enumerate(whose) if one == "own"]
    if len(own) <= most:
        return whose
    left = set(sorted(own, key=share_apart, reverse=True)[most:])
    return [None if k in left else one for k, one in enumerate(whose)]


def _level(aggregate: Aggregate, directed: bool) -> int:
    """As numbered in `plan_aggregates`."""
    if aggregate.weight:
        return 5 if aggregate.statistic == "mean" else 6
    if aggregate.type:
        return 11
    if aggregate.statistic == "spread":
        return {"own": 7, "main": 14, "detail": 15}[aggregate.whose]
    if aggregate.statistic == "two steps":
        return {"own": 4, "main": 9, "detail": 13}[aggregate.whose]
    if directed and aggregate.relation == "neighbours":
        return {"own": 3, "main": 10, "detail": 12}[aggregate.whose]
    return {"own": 1, "main": 2, "detail": 8}[aggregate.whose]


@dataclass(frozen=True, eq=False)
class Propagated:
    """Some propagated columns.

    Args:
        names: Readable.
        values: `(N, b)` float32; zeros for the nodes that have no such neighbour.
        alone: `(N,)` these nodes.
    """

    names: list[str]
    values: np.ndarray
    alone: np.ndarray


def propagate(
    graph: RareGraph,
    values: np.ndarray,
    names: Sequence[str],
    whose: Sequence[Whose | None],
    middle: np.ndarray,
    aggregates: Sequence[Aggregate],
) -> Iterator[Propagated]:
    """What is wanted over the neighbours, a few columns at a time.

    Args:
        graph: Who is joined to whom.
        values: `(N, D)` the columns that are propagated, finite.
        names: Of the columns.
        whose: What each counts as.
        middle: `(D,)` the population's means; they stand for a neighbour who has no neighbours of its own.
        aggregates: What is wanted.
    """
    for relation in relations_of(aggregates):
        matrix = row_normalised(relation_matrix(graph, relation))
        jobs = column_blocks(whose, [aggregate for aggregate in aggregates if aggregate.over == relation])

        def work(job: tuple[list[int], list[Aggregate]], matrix: sp.csr_array = matrix) -> list[Propagated]:
            at, mine = job
            centred = picked(values, at) - middle[at]
            return list(said_of(matrix, centred, None, middle[at], [names[k] for k in at], mine))

        for found in in_threads(work, jobs):
            yield from found


def relations_of(aggregates: Iterable[Aggregate]) -> list[Relation]:
    """The relations that are wanted, each once."""
    return list(dict.fromkeys(aggregate.over for aggregate in aggregates))


def column_blocks(
    whose: Sequence[Whose | None], aggregates: Sequence[Aggregate]
) -> Iterator[tuple[list[int], list[Aggregate]]]:
    """Places of a few columns that count as the same, and what is wanted of them."""
    for mine in _WHOSE:
        wanted = [aggregate for aggregate in aggregates if aggregate.whose == mine]
        places = [k for k, one in enumerate(whose) if one == mine] if wanted else []
        for start in range(0, len(places), _BLOCK):
            yield places[start : start + _BLOCK], wanted


def picked(values: np.ndarray, places: list[int]) -> np.ndarray:
    """Some columns; a few thousand rows at a time, so that picking stays in the cache."""
    found = np.empty((len(values), len(places)), dtype=values.dtype)
    for start in range(0, len(values), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        np.take(values[block], places, axis=1, out=found[block], mode="clip")  # else NumPy writes into a copy first
    return found


def said_of(
    matrix: sp.csr_array,
    centred: np.ndarray,
    mean_there: np.ndarray | None,
    middle: np.ndarray,
    names: list[str],
    aggregates: list[Aggregate],
) -> Iterator[Propagated]:
    """What is wanted of some columns.

    Args:
        matrix: `(n, m)` row-normalised: the neighbours, among m nodes, of the n nodes that are asked about.
        centred: `(m, b)` float64, the columns there less `middle`: squares of what is far from zero would cancel.
        mean_there: `(m, b)` their means over the neighbours of the m nodes; None: m is n, and it is theirs.
        middle: `(b,)` the population's means.
        names: Of the columns.
        aggregates: What is wanted.
    """
    mean = matrix @ centred
    mean_there = mean if mean_there is None else mean_there
    least = (1e-12 * np.abs(middle)).astype(np.float32)
    alone = np.diff(matrix.indptr) == 0
    for aggregate in aggregates:
        result = np.empty(mean.shape, dtype=np.float32)
        if aggregate.statistic == "mean":
            np.add(mean, middle, out=result, casting="same_kind")
        elif aggregate.statistic == "two steps":
            np.add(matrix @ mean_there, middle, out=result, casting="same_kind")
        else:
            squares = matrix @ np.square(centred)
            spread = squares - np.square(mean)
            # What is left by rounding where all neighbours are alike is no spread.
            spread[spread <= 1e-12 * squares] = 0.0
            np.sqrt(spread, out=result, casting="same_kind")
        if aggregate.statistic != "spread":
            # What the middle leaves of zeros depends on the order of summation, and ranks would tell it from zero.
            result[np.abs(result) <= least] = 0.0
        result[alone] = 0.0
        yield Propagated([aggregate.name(name) for name in names], result, alone)
