"""Nodes that have the same value in a column that names things: accounts of one device, patients of one doctor.

Such a column is a table of edges, from each node to what it names, and these are nodes of a kind of their own. Which columns
are read so is decided once, by the user (`same`) or by what is in them, and kept in the schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.cells.columns import to_categories
from calirare.data.tables.cells.date_text import like_dates
from calirare.data.tables.cells.kinds import MAX_CATEGORIES, is_of_people, kind_of, named_as_id
from calirare.data.tables.cells.number_text import are_pairs
from calirare.data.tables.cells.text import MISSING_WORDS, NOT_KNOWN
from calirare.data.tables.gathering.apart import kind_name
from calirare.data.tables.gathering.ids import same_type
from calirare.data.tables.gathering.naming import MOST_KNOWN, plain_name
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows
from calirare.data.tables.gathering.tables import match_names
from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.frames import pick_column
from calirare.errors import InputError

_FEWEST, _FEWEST_SHARE = 20, 0.02
"""So many nodes, and this share of those that have a value, must share theirs with another before they are joined unasked."""
_MOST_SHARE = 0.05
"""A value that more of the nodes have is no name of a thing; then the column is not read so unasked."""
_MOST_EACH = 10
"""Nodes per value up to which a column of other words is read so unasked; what is called an id may join more."""
STANDS_FOR_NOTHING = (*MISSING_WORDS, *NOT_KNOWN, "0.0.0.0", "missing", "other", "anonymous", "test")


def find_same(found: NodeRows, roles: Sequence[str | None], types: Mapping[str, str], ends: Sequence[str]) -> list[str]:
    """The columns of the nodes that name things which several of them share.

    Args:
        found: The nodes, of one kind.
        roles: Columns that are something else: the label, the time.
        types: Columns of which the user said what they are.
        ends: Columns of the edges' ends.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"id": range(300), "device_id": [f"d{k // 2}" for k in range(300)], "town": ["a", "b", "c"] * 100})
    >>> find_same(NodeRows(frame, "id"), [], {}, []), find_same(NodeRows(frame, "id"), [], {"device_id": "ignore"}, [])
    (['device_id'], [])
    """
    other = {found.id, *roles, *types}
    taken = {plain_name(end) for end in ends}
    described = found.frame.head(found.num_described)
    return [
        name
        for name in described.columns
        if name not in other
        and plain_name(name) not in taken
        and _names_shared_things(described[name], described[found.id])
    ]


def _names_shared_things(column: pl.Series, ids: pl.Series) -> bool:
    if not (column.dtype == pl.String or column.dtype.is_integer()) or is_of_people(column.name):
        return False
    if column.n_unique() <= MAX_CATEGORIES:
        return False
    kind = kind_of(column)
    if kind.name not in ("category", "ignore") and "form" not in kind.style:
        return False
    values = _known(column)
    if like_dates(values) or are_pairs(values):  # which are not read as such only because some cells are odd
        return False
    if not values.len() or not (values.len() <= _MOST_EACH * values.n_unique() or named_as_id(column.name)):
        return False
    counts = values.value_counts(name="nodes")["nodes"]
    shared = int(counts.filter(counts > 1).sum())
    if shared < max(_FEWEST, _FEWEST_SHARE * values.len()) or int(counts.max()) > _MOST_SHARE * values.len():  # type: ignore[arg-type]
        return False
    ids, values = same_type(ids, [values.unique()])
    return bool(values.is_in(ids.implode()).mean() < MOST_KNOWN)  # type: ignore[operator]


def _known(column: pl.Series) -> pl.Series:
    """Values as text, without those that stand for nothing."""
    text = to_categories(column).drop_nulls()
    return text.filter(~text.str.to_lowercase().is_in(STANDS_FOR_NOTHING))


def check_same(found: NodeRows | None, columns: Sequence[str], weight: str | None, edge_type: str | None) -> None:
    """Refuse columns that are not there, and tables whose edges cannot be of one more type, without a weight."""
    if found is None or found.type is not None or weight is not None or edge_type is not None:
        raise InputError(
            "same (--same) must be left out where there is no table of nodes, they are of several kinds, or edges have a weight "
            "or a column of types. Give a further table of edges (--edges) with the ids and what they share."
        )
    for name in columns:
        if pick_column(found.frame.columns, name, "same", "nodes") == found.id:
            raise InputError(f"same must name other columns than the id; {name!r} is different in every row.")


def tables_of_same(frame: pl.DataFrame, id: str, columns: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """For each column the name of its kind, and a table of edges from the nodes to what they name.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"id": [1, 2], "device_id": ["d", "unknown"]})
    >>> [(name, table.rows()) for name, table in tables_of_same(frame, "id", ["device_id"])]
    [('device', [(1, 'd')])]
    """
    for name in columns:
        if name in frame.columns:
            values = to_categories(frame[name])
            known = values.is_not_null() & ~values.str.to_lowercase().is_in(STANDS_FOR_NOTHING)
            yield kind_name(name), frame.select(pl.col(id), values.alias(name)).filter(known)


def with_same(
    edges: Mapping[str, pl.DataFrame], found: NodeRows, columns: Sequence[str], at_fit: Sequence[Mapping[str, str]] = ()
) -> dict[str, pl.DataFrame]:
    """The tables of edges, and behind them those of the columns that name shared things.

    Args:
        edges: By name.
        found: The nodes.
        columns: Of the nodes.
        at_fit: Names and ends of the tables of the fit; the user's may be called otherwise now.
    """
    more = dict(tables_of_same(found.frame, found.id, columns))
    names = match_names(list(edges), [table["name"] for table in at_fit if table["name"] not in more])
    if clash := set(names) & set(more):
        raise InputError(
            f"a table of edges must be called otherwise than what a column names; {sorted(clash)} are not."
        )
    return dict(zip(names, edges.values(), strict=True)) | more


def count_same(rows: EdgeRows, columns: Sequence[str]) -> int:
    """How many rows of the edges come from these columns of the nodes."""
    if rows.type is None or not columns:
        return 0
    kinds = [kind_name(column) for column in columns]
    return int(np.isin(rows.type, [place for place, name in enumerate(rows.type_names) if name in kinds]).sum())


def shared_values(graph: RareGraph) -> list[tuple[str, np.ndarray]]:
    """For each column that joins nodes, `(N,)` the node that stands for each one's value; -1: it has none."""
    columns, tables, edges = (
        graph.schema_of("nodes").get("same", ()),
        graph.schema_of("edges").get("tables", ()),
        graph.edges,
    )
    if not columns or edges is None or edges.type is None:
        return []
    found = []
    for table in tables[-len(columns) :]:
        mine = edges.type == edges.type_names.index(table["name"])
        value_of = np.full(graph.num_nodes, -1)
        value_of[edges.source[mine]] = edges.target[mine]
        found.append((table["target"], value_of))
    return found


def not_joined_by(graph: RareGraph, names: Collection[str]) -> RareGraph:
    """The graph without the edges by which these columns of the nodes join them."""
    for name, value_of in shared_values(graph):
        if name not in names or graph.edges is None:
            continue
        values = np.zeros(graph.num_nodes, dtype=bool)
        values[value_of[value_of >= 0]] = True
        rows = ~(values[graph.edges.source] | values[graph.edges.target])
        pairs = ~values[graph.edge_index].any(axis=0)
        graph = replace(graph, edges=graph.edges.take(rows), edge_index=graph.edge_index[:, pairs])
    return graph
