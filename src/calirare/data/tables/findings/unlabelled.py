"""Categories that many nodes have and no labelled one: of these nothing was learned."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

import numpy as np

from calirare.data.arrays import as_dense
from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph
from calirare.data.tables.findings.finding import Finding

_EXPECTED = 10
"""A category for which a random draw would give this many labels, and that has none, is no accident."""
_MOST_CATEGORIES = 20
"""With more categories, some have no label in any case, and a list of them does not help."""


def find_unlabelled(graph: RareGraph) -> Iterator[Finding]:
    """One finding per column of categories, where labels are of some of them alone."""
    looked_at, known = graph.scored, graph.known
    if not known.size:
        return
    enough = _EXPECTED * looked_at.size / known.size
    for column, places, _ in feature_places(graph.table_columns):
        names = column.get("categories", ())
        if not 1 < len(names) <= _MOST_CATEGORIES:
            continue
        block = graph.x[:, places.start : places.start + len(names)]
        every, labelled = (np.asarray(as_dense(block[rows])).sum(axis=0) for rows in (looked_at, known))
        without = np.flatnonzero((labelled == 0) & (every >= enough))
        if without.size and labelled.any():
            yield Finding("labels", column["name"], _say(column["name"], names, every, without, graph), "warning")


def _say(name: str, names: list[str], every: np.ndarray, without: np.ndarray, graph: RareGraph) -> str:
    said = ", ".join(f"{names[k]!r} ({int(every[k]):,} nodes)" for k in without[:3])
    kind = f" If it tells kinds of node, say --node-type {quote(name)}: then only kinds with labels are scored."
    return (
        f"no label is of a node with {said}{' …' if without.size > 3 else ''}: what is said of these, nobody can judge."
        f"{kind if graph.node_type is None else ''}"
    )
