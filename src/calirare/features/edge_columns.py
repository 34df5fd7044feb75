"""What the edges of each node say: how many, with whom, and what their columns add up to.

For outgoing edges, incoming edges and both (of an undirected table: both alone), over all edges and for each type:

* `number of outgoing`; `distinct neighbours, outgoing`; `share returned, outgoing`: of those, who also point back;
* of a number: sum, mean, spread (standard deviation; also over the mean's size, by direction), least, greatest and, where there is a time, last; where it has both
  signs, the share of negative ones: of grades from -10 to 10 one -10 among ten 1s is a small mean and a plain warning;
* of a time, in days or in its own steps: mean, spread, first, last, span, mean gap. Mean, first and last count from the
  earliest edge at fit, in tables that come later from their own (see `windows`). Of a clock, the share in each part of the day
  and at weekends, where nodes differ in them;
* of a number besides, where nodes differ in it: the share of whole sums, multiples of 100, sums just below a limit (see
  `amount_parts`), and of pairs of edges with the same value; of outgoing and incoming ones, the outgoing share of the sum;
* of a category: the share of each frequent one, of pairs of edges that differ, and how many differ where there are many;
* of a text: the share of those that have each word.

More is told in `alone`, about which neighbours are not asked.

An edge from a node to itself counts as one outgoing and one incoming edge and makes no neighbour. A node without edges
has 0 for numbers and sums; all else is NaN here and becomes the population's mean in the recipe, as the number tells.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import LARGEST
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.feature_places import HAS
from calirare.data.node_keys import each_once, places_of
from calirare.data.threads import in_threads
from calirare.features.edges.amount_parts import NEGATIVE, in_amounts
from calirare.features.edges.day_parts import DAY, in_part
from calirare.features.edges.directions import directions_of
from calirare.features.edges.groups import Clock, EdgeGroups, Latest, Moments
from calirare.features.edges.pairs import EQUAL, UNLIKE, counted, equal_pairs, how_often
from calirare.features.edges.plan import EdgePlan, PlannedColumn
from calirare.features.edges.rhythm import unit_of

RELATIVE_SPREAD = ", relative spread of "
OUTGOING_SHARE = ", outgoing share of the sum"
Named = tuple[str, np.ndarray]
Side = TypeVar("Side")


def edge_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> dict[str, np.ndarray]:
    """`(N,)` float32 columns by readable name, NaN where a node has nothing to say.

    Edges may also name nodes that are numbered from N on; of these nothing is said.

    >>> value = EdgeColumn("value", "number", np.array([5.0, 1.0]))
    >>> table = EdgeTable(np.array([0, 0]), np.array([1, 1]), (value,))
    >>> columns = edge_columns(table, EdgePlan(True, (PlannedColumn("value", "number"),)), 2)
    >>> columns["value, mean of incoming"].tolist(), columns["number of outgoing"].tolist()
    ([nan, 3.0], [2.0, 0.0])
    """
    columns = dict(_of_edges(table, plan, num_nodes, ""))
    for name in plan.types:
        columns |= _of_edges(table.take(table.of_type(name)), plan, num_nodes, f" ({name})", plan.brief)
    return columns


def is_main(name: str) -> bool:
    """Whether an edge column is a number of edges or neighbours, a sum or a mean: what is kept where there are many.

    >>> is_main("number of incoming"), is_main("value, mean of edges"), is_main("value, least of edges")
    (True, True, False)
    """
    return name.startswith(("number of ", "distinct neighbours")) or ", sum of " in name or ", mean of " in name


def _of_edges(table: EdgeTable, plan: EdgePlan, num_nodes: int, suffix: str, brief: bool = False) -> Iterator[Named]:
    for name, column in _all(table, plan, num_nodes):
        if (brief and not is_main(name)) or (suffix and any(part in name for part in (EQUAL, UNLIKE, OUTGOING_SHARE))):
            continue
        yield name + suffix, as_stored(column)


def as_stored(column: np.ndarray) -> np.ndarray:
    """In single precision, cut where that ends."""
    return np.clip(column, -LARGEST, LARGEST).astype(np.float32)


def _all(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> Iterator[Named]:
    sides = [EdgeGroups(table.source, num_nodes), EdgeGroups(table.target, num_nodes)]
    yield from _ends(table, sides, plan.directed)
    if plan.pairs:
        others = table.target, table.source
        named = 1 + max(int(ends.max(initial=-1)) for ends in others)
        met = [counted(ends, side, named) for ends, side in zip(others, sides, strict=True)]
        for which, often in _directions(met, plan.directed, operator.add):
            yield f"neighbour{EQUAL}{which}", equal_pairs(often)
    when = None if plan.clock is None else table.column(plan.clock, "time")
    clocks = [] if when is None else [Clock(when.values, side) for side in sides]

    def work(planned: PlannedColumn) -> list[Named]:
        column = table.column(planned.name, planned.kind)
        if column is None:
            return []
        if planned.kind == "category":
            return list(_of_category(planned, column, sides, plan.directed))
        if planned.kind == "text":
            return list(_of_text(planned, column, sides, plan.directed))
        if planned.kind == "time":
            return list(_of_time(planned, column, sides, plan.directed))
        return list(_of_number(planned, column, clocks, sides, plan.directed))

    for columns in in_threads(work, plan.columns):
        yield from columns


def _directions(
    sides: Sequence[Side], directed: bool, join: Callable[[Side, Side], Side]
) -> Iterator[tuple[str, Side]]:
    """What the edges of each direction say, and both together."""
    if directed:
        yield from zip(("outgoing", "incoming"), sides, strict=True)
    yield "edges", join(*sides)


def _ends(table: EdgeTable, sides: list[EdgeGroups], directed: bool) -> Iterator[Named]:
    """How many edges, how many distinct neighbours, and what share of them points back."""
    others, (out, into) = (table.target, table.source), (side.counts for side in sides)
    named = max(1, *(1 + int(ends.max(initial=-1)) for ends in others))
    pairs = [_pairs(side, ends, named) for side, ends in zip(sides, others, strict=True)]
    pairs.append(pairs[0][places_of(*pairs)[1]])
    to, by, mutual = (np.bincount(keys // named, minlength=out.size) for keys in pairs)
    met = to + by - mutual
    if directed:
        yield "number of outgoing", out
        yield "number of incoming", into
    yield "number of edges", out + into
    if directed:
        yield "distinct neighbours, outgoing", to
        yield "distinct neighbours, incoming", by
    yield "distinct neighbours", met
    if directed:
        for name, known in (("outgoing", to), ("incoming", by), ("all", met)):
            yield f"share returned, {name}", _share(mutual, known)


def _pairs(side: EdgeGroups, ends: np.ndarray, named: int) -> np.ndarray:
    """Each pair of a node and another at the end of its edges, once, ascending: `node * named + other`."""
    own, other = side.nodes, ends[side.order]
    apart = own != other
    return each_once(own[apart] * named + other[apart])


def _of_number(
    planned: PlannedColumn, column: EdgeColumn, clocks: list[Clock], sides: list[EdgeGroups], directed: bool
) -> Iterator[Named]:
    name, values = planned.name, column.values
    moments = [Moments.of(values, side) for side in sides]
    for which, found in _directions(moments, directed, Moments.joined):
        yield f"{name}, sum of {which}", found.total
        yield f"{name}, mean of {which}", found.mean
        yield f"{name}, spread of {which}", found.spread
        if which in directions_of(directed):
            yield f"{name}{RELATIVE_SPREAD}{which}", found.relative_spread
        yield f"{name}, least of {which}", _finite(found.least)
        yield f"{name}, greatest of {which}", _finite(found.greatest)
    known = [side.among(~np.isnan(values)) for side in sides] if planned.signed or planned.categories else []
    for part in (*([NEGATIVE] if planned.signed else []), *planned.categories):
        for which, share in _shares(values < 0 if part == NEGATIVE else in_amounts(values, part), known, directed):
            yield f"{name} {part}, share of {which}", share
    if planned.balanced and directed:
        out, into = (np.abs(found.total) for found in moments)
        yield f"{name}{OUTGOING_SHARE}", _share(out, out + into)
    if planned.pairs:
        for which, often in _directions([how_often(values, side) for side in sides], directed, operator.add):
            yield f"{name}{EQUAL}{which}", equal_pairs(often)
    if clocks:
        for which, latest in _directions([Latest.of(values, clock) for clock in clocks], directed, Latest.joined):
            yield f"{name}, last of {which}", latest.mean
    yield from _missing(planned, np.isnan(values), sides, directed)


def _of_time(planned: PlannedColumn, column: EdgeColumn, sides: list[EdgeGroups], directed: bool) -> Iterator[Named]:
    since = (column.values - planned.origin) / (DAY if planned.in_days else 1.0)
    name = unit_of(planned)
    for which, found in _directions([Moments.of(since, side) for side in sides], directed, Moments.joined):
        yield f"{name}, mean of {which}", found.mean
        yield f"{name}, spread of {which}", found.spread
        yield f"{name}, first of {which}", _finite(found.least)
        yield f"{name}, last of {which}", _finite(found.greatest)
        yield f"{name}, span of {which}", found.span
        yield f"{name}, mean gap of {which}", found.gap
    known = [side.among(~np.isnan(column.values)) for side in sides] if planned.categories else []
    for part in planned.categories:
        for which, share in _shares(in_part(column.values, part), known, directed):
            yield f"{planned.name} = {part}, share of {which}", share
    yield from _missing(planned, np.isnan(column.values), sides, directed)


def _of_text(planned: PlannedColumn, column: EdgeColumn, sides: list[EdgeGroups], directed: bool) -> Iterator[Named]:
    missing = np.isnan(column.values)
    known = [side.among(~missing) for side in sides]
    for word in planned.categories:
        for which, share in _shares(column.has(word), known, directed):
            yield f"{planned.name}{HAS}{word}, share of {which}", share
    yield from _missing(planned, missing, sides, directed)


def _missing(planned: PlannedColumn, missing: np.ndarray, sides: list[EdgeGroups], directed: bool) -> Iterator[Named]:
    if planned.missing:
        for which, share in _shares(missing, sides, directed):
            yield f"{planned.name} missing, share of {which}", share


def _shares(flags: np.ndarray, sides: list[EdgeGroups], directed: bool) -> Iterator[Named]:
    """By direction, the share of the edges that are flagged."""
    flags = flags.astype(np.float64)
    counts = [np.stack([side.reduce(np.add, flags[side.order]), side.counts]) for side in sides]
    for which, (flagged, edges) in _directions(counts, directed, operator.add):
        yield which, _share(flagged, edges)


def _of_category(
    planned: PlannedColumn, column: EdgeColumn, sides: list[EdgeGroups], directed: bool
) -> Iterator[Named]:
    """Shares among the edges whose category is known."""
    places = {name: place for place, name in enumerate(planned.categories)}
    others = len(places)  # then the missing ones
    width, place = others + 2, column.by_category(places, others, others + 1)
    counts = [
        np.bincount(side.nodes * width + place[side.order], minlength=side.counts.size * width).reshape(-1, width)
        for side in sides
    ]
    for which, found in _directions(counts, directed, operator.add):
        known = found[:, :-1].sum(axis=1)
        for category, at in places.items():
            yield f"{planned.name} = {category}, share of {which}", _share(found[:, at], known)
        if planned.missing:
            yield f"{planned.name} missing, share of {which}", _share(found[:, -1], known + found[:, -1])
        if planned.pairs:
            yield f"{planned.name}{UNLIKE}{which}", 1 - equal_pairs(sp.csr_array(found[:, :-1]))
    if planned.diverse:
        yield from _different(planned, column, sides, directed)


def _different(planned: PlannedColumn, column: EdgeColumn, sides: list[EdgeGroups], directed: bool) -> Iterator[Named]:
    """How many different categories each node's edges have."""
    matrices = []
    for side in (side.among(column.values >= 0) for side in sides):
        places, shape = (side.nodes, column.values[side.order]), (side.counts.size, len(column.categories))
        matrices.append(sp.csr_array((np.ones(side.order.size), places), shape=shape))
    for which, found in _directions(matrices, directed, operator.add):
        yield f"{planned.name}, different ones of {which}", np.diff(found.indptr)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _finite(values: np.ndarray) -> np.ndarray:
    """Least and greatest of nothing are infinite."""
    return np.where(np.isinf(values), np.nan, values)
