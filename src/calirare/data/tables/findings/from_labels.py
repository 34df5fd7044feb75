"""Columns of the nodes that are made from their neighbours' labels: how many known rare nodes one is joined to, say.

A node's own value of such a column holds others' labels alone. Those of its neighbours hold its own: what a model reads from them
gives the label away to which it should answer, and left-out evidence is worth nothing.

Let T be the nodes with a labelled rare neighbour (or one two steps away), c of them, and S the nodes where the column is high, low or
unusual, cut where it tells T best. Of an honest column S may follow who is truly rare, never who of the rare is labelled: if each of
a node's d neighbours is labelled and rare with chance a, as it is on average around S, then of the nodes of S with c ≤ 1

    π = (1 − a) / (1 − a + d a)

have c = 0. A column is made from labels where S is `PURE` in T and holds `_HELD` of T, and where luck leaves as few of S outside T, m
instead of Σ π (a Poisson number), less often than `_LUCK`. Neighbours of one labelled node are one piece of luck: Σ π counts the labelled
nodes behind S (their effective number), not the nodes of S. Where nearly all neighbours are labelled, who is labelled tells nothing; there labelled nodes
that are not rare must be told nearly without exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.stats import poisson

from calirare.data.graph import RareGraph
from calirare.data.tables.findings.columns import AuditColumn, audit_columns
from calirare.data.tables.findings.finding import FEWEST, PURE, Finding, ignore

_HELD = 0.2
"""So much of T must lie in S: a column may have been made when fewer were labelled."""
_LUCK = 1e-3
_LUCK_OF_ALL = 0.05
"""Where S and T are the same nodes, but for 1 - `PURE`."""
_NEARLY_ALL = 0.9
_MOST_KINDS = 4
"""Kinds of edges that are looked at apart."""


_InOrder = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Which nodes have a value, the different values in order, and where each node's stands among these."""


@dataclass(frozen=True, eq=False)
class _Around:
    """Labelled rare nodes around each node, one way of being joined.

    Args:
        adjacency: `(N, N)` ones where a node is joined to another.
        steps: 1 or 2.
        count: `(N,)` c.
        degree: `(N,)` d.
        labelled: `(N,)` how many of the d are labelled.
    """

    adjacency: sp.csr_array
    steps: int
    count: np.ndarray
    degree: np.ndarray
    labelled: np.ndarray

    @classmethod
    def of(cls, adjacency: sp.csr_array, steps: int, rare: np.ndarray, labelled: np.ndarray) -> _Around:
        def added(values: np.ndarray) -> np.ndarray:
            """Over the neighbours, or two steps away without the way back."""
            once: np.ndarray = adjacency @ values
            return once if steps == 1 else adjacency @ once - np.diff(adjacency.indptr) * values

        return cls(adjacency, steps, added(1.0 * rare), added(np.ones(rare.size)), added(1.0 * labelled))

    def num_behind(self, hit: np.ndarray, rare: np.ndarray) -> float:
        """The effective number of labelled rare nodes to which these nodes are joined."""
        weight = np.divide(hit, self.count, out=np.zeros(hit.size), where=self.count > 0)
        for _ in range(self.steps):
            weight = self.adjacency.T @ weight
        behind = weight[rare]
        return float(behind.sum() ** 2 / max(np.square(behind).sum(), 1e-300))


def made_from_labels(graph: RareGraph, nodes: np.ndarray | None = None, y: np.ndarray | None = None) -> tuple[str, ...]:
    """Names of the columns that are made from neighbours' labels, as far as these labels show it.

    Args:
        graph: The graph.
        nodes, y: Labels that may be read; default: all that are known.

    >>> rng = np.random.default_rng(0)
    >>> ends, y = rng.integers(0, 2000, (2, 4000)), np.where(rng.random(2000) < 0.1, 1, 0)
    >>> known = np.where(rng.random(2000) < 0.4, y, -1)
    >>> both = np.unique(np.concatenate([ends, ends[::-1]], axis=1)[:, np.tile(ends[0] != ends[1], 2)], axis=1)
    >>> contacts = np.bincount(both[0], weights=known[both[1]] == 1, minlength=2000)
    >>> x = np.column_stack([rng.normal(size=2000), contacts])
    >>> made_from_labels(RareGraph(x=x, edge_index=both, y=known, feature_names=("age", "known bad contacts")))
    ('known bad contacts',)
    """
    nodes = graph.known if nodes is None else nodes
    y = graph.y[nodes] if y is None else y
    labelled, rare = np.zeros(graph.num_nodes, dtype=bool), np.zeros(graph.num_nodes, dtype=bool)
    labelled[nodes], rare[nodes[y == graph.rare_class]] = True, True
    only_words = not graph.table_columns and sp.issparse(graph.x)
    if rare.sum() < FEWEST or not graph.num_edges or not graph.num_features or only_words:
        return ()
    around = list(_ways(graph, rare, labelled))
    found = []
    for column in audit_columns(graph):
        if column.word is None:
            in_order = _in_order(column.values)
            if any(_follows(graph, column, in_order, one, rare, labelled) for one in around):
                found.append(column.name)
    return tuple(found)


def find_made_from_labels(graph: RareGraph) -> Iterator[Finding]:
    """One finding per such column."""
    for name in made_from_labels(graph):
        words = (
            "seems to be made from the labels: it tells which nodes are near one that is labelled rare. A node's neighbours "
            f"then know its own label, and left-out evidence looks far too good. Leave it out ({ignore(name)})."
        )
        yield Finding("leak", name, words, "leak")


def warn_of_made(columns: tuple[str, ...], kept_honest: bool) -> str:
    """Which columns seem to be made from labels, and what to do about it; empty where none is.

    Args:
        columns: Their names.
        kept_honest: Whether the model goes without what their neighbours have there.

    >>> warn_of_made(("known bad contacts",), True).split(". ")[-1]
    "Fit again with --type 'known bad contacts=ignore'."
    >>> warn_of_made((), True)
    ''
    """
    if not columns:
        return ""
    seems, it = ("seems", "it") if len(columns) == 1 else ("seem", "them")
    then = (
        f"This model therefore reads of {it} a node's own value alone, and goes without networks."
        if kept_honest
        else "No number here will hold."
    )
    return (
        f"{', '.join(map(repr, columns))} {seems} to be made from the labels: by {it} a node's neighbours tell its own label. {then} "
        f"Fit again with {' '.join(map(ignore, columns))}."
    )


def _ways(graph: RareGraph, rare: np.ndarray, labelled: np.ndarray) -> Iterator[_Around]:
    """Over all edges, one step or two; where there is a table of edges, also by direction and by kind."""
    both = _joined(graph.edge_index[0], graph.edge_index[1], graph.num_nodes)
    yield from (_Around.of(both, steps, rare, labelled) for steps in (1, 2))
    table = graph.edges
    if table is None:
        return
    yield _Around.of(_joined(table.source, table.target, graph.num_nodes), 1, rare, labelled)
    yield _Around.of(_joined(table.target, table.source, graph.num_nodes), 1, rare, labelled)
    for kind in table.kinds if 1 < len(table.kinds) <= _MOST_KINDS else ():
        kept = table.of_kind(kind)
        source, target = table.source[kept], table.target[kept]
        ends = np.concatenate([source, target]), np.concatenate([target, source])
        yield _Around.of(_joined(*ends, graph.num_nodes), 1, rare, labelled)


def _joined(source: np.ndarray, target: np.ndarray, num_nodes: int) -> sp.csr_array:
    """Ones where an edge leads from one node to another, however often."""
    apart = source != target
    ends = source[apart], target[apart]
    matrix = sp.csr_array((np.ones(ends[0].size), ends), shape=(num_nodes, num_nodes))
    matrix.data[:] = 1.0
    return matrix


def _in_order(values: np.ndarray | None) -> _InOrder | None:
    if values is None:
        return None
    known = np.flatnonzero(~np.isnan(values))
    return known, *np.unique(values[known], return_inverse=True)


def _follows(
    graph: RareGraph,
    column: AuditColumn,
    in_order: _InOrder | None,
    around: _Around,
    rare: np.ndarray,
    labelled: np.ndarray,
) -> bool:
    """Whether the column follows who is joined to labelled rare nodes in this way."""
    there = around.count[graph.scored] > 0
    return any(
        _is_made(_spread_out(special, graph), around, rare, labelled, graph.scored)
        for special in _special(column, in_order, there)
    )


def _spread_out(special: np.ndarray, graph: RareGraph) -> np.ndarray:
    found = np.zeros(graph.num_nodes, dtype=bool)
    found[graph.scored] = special
    return found


def _special(column: AuditColumn, in_order: _InOrder | None, there: np.ndarray) -> Iterator[np.ndarray]:
    """Nodes that the column may set apart: those above or below the value that tells `there` best, or unusual ones."""
    if not there.any() or there.all():
        return
    if column.values is None or in_order is None:
        if column.usual is not None:
            missing = np.zeros(there.size, dtype=bool) if column.missing is None else column.missing
            yield ~column.usual & ~missing
            yield column.usual
        return
    known, distinct, place = in_order
    wanted = there[known]
    if not wanted.any():
        return
    if distinct.size == 1:  # given or missing
        yield ~np.isnan(column.values)
        return
    hits = np.bincount(place, weights=wanted) / there.sum()
    others = np.bincount(place, weights=~wanted) / (~there).sum()
    below = np.cumsum(hits - others)[:-1]
    lowest, highest = int(below.argmin()), int(below.argmax())
    with np.errstate(invalid="ignore"):
        yield column.values > distinct[lowest]
        yield column.values <= distinct[highest]


def _is_made(special: np.ndarray, around: _Around, rare: np.ndarray, labelled: np.ndarray, scored: np.ndarray) -> bool:
    """The rule at the top of this module."""
    joined = np.zeros(special.size, dtype=bool)
    joined[scored] = around.degree[scored] > 0
    there = joined & (around.count > 0)
    degree = around.degree[special & joined].sum()
    if not degree:
        return False
    all_labelled = around.labelled[special & joined].sum() > _NEARLY_ALL * degree
    if all_labelled:
        joined = joined & labelled & ~rare
        there = there & joined
    chosen = special & joined
    hit = chosen & there
    pure, held = hit.sum() / max(chosen.sum(), 1), hit.sum() / max(there.sum(), 1)
    if hit.sum() < FEWEST or pure < PURE or held < (PURE if all_labelled else _HELD):
        return False
    chance = around.count[chosen].sum() / around.degree[chosen].sum()
    few = chosen & (around.count <= 1)
    expected = ((1 - chance) / (1 - chance + around.degree[few] * chance)).sum()
    behind = around.num_behind(hit, rare)
    luck = float(poisson.cdf((few & ~there).sum(), expected * min(1.0, behind / hit.sum())))
    return behind >= FEWEST and luck < (_LUCK_OF_ALL if min(pure, held) >= PURE else _LUCK)
