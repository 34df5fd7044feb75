"""Columns of the edges that give the label of a node away: a transfer that is marked as an alert, say.

The rule is that of the nodes' columns. Where most edges share one value of a column (or have none), a node is special if
one of its edges has another; if of the special labelled nodes nearly all are rare, the column was filled in after the
fact. Where most have none, so is another value than most of the others have; and of a text, each word. Outgoing edges, incoming edges and both are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.tables.findings.columns import AuditColumn
from calirare.data.tables.findings.finding import Finding, gives_away, ignore
from calirare.data.tables.gathering.naming import other_kind, plain_name
from calirare.data.tables.gathering.outside import OUTSIDE


def audit_edges(graph: RareGraph) -> Iterator[Finding]:
    """What the columns of the edges say too well, or are called too much like the label."""
    if graph.edges is None or not graph.known.size:
        return
    yield from _ends(graph, graph.edges)
    copies = graph.schema_of("read").get("edges", {}).get("copies", 0)
    if copies:
        words = f"{copies:,} rows of the edges repeat another in every column, the time too. If they were exported twice, keep one."
        yield Finding("copies", "", words, "note")
    label = graph.schema_of("label").get("column")
    for column in graph.edges.columns:
        said = _leak(graph, graph.edges, column)
        if said:
            yield Finding("leak", column.name, said, "leak")
        elif label is not None and plain_name(column.name) == plain_name(label):
            words = (
                f"a column of the edges has the name of the label. If it is known only after the label, leave it out "
                f"({ignore(column.name)})."
            )
            yield Finding("leak", column.name, words, "warning")


def edge_audit_columns(edges: EdgeTable | None) -> list[AuditColumn]:
    """The columns of the edges as those of the nodes are looked at, to find constants and duplicates."""
    found = []
    for column in () if edges is None or not len(edges) else edges.columns:
        usual, name = _usual(column)
        share = float((column.values == usual).mean())
        values = None if column.kind == "category" else column.values
        found.append(AuditColumn(column.name, values, None, None, name, share, time=column.kind == "time"))
    return found


def _usual(column: EdgeColumn) -> tuple[float, str]:
    """The value that most edges have, where one is that common, and its name: the commonest category, the median."""
    values = column.values
    if column.kind == "category":
        known = values[values >= 0]
        code = int(np.bincount(known).argmax()) if known.size else -1
        return code, repr(column.categories[code]) if known.size else ""
    known = values[~np.isnan(values)]
    middle = float(np.median(known)) if known.size else np.nan
    return middle, f"{middle:.6g}"


def _ends(graph: RareGraph, table: EdgeTable) -> Iterator[Finding]:
    """Ends that are called as if they were of two kinds, and are read as one."""
    nodes, edges = graph.schema_of("nodes"), graph.schema_of("edges")
    kinds = [kind for kind in nodes.get("types") or () if kind != OUTSIDE]
    if nodes.get("apart") or len(kinds) > 1 or len(edges.get("tables", ())) != 1:
        return
    ends = [edges["source"], edges["target"]]
    other = other_kind((graph.schema or {})["id"], ends)
    described = graph.schema_of("read").get("nodes", {}).get("described", graph.num_nodes)
    if other is not None and ((table.source, table.target)[ends.index(other)] < described).any():
        words = (
            f"the ends of the edges are called {ends[0]!r} and {ends[1]!r} and share ids, so both are read as nodes of one "
            "kind. If they are two kinds, say --bipartite."
        )
        yield Finding("ends", other, words, "warning")


def _leak(graph: RareGraph, edges: EdgeTable, column: EdgeColumn) -> str:
    known, rare = graph.known, graph.y[graph.known] == graph.rare_class
    sides = ((edges.source, "start"), (edges.target, "end"), (None, "start or end"))
    for (unusual, words), (ends, which) in product(_unusual(column), sides):
        special = np.zeros(graph.num_nodes, dtype=bool)
        for one in (edges.source, edges.target) if ends is None else (ends,):
            special[one[unusual]] = True
        mine = special[known]
        if gives_away(mine, rare):
            return (
                f"edges where it {words} {which} at {int(mine.sum()):,} labelled nodes, {int((mine & rare).sum()):,} of "
                f"them rare: it was known only after the label. Leave it out ({ignore(column.name)}) unless it is "
                "there before."
            )
    return ""


def _unusual(column: EdgeColumn) -> Iterator[tuple[np.ndarray, str]]:
    """Edges that have a value where most have none, or another than most that have one, and that in words."""
    values = column.values
    missing = values < 0 if column.kind == "category" else np.isnan(values)
    if 2 * missing.sum() >= values.size:
        yield ~missing, "is filled"
    usual, name = _usual(column)
    if column.kind == "text":
        yield from ((column.has(word), f"has {word!r}") for word in column.categories)
    elif column.kind != "time" and 2 * (values == usual).sum() >= (~missing).sum() > 0:
        yield (values != usual) & ~missing, f"is other than {name}"
