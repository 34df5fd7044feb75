"""The tables of a graph, batch by batch, by the rules of `read_tables`.

Each batch goes through the functions that read whole tables, beside the other tables without their rows. So kinds of node,
types of edge and types of column come out as they do for all rows at once, and no rule stands twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from calirare.data.parts.shards import Shards, open_shards
from calirare.data.tables.gathering.apart import keep_apart, with_kinds
from calirare.data.tables.gathering.label_table import with_labels
from calirare.data.tables.gathering.naming import find_id, find_label
from calirare.data.tables.gathering.outside import nodes_outside, outside_of, with_kind
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows
from calirare.data.tables.gathering.same import check_same, with_same
from calirare.data.tables.gathering.tables import edges_or_none, gather_edges, gather_nodes, named_tables
from calirare.data.tables.libraries import pl
from calirare.data.tables.reading import check_names
from calirare.data.tables.schema.asked import Asked
from calirare.data.tables.schema.node_columns import check_schema
from calirare.data.tables.sources.frames import check_fitted_columns, to_frame

_HEAD = 10_000
"""Rows that are read to find the ends of an edge table whose column names say nothing."""
_MOST_CELLS = 1 << 22
"""Most cells of a nodes table that are read at once: thousands of words make rows wide."""
Tables = tuple[tuple[str, Shards], ...]


@dataclass(frozen=True, eq=False)
class TableStream:
    """Tables of nodes and of edges as a model wants them.

    Args:
        nodes: By name; none where the nodes are those that the edges name.
        edges: By name.
        labels: A table of ids and labels, or None.
        asked: What was said of the tables, and at fit where nothing was.
        schema: Of the fit.
        ends: The columns of each edge table's ends, and the name that the table had at fit.
        label: Column of the labels, or None.
    """

    nodes: Tables
    edges: Tables
    labels: pl.DataFrame | None
    asked: Asked
    schema: Mapping[str, Any]
    ends: tuple[Mapping[str, str], ...]
    label: str | None

    @classmethod
    def open(cls, nodes: Any, edges: Any, schema: Mapping[str, Any], options: Mapping[str, Any]) -> TableStream:
        """After a look at the heads of the files; `options` are further arguments of `read_tables`."""
        check_schema(schema)
        asked, edges = Asked.of(**options).as_at_fit(schema), edges_or_none(edges, schema)
        if asked.same and nodes is not None:
            edges = _with_same(nodes, edges, asked, schema)
        both = [
            tuple((name, open_shards(table, what)) for name, table in named_tables(tables, what))
            for tables, what in ((nodes, "nodes"), (edges, "edges"))
            if tables is not None
        ]
        found = both[0] if nodes is not None else ()
        labels = None if options.get("labels") is None else to_frame(options["labels"], "labels")
        names, said = asked.names, schema["edges"].get("tables", ())
        ids, of_edges = None, _columns_of(both[-1])
        if found:
            first = found[0][1]
            own = find_id(first.empty, names["id"] if len(found) == 1 else None, edges=of_edges)
            ids = first.head(_HEAD)[own]
        heads = {name: table.head(_HEAD) for name, table in both[-1]}
        ends = gather_edges(heads, names["source"], names["target"], asked.edge_type, said, ids).tables
        columns = _columns_of(found)
        check_names(asked, columns, of_edges)
        label = None
        if labels is None and found:
            every = pl.DataFrame(schema=list(dict.fromkeys(columns)))
            label = find_label(every, names["label"], options.get("label") is None)
        stream = cls(found, both[-1], labels, asked, schema, ends, label)
        if found:
            stream._gathered({})  # which refuses names that are not there
        return stream

    @property
    def num_rows(self) -> tuple[int, int]:
        """Rows of all node tables and of all edge tables."""
        nodes, edges = (sum(table.num_rows for _, table in tables) for tables in (self.nodes, self.edges))
        return nodes, edges

    def node_batches(self, size: int) -> Iterator[tuple[Shards, int, NodeRows]]:
        """(the table, place of the first row in it, at most `size` of its nodes), one table after the other."""
        for name, table in self.nodes:
            columns = self._of_nodes(table)
            for first, frame in table.batches(columns, max(1, min(size, _MOST_CELLS // len(columns)))):
                yield table, first, self._node_rows({name: frame})

    def edge_batches(self, columns: Sequence[str], size: int) -> Iterator[tuple[Shards, int, EdgeRows]]:
        """The same for the edges: their ends and the named columns."""
        for said, (name, table) in zip(self.ends, self.edges, strict=True):
            wanted = [said["source"], said["target"], self.asked.edge_type, *columns]
            kept = [column for column in dict.fromkeys(wanted) if column in table.empty.columns]
            for first, frame in table.batches(kept, size):
                yield table, first, with_kinds(self._edge_rows({name: frame}), self._apart)

    def named_by_edges(self, size: int) -> NodeRows | None:
        """The nodes that only the edges name, in the order of `read_tables`; None where these are not wanted.

        That order: row by row, or where ends are apart all of one end before those of the other.
        """
        if self.nodes and (not self._apart or len(self.nodes) > 1):
            return None
        nobody = self._gathered({}) if self.nodes else None
        found: tuple[list[NodeRows], list[NodeRows]] = ([], [])
        for said, (name, table) in zip(self.ends, self.edges, strict=True):
            for _, frame in table.batches([said["source"], said["target"]], size):
                rows = self._edge_rows({name: frame})
                halves = [rows]
                if self._apart:
                    halves = [replace(rows, target=_nothing(rows.target)), replace(rows, source=_nothing(rows.source))]
                for half, one in zip(found, halves, strict=False):
                    half.append(keep_apart(nobody, one, self._id, None, self._apart)[0])
        return _joined([*found[0], *found[1]] or [keep_apart(nobody, self._no_edges, self._id, None, self._apart)[0]])

    def outside(self, ids: pl.Series, size: int) -> NodeRows | None:
        """The nodes that edges name beside these; None where they are not kept."""
        if not self.asked.keep_unknown or not self.nodes:
            return None
        return nodes_outside(self._node_rows({}), outside_of(ids, (rows for _, _, rows in self.edge_batches((), size))))

    def with_labels(self, found: NodeRows) -> tuple[NodeRows, str]:
        """All nodes with the labels of their own table, and the name of its column; see `gathering.with_labels`."""
        assert self.labels is not None
        names = self.asked.names
        return with_labels(found, self.labels, names["id"], names["label"], self._no_edges)

    @cached_property
    def no_nodes(self) -> NodeRows | None:
        """The columns of the nodes, and no rows; None where the nodes are those that the edges name."""
        return self._node_rows({}) if self.nodes else None

    # Inside

    @cached_property
    def _apart(self) -> dict[str, str]:
        return self.asked.ends_apart(self.schema) or {}

    @cached_property
    def _no_edges(self) -> EdgeRows:
        return self._edge_rows({})

    @property
    def _id(self) -> str:
        return self.asked.names["id"] or "id"

    def _of_nodes(self, table: Shards) -> list[str]:
        """Columns that are read of a table of nodes, the id first: it may be found by that."""
        wanted = self.asked.names["id"]
        known = wanted in table.empty.columns or len(self.nodes) == 1
        own = find_id(table.empty, wanted if known else None, edges=_columns_of(self.edges))
        used = [column["name"] for column in self.schema["columns"] if column["type"] != "ignore"]
        names = dict.fromkeys([own, *used, self.asked.node_type, self.label])
        return [name for name in names if name in table.empty.columns]

    def _node_rows(self, some: Mapping[str, pl.DataFrame]) -> NodeRows:
        found = keep_apart(self._gathered(some), self._no_edges, self._id, None, self._apart)[0]
        return with_kind(found) if self.asked.keep_unknown else found

    def _gathered(self, some: Mapping[str, pl.DataFrame]) -> NodeRows:
        tables = {name: some.get(name, table.empty.select(self._of_nodes(table))) for name, table in self.nodes}
        kinds = self.schema.get("nodes", {}).get("types", ())
        return gather_nodes(tables, self.asked.names["id"], self.asked.node_type, kinds, _columns_of(self.edges))

    def _edge_rows(self, some: Mapping[str, pl.DataFrame]) -> EdgeRows:
        tables = {name: some.get(name, table.empty) for name, table in self.edges}
        return gather_edges(tables, None, None, self.asked.edge_type, self.ends)


def _with_same(nodes: Any, edges: Any, asked: Asked, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of edges, and those of columns of the nodes that name shared things; these are held whole."""
    tables = dict(named_tables(edges, "edges"))
    shards = open_shards(named_tables(nodes, "nodes")[0][1], "nodes")
    own = find_id(shards.empty, asked.names["id"])
    same = asked.same or ()
    check_fitted_columns(shards.empty, same, "nodes")
    check_same(NodeRows(shards.empty, own), same, asked.names["weight"], asked.edge_type)
    columns = [own, *same]
    found = pl.concat([shards.empty.select(columns), *(frame for _, frame in shards.batches(columns, _MOST_CELLS))])
    return with_same(tables, NodeRows(found, own), same, schema["edges"].get("tables", ()))


def _columns_of(tables: Tables) -> list[str]:
    return [name for _, table in tables for name in table.empty.columns]


def _nothing(ends: pl.Series) -> pl.Series:
    return ends.clear(ends.len())


def _joined(rows: list[NodeRows]) -> NodeRows:
    """Each node once, as it came first."""
    frame = pl.concat([one.frame for one in rows]).with_row_index("(place)").unique(rows[0].id, maintain_order=True)
    place = frame["(place)"].to_numpy()
    codes = None
    if rows[0].type is not None:
        codes = np.concatenate([one.type for one in rows if one.type is not None])[place]
    return replace(rows[0], frame=frame.drop("(place)"), type=codes)
