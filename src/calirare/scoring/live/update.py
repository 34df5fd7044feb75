"""What came since a graph was read: new nodes, known ones that changed, new edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.merging import merge_edges
from calirare.data.tables.gathering.apart import keep_apart, kind_name, with_kinds
from calirare.data.tables.gathering.ids import check_ids, id_array, text_ids
from calirare.data.tables.gathering.outside import add_outside, kinds_with_tables
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows
from calirare.data.tables.gathering.same import with_same
from calirare.data.tables.gathering.tables import codes_as_at_fit, frames_of, gather_edges, gather_nodes, nodes_of_edges
from calirare.data.tables.libraries import pl
from calirare.data.tables.schema.edge_cells import read_edge_cells, warn_of_lacking
from calirare.data.tables.schema.edge_columns import apply_edge_columns
from calirare.data.tables.schema.edges import edge_weights
from calirare.data.tables.schema.preprocess import apply_columns
from calirare.errors import ColumnError, InputError


@dataclass(frozen=True, eq=False)
class Update:
    """Rows that came since.

    Args:
        nodes: `(M,)` the nodes that they speak of; new ones are numbered from N on.
        ids: `(M,)` their names.
        x: `(M, F)` their attributes.
        num_nodes: N and the new nodes.
        edges: The new edges with their columns, ends numbered as above; None where the graph keeps no table.
        pairs: `(2, E)` both directions of every pair that these join.
        weight: `(E,)` what is added to each pair's weight; None without weights.
        node_type, node_type_names: Kinds of the nodes, as in `RareGraph`.
        num_asked: How many of them, the first, are asked about; the others are of a kind that only the edges name. Default: all.
    """

    nodes: np.ndarray
    ids: np.ndarray
    x: np.ndarray | sp.csr_array
    num_nodes: int
    edges: EdgeTable | None
    pairs: np.ndarray
    weight: np.ndarray | None
    node_type: np.ndarray | None = None
    node_type_names: tuple[str, ...] = ()
    num_asked: int | None = None


def as_name(node: Any) -> str:
    """An id as text; 7.0 is 7, as in a table."""
    return str(int(node) if isinstance(node, float) and node.is_integer() else node)


class NodeNames:
    """From ids to node indices, whole numbers and text alike."""

    def __init__(self, graph: RareGraph) -> None:
        self._place: dict[str | None, int] = {name: place for place, name in enumerate(graph.ids.astype(str).tolist())}
        assert len(self._place) == graph.num_nodes

    def __len__(self) -> int:
        return len(self._place)

    def find(self, name: Any) -> int | None:
        """The node of this id, or None.

        >>> names = NodeNames(RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1]), node_ids=[5, 7]))
        >>> names.find(7), names.find("7"), names.find(7.0), names.find("8")
        (1, 1, 1, None)
        """
        return self._place.get(as_name(name))

    def places(self, names: Iterable[str | None]) -> np.ndarray:
        """The nodes of many ids, given as text; -1 for unknown ones."""
        return np.array([self._place.get(name, -1) for name in names], dtype=np.int64)


def read_update(graph: RareGraph, known: NodeNames, nodes: Any, edges: Any) -> Update:
    """The rows of two tables as the model wants them.

    Args:
        graph: Read from tables, with the schema of the fit.
        known: Its ids.
        nodes: New nodes, and known ones whose attributes changed; a table as in `read_tables`, or None.
        edges: New edges among known and new nodes; a table as in `read_tables`, or None.
    """
    schema: Mapping[str, Any] = graph.schema or {}
    try:
        return _read(graph, known, schema, nodes, edges)
    except ColumnError as error:
        raise ColumnError(f"{error} (a value that is not known is written null)") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"the rows hold values that cannot be understood: {error}") from error


def _read(graph: RareGraph, known: NodeNames, schema: Mapping[str, Any], nodes: Any, edges: Any) -> Update:
    nodes, edges = _all_kinds(nodes, schema), _all_tables(edges, schema)
    edges = _with_same(graph, known, schema, nodes, edges)
    as_they_came = None if edges is None else _edge_rows(edges, schema)
    rows = None if as_they_came is None else with_kinds(as_they_came, schema.get("nodes", {}).get("apart", {}))
    found = _node_rows(nodes, rows, known, schema)
    num_asked = found.frame.height
    found = _of_a_kind(_with_new_ends(found, as_they_came, known, schema), graph, schema)
    if rows is not None and schema["edges"].get("keep_unknown"):
        found = _with_outside(found, rows, known)
    ids = found.frame[found.id]
    check_ids(ids)
    place = known.places(text_ids(ids).to_list())
    new = place < 0
    place[new] = len(known) + np.arange(int(new.sum()))
    x, *_ = apply_columns(found, schema)
    codes, type_names = codes_as_at_fit(found.type, found.type_names, schema.get("nodes", {}).get("types", ()))
    num_nodes = len(known) + int(new.sum())
    ends = np.empty((2, 0), dtype=np.int64)
    if rows is not None:
        rows, ends = _ends(rows, known, ids, place, drop_unknown=bool(schema["edges"].get("drop_unknown")))
    table, weight = _table(graph, rows, ends, schema)
    pairs, added = _merged(ends, weight)
    return Update(place, id_array(ids), x, num_nodes, table, pairs, added, codes, type_names, num_asked)


def _all_tables(edges: Any, schema: Mapping[str, Any]) -> Any:
    """The tables of edges, with those of the fit that brought no rows.

    Raises:
        InputError: There are several, and it is not said whose rows these are.
    """
    same = schema.get("nodes", {}).get("same", ())
    said = schema["edges"].get("tables", ())
    own = {table["name"]: table for table in said[: len(said) - len(same)]}
    if edges is None or len(own) < 2:
        return edges
    tables = dict(frames_of(edges, "edges"))
    if len(tables) == 1 and not set(tables) <= set(own):
        raise InputError(
            f"edges of this model come in several tables: give rows by the name of the table, one of {list(own)}."
        )
    columns = [column["name"] for column in schema["edges"].get("columns", ()) if column["kind"] != "ignore"]
    columns += schema["edges"].get("cells", ())
    for name in [name for name in own if name not in tables and set(tables) <= set(own)]:
        none = dict.fromkeys((own[name]["source"], own[name]["target"], *columns), ())
        tables[name] = frames_of({name: none}, "edges")[name]
    return tables


def _all_kinds(nodes: Any, schema: Mapping[str, Any]) -> Any:
    """The tables of nodes by kind, with the columns of kinds that brought no rows.

    Raises:
        InputError: There are several, and it is not said whose rows these are.
    """
    kinds = schema.get("nodes", {}).get("types", ())
    if nodes is None or len(kinds) < 2:
        return nodes
    tables = dict(frames_of(nodes, "nodes"))
    columns = [column["name"] for column in schema["columns"] if column["type"] != "ignore"]
    if not set(tables) <= set(kinds):
        own = kinds_with_tables(schema["nodes"])
        if own and not all(set(columns) <= set(table.columns) for table in tables.values()):
            raise InputError(
                f"nodes of this model come in several tables: give rows by the name of the table, one of {own}."
            )
        return nodes
    for kind in [kind for kind in kinds if kind not in tables]:
        tables[kind] = frames_of({kind: dict.fromkeys((schema["id"], *columns), ())}, "nodes")[kind]
    return tables


def _with_same(graph: RareGraph, known: NodeNames, schema: Mapping[str, Any], nodes: Any, edges: Any) -> Any:
    """The tables of edges, and those of columns of the nodes that name shared things, without edges that are there already."""
    same = schema.get("nodes", {}).get("same", ())
    if nodes is None or not same:
        return edges
    said = schema["edges"].get("tables", ())
    found = gather_nodes(nodes, schema["id"], None, (), [table[end] for table in said for end in ("source", "target")])
    columns = [column["name"] for column in schema["edges"].get("columns", ())]
    none = {
        table["name"]: dict.fromkeys((table["source"], table["target"], *columns), ()) for table in said[: -len(same)]
    }
    tables = with_same(frames_of(none if edges is None else edges, "edges"), found, same, said)
    for column in same:
        name = kind_name(column)
        if name in tables:
            tables[name] = tables[name].filter(~_are_joined(graph, known, tables[name], name))
    return tables


def _are_joined(graph: RareGraph, known: NodeNames, edges: pl.DataFrame, kind: str) -> pl.Series:
    """Whether nodes are joined to things of a kind already."""
    source, target = edges.get_columns()
    ends = known.places(text_ids(source).to_list()), known.places(f"{kind} {name}" for name in target.to_list())
    there = (ends[0] >= 0) & (ends[1] >= 0)
    keys = graph.edge_index[0] * graph.num_nodes + graph.edge_index[1] if there.any() else np.empty(0, dtype=np.int64)
    return pl.Series(there & np.isin(ends[0] * graph.num_nodes + ends[1], keys), dtype=pl.Boolean)


def _edge_rows(edges: Any, schema: Mapping[str, Any]) -> EdgeRows:
    said = schema["edges"]
    one = len(said.get("tables", ())) <= 1
    source, target = (said["source"], said["target"]) if one else (None, None)
    return gather_edges(edges, source, target, said.get("type"), said.get("tables", ()))


def _node_rows(nodes: Any, rows: EdgeRows | None, known: NodeNames, schema: Mapping[str, Any]) -> NodeRows:
    """The nodes that are spoken of; where attributes are not wanted, those that only edges name too."""
    if nodes is not None:
        kinds = schema.get("nodes", {})
        ends = [table[end] for table in schema["edges"].get("tables", ()) for end in ("source", "target")]
        return gather_nodes(nodes, schema["id"], kinds.get("type"), kinds.get("types", ()), ends)
    if rows is None:
        raise InputError("nodes or edges must be given: new nodes, changed ones, or edges that came since.")
    if not schema.get("nodes", {}).get("from_edges"):
        kinds = {column["name"]: pl.Float64 for column in schema["columns"]}
        return NodeRows(pl.DataFrame(schema={schema["id"]: pl.String, **kinds}), schema["id"])
    found = nodes_of_edges(rows, schema["id"])
    fresh = known.places(text_ids(found.frame[found.id]).to_list()) < 0
    return NodeRows(found.frame.filter(pl.Series(fresh)), found.id)


def _with_new_ends(found: NodeRows, rows: EdgeRows | None, known: NodeNames, schema: Mapping[str, Any]) -> NodeRows:
    """The nodes, and behind them new ones of kinds that only the edges name: a card that nobody used before."""
    said = schema.get("nodes", {})
    apart, types = said.get("apart"), said.get("types", ())
    if rows is None or not apart or said.get("from_edges") or not types or not types[0].endswith(kind_name(found.id)):
        return found  # kinds that have a table of their own come with it
    both = keep_apart(found, rows, found.id, None, apart)[0]
    fresh = known.places(text_ids(both.frame[both.id]).to_list()) < 0
    fresh[: found.frame.height] = True
    return replace(both, frame=both.frame.filter(pl.Series(fresh)), type=np.asarray(both.type)[fresh])


def _with_outside(found: NodeRows, rows: EdgeRows, known: NodeNames) -> NodeRows:
    """The nodes, and behind them those that neither they nor the graph have."""
    named = text_ids(nodes_of_edges(rows, "id").frame["id"])
    ids = text_ids(found.frame[found.id])
    fresh = (known.places(named.to_list()) < 0) & ~named.is_in(ids.implode()).to_numpy()
    found = replace(found, frame=found.frame.with_columns(ids.alias(found.id)))
    return add_outside(found, named.filter(pl.Series(fresh)))


def _of_a_kind(found: NodeRows, graph: RareGraph, schema: Mapping[str, Any]) -> NodeRows:
    """Nodes that came without their kind are of the one that carries labels."""
    if graph.node_type is None or found.type is not None:
        return found
    kinds = (*schema.get("nodes", {}).get("labelled", ()), *graph.node_type_names)
    return replace(found, type=np.zeros(found.frame.height, dtype=np.int64), type_names=kinds[:1])


def _ends(
    rows: EdgeRows, known: NodeNames, ids: pl.Series, place: np.ndarray, *, drop_unknown: bool
) -> tuple[EdgeRows, np.ndarray]:
    """The edges and the nodes at their ends, `(2, E)`; with `drop_unknown` without those to nobody who is known."""
    names = [name for end in (rows.source, rows.target) for name in text_ids(end).to_list()]
    fresh = dict(zip(text_ids(ids).to_list(), place.tolist(), strict=True))
    found = np.array([fresh.get(name, -1) for name in names], dtype=np.int64)
    others = np.flatnonzero(found < 0)
    found[others] = known.places(names[at] for at in others.tolist())
    ends = found.reshape(2, -1)
    here = (ends >= 0).all(axis=0)
    if here.all():
        return rows, ends
    if not drop_unknown:
        name = names[int(found.argmin())]
        raise InputError(f"edges must join known nodes or new ones that are given beside them; {name!r} is neither.")
    kept, types = pl.Series(here), None if rows.type is None else rows.type[here]
    source, target = rows.source.filter(kept), rows.target.filter(kept)
    return replace(rows, frame=rows.frame.filter(kept), source=source, target=target, type=types), ends[:, here]


def _table(
    graph: RareGraph, rows: EdgeRows | None, ends: np.ndarray, schema: Mapping[str, Any]
) -> tuple[EdgeTable | None, np.ndarray | None]:
    """The edges with their columns, and their weights."""
    said = schema["edges"]
    weight = None if graph.edge_weight is None else np.empty(0)
    if rows is None:
        return (None if graph.edges is None else graph.edges.take(slice(0))), weight
    if weight is not None:
        weight = edge_weights(rows.frame[said["weight"]])
    if graph.edges is None:
        return None, weight
    codes, names = codes_as_at_fit(rows.type, rows.type_names, said.get("types", ()))
    columns, _ = apply_edge_columns(rows.frame, said.get("columns", ()))
    asked = tuple(graph.edges.cells)
    warn_of_lacking(asked if ends.size else (), rows.frame.columns)
    cells = read_edge_cells(rows.frame, asked)
    return EdgeTable(ends[0], ends[1], columns, graph.edges.directed, codes, names, cells), weight


def _merged(ends: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Pairs and weights by the one rule for repeated edges, on the named nodes alone."""
    names, local = np.unique(ends, return_inverse=True)
    if not names.size:
        return ends, weight
    pairs, added = merge_edges(local.reshape(2, -1), weight, names.size, rows_count=True)
    return names[pairs], added
