"""Your own data: tables of nodes and tables of edges."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.cells.columns import to_seconds
from calirare.data.tables.gathering.apart import keep_apart
from calirare.data.tables.gathering.ids import check_ids, id_array
from calirare.data.tables.gathering.label_table import id_of_labels, with_labels
from calirare.data.tables.gathering.naming import find_label, guess_ends
from calirare.data.tables.gathering.outside import with_outside
from calirare.data.tables.gathering.rows import NO_NODES, EdgeRows, NodeRows
from calirare.data.tables.gathering.same import check_same, count_same, find_same, with_same
from calirare.data.tables.gathering.tables import (
    codes_as_at_fit,
    count_copies,
    each_once,
    edges_or_none,
    frames_of,
    gather_edges,
    gather_nodes,
    if_nothing_joins,
)
from calirare.data.tables.libraries import pl
from calirare.data.tables.schema.asked import Asked
from calirare.data.tables.schema.edge_cells import read_edge_cells, warn_of_lacking
from calirare.data.tables.schema.edge_columns import apply_edge_columns, check_types
from calirare.data.tables.schema.edges import EdgeList, read_edges
from calirare.data.tables.schema.labels import Labels, apply_labels, learn_labels, no_labels
from calirare.data.tables.schema.learning import learn_schema
from calirare.data.tables.schema.node_columns import check_schema, feature_names
from calirare.data.tables.schema.preprocess import apply_columns, warn_of_values
from calirare.data.tables.schema.profile import profile_tables
from calirare.data.tables.sources.frames import check_fitted_columns, pick_column, to_frame
from calirare.errors import InputError

logger = logging.getLogger(__name__)


def read_tables(
    nodes: Any,
    edges: Any = None,
    *,
    label: str | None = None,
    rare: Any = None,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    types: Mapping[str, str] | None = None,
    schema: Mapping[str, Any] | None = None,
    directed: bool | None = None,
    edge_type: str | None = None,
    node_type: str | None = None,
    time: str | None = None,
    drop_unknown_edges: bool = False,
    keep_unknown_edges: bool = False,
    labels: Any = None,
    bipartite: bool | None = None,
    same: Sequence[str] | None = None,
) -> RareGraph:
    """A graph from tables of nodes and edges.

    Each table is a path (CSV, Parquet, Arrow), a polars, pandas or Arrow frame, or a dict of columns. Numbers are
    standardised, words become one column per category, gaps are imputed and marked. `graph.edges` keeps every row of
    the edges with its direction and its columns; `graph.edge_index` is the merged, undirected form for networks. What
    was merged or filled is counted in `graph.schema["read"]`.

    Args:
        nodes: One row per node: an id, attributes, a label where known. Several tables, in a mapping or a list, are
            kinds of node. None: the nodes are those that the edges name, and `labels` tells what is known of them.
        edges: One row per edge: the ids of both ends, and more columns if you like. Several tables, in a mapping by
            name or a list, are types of edge. None: there are no edges, and each node stands alone.
        label: Label column; nulls mean unknown. With `schema` it may be left out, or be missing from the table.
        rare: The rare value of the label column. All other values together are the other class. With `schema` it may be left
            out.
        id: Id column of the nodes; default: a usual name (id, node, account, …), else the first column.
        source: Column of one end of the edges; default: usual names (source, src, from, …), else the first column.
        target: Column of the other end; default: the usual partner, else the second column.
        weight: Column of edge weights; default: every edge weighs the same. It is also one of the edges' columns.
        types: `{"column": "numeric" | "categorical" | "time" | "text" | "ignore"}` where the guess is wrong; see
            `describe_schema`.
        schema: The schema of the graph that a model was fitted on. It is applied unchanged: same means, same
            categories, those never seen count as none of them.
        directed: Whether source and target differ in meaning; default: they do, or as at fit.
        edge_type: Column of the edges that tells their type.
        node_type: Column of the nodes that tells their kind. Only kinds that carry labels are scored.
        time: Column of the edges or of the nodes that says when.
        drop_unknown_edges: Leave out edges to nodes that are not in the nodes table, instead of refusing them; with `schema`
            also where the fit did.
        keep_unknown_edges: Keep them, their nodes as a kind of their own without attributes, "outside"; with `schema` also
            where the fit did.
        labels: A table of ids and labels, where they are not in the nodes table.
        bipartite: Whether the ends of an edge are of two kinds, so that customer 5 is not merchant 5; default: where that
            is plain to see (`calirare.data.tables.gathering.apart`), or as at fit.
        same: Columns of the nodes that name things, such as the device of an account: nodes with the same value are joined by
            it. Default: those that plainly name what several nodes share, or as at fit; `types={"device": "ignore"}` leaves one
            out, and `same=[]` all.

    Raises:
        DataError: A file is missing, empty, truncated or not in its format.
        ColumnError: A column is missing; the message names the nearest ones.
        LabelError: No labels, a single class, or no node with the rare value.
        InputError: Duplicate ids, edges to unknown nodes.

    >>> nodes = {"id": ["a", "b", "c"], "age": [30, None, 50], "fraud": ["yes", "no", None]}
    >>> edges = {"source": ["a", "b", "c"], "target": ["b", "a", "c"], "amount": [5.0, -2.0, 1.0]}
    >>> graph = read_tables(nodes, edges, label="fraud", rare="yes")
    >>> graph.y.tolist(), graph.num_edges, graph.feature_names
    ([1, 0, -1], 1, ('age', 'age is missing'))
    >>> graph.edges.columns[0].values.tolist(), graph.schema["read"]["edges"]["self_loops"]
    ([5.0, -2.0, 1.0], 1)
    """
    asked = Asked.of(
        **{"id": id, "source": source, "target": target, "weight": weight, "label": label, "time": time},
        **{"rare": rare, "types": types, "directed": directed, "edge_type": edge_type, "node_type": node_type},
        **{"drop_unknown_edges": drop_unknown_edges, "keep_unknown_edges": keep_unknown_edges, "bipartite": bipartite},
        same=same,
    )
    check_types(asked.types)
    try:
        return _read(nodes, edges, labels, asked, schema)
    except InputError as error:
        error.see(error.guide or "guides/tables.md")
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeEncodeError) as error:
        # What is wrong in a usual way has its own message; this is for what nobody thought of.
        raise InputError(f"the tables hold values that cannot be understood: {error}") from error


def _read(nodes: Any, edges: Any, labels: Any, asked: Asked, schema: Mapping[str, Any] | None) -> RareGraph:
    label_given = asked.names["label"] is not None
    if schema is not None:
        check_schema(schema)
        asked = asked.as_at_fit(schema)
    elif not label_given and labels is None:
        raise InputError("label must name the column of the nodes table that tells the rare nodes; got None.")
    names = asked.names
    found, rows, apart, same = _gather(nodes, edges, labels, asked, schema)
    if labels is not None:
        found, names["label"] = with_labels(found, to_frame(labels, "labels"), names["id"], names["label"], rows)
    frame = found.frame
    names = {
        **names,
        "id": found.id,
        "label": find_label(frame, names["label"], schema is not None and not label_given, rows.frame.columns),
    }
    if names["id"] == names["label"]:
        raise InputError(f"id and label must be different columns of the nodes table; both are {names['id']!r}.")
    if frame.height == 0:
        raise InputError(NO_NODES)
    check_ids(frame[found.id], frame)
    check_names(asked, frame.columns, rows.frame.columns)
    known = _read_labels(frame, names["label"], asked.rare, schema)
    if schema is None:
        plan = learn_schema(found, rows, known, replace(asked, names=names), from_edges=nodes is None)
        plan["nodes"] |= {"apart": apart, "same": list(same)}
    else:
        plan = {**schema, "read": {}}
    return _build(found, rows, known, plan, asked)


def _gather(
    nodes: Any, edges: Any, labels: Any, asked: Asked, schema: Mapping[str, Any] | None
) -> tuple[NodeRows, EdgeRows, dict[str, str], Sequence[str]]:
    """All nodes and all edges, which ends name a kind of their own, and by which columns nodes are joined."""
    if nodes is None and labels is None and _wants_nodes(schema):
        raise InputError(
            "there is no table of nodes; a single table is read as the edges. Give the nodes before the edges, or with labels "
            f"(--labels) a table of ids and labels: then the nodes are those that the edges name. {if_nothing_joins(schema)}"
        )
    names, at_fit = asked.names, schema or {"edges": {}}
    found, ids = None, None
    nodes = None if nodes is None else frames_of(nodes, "nodes")
    why_alone = "no edges were given: each node" if edges is None else "edges: there are no rows, so each node"
    edges = frames_of(edges_or_none(edges, schema), "edges")
    if nodes is not None:
        columns = [column for frame in edges.values() for column in frame.columns]
        kinds = at_fit.get("nodes", {}).get("types", ())
        found = each_once(gather_nodes(nodes, names["id"], asked.node_type, kinds, columns))
        if not found.frame.height:
            raise InputError(NO_NODES)
        ids = found.frame[found.id]
        if ids.dtype.is_nested():
            check_ids(ids)  # which refuses them
    elif labels is not None:
        table = to_frame(labels, "labels")
        ids = table[id_of_labels(table, names["id"])]
    if schema is not None and found is not None:
        check_fitted_columns(found.frame, asked.same or (), "nodes")
    same = _same(found, edges, asked)
    if found is not None and same:
        edges = with_same(edges, found, same, at_fit["edges"].get("tables", ()))
    if schema is None and not any(frame.height for frame in edges.values()):
        logger.warning("%s stands alone.", why_alone)
    known = at_fit["edges"].get("tables", ())
    rows = gather_edges(edges, names["source"], names["target"], asked.edge_type, known, ids)
    found, rows, apart = keep_apart(found, rows, names["id"] or "id", asked.bipartite, asked.ends_apart(schema), same)
    if same and asked.same is None:
        logger.warning(
            "nodes are joined by what they have in common: %s. The values are nodes too, behind the %s of the table: %s in all. "
            "same=[] leaves this out, --type COLUMN=ignore one of them.",
            ", ".join(same), f"{found.num_described:,}", f"{found.frame.height:,}",
        )  # fmt: skip
    return (with_outside(found, rows) if asked.keep_unknown and nodes is not None else found), rows, apart, same


def _same(found: NodeRows | None, edges: Mapping[str, pl.DataFrame], asked: Asked) -> Sequence[str]:
    """The columns of the nodes by which they are joined: as asked, else those that plainly name shared things."""
    if asked.same is not None:
        if asked.same:
            check_same(found, asked.same, asked.names["weight"], asked.edge_type)
        return asked.same
    several = asked.edge_type or asked.names["weight"] or asked.node_type
    if found is None or found.type is not None or several or asked.bipartite is False:
        return ()
    roles = [asked.names["label"], asked.names["time"]]
    said = [asked.names[end] for end in ("source", "target")]
    ends = [name for frame in edges.values() for name in guess_ends(frame.columns) or frame.columns]
    return find_same(found, [*roles, *said], asked.types, ends)


def _wants_nodes(schema: Mapping[str, Any] | None) -> bool:
    """Whether the edges alone cannot do: at a fit, and for a model that reads attributes of nodes."""
    return schema is None or any(column["type"] != "ignore" for column in schema["columns"])


def check_names(asked: Asked, nodes: Sequence[str], edges: Sequence[str]) -> None:
    """Names that may belong to either table must be in one."""
    both = [*nodes, *edges]
    for name in asked.types:
        pick_column(both, name, f"types[{name!r}]", "nodes or edges")
    if asked.names["time"] is not None:
        pick_column(both, asked.names["time"], "time", "nodes or edges")
    if asked.names["weight"] is not None:
        pick_column(edges, asked.names["weight"], "weight", "edges")


def _read_labels(frame: pl.DataFrame, label: str | None, rare: Any, schema: Mapping[str, Any] | None) -> Labels:
    if schema is None:
        return learn_labels(frame[label], rare)  # type: ignore[index]
    if label is None or schema["label"] is None:
        return no_labels(frame.height, schema["label"])
    return apply_labels(frame[label], schema["label"], rare)


def _build(found: NodeRows, rows: EdgeRows, labels: Labels, plan: dict[str, Any], asked: Asked) -> RareGraph:
    described = found.num_described
    x, counts, empty = apply_columns(found, plan)
    if not x.shape[1] and not rows.source.len():
        raise InputError("nodes must have at least one attribute column that can be used where there are no edges.")
    edge_list, of_edges = _build_edges(found, rows, plan, asked)
    warn_of_values(counts, of_edges)
    if joined := count_same(rows, plan.get("nodes", {}).get("same", ())):
        edge_list.counts["same"] = joined
    if "read" not in plan:  # just learned
        seen = profile_tables(x, plan, edge_list.table, described=described)
        plan = {**plan, "seen": {**seen, "rows": described}}
        timed = any(column.kind == "time" for column in edge_list.table.columns)  # else rows may well be alike
        if timed and (copies := count_copies(rows)):
            edge_list.counts["copies"] = copies
    nodes = {"described": described, "named_alone": found.frame.height - described}
    read = {
        "nodes": nodes,
        "edges": edge_list.counts,
        **labels.counts,
        **empty.counts(),
        **counts,
        "edge_values": of_edges,
    }
    node_type, node_type_names = codes_as_at_fit(found.type, found.type_names, plan.get("nodes", {}).get("types", ()))
    return RareGraph(
        x=x,
        edge_index=edge_list.edge_index,
        y=labels.y,
        rare_class=1,
        edge_weight=edge_list.edge_weight,
        class_names=labels.class_names,
        node_ids=id_array(found.frame[found.id]),
        feature_names=feature_names(plan),
        original_y=labels.original_y if len(labels.values) > 2 else None,
        schema={**plan, "read": read},
        edges=edge_list.table,
        node_type=node_type,
        node_type_names=node_type_names,
        node_time=_node_time(found.frame, plan.get("nodes", {})),
    )


def _build_edges(
    nodes: NodeRows, rows: EdgeRows, plan: Mapping[str, Any], asked: Asked
) -> tuple[EdgeList, dict[str, dict[str, int]]]:
    edges = plan["edges"]
    codes, names = codes_as_at_fit(rows.type, rows.type_names, edges.get("types", ()))
    rows = replace(rows, type=codes, type_names=names)
    given = [table["name"] for table in rows.tables]
    lacking = [table["name"] for table in edges.get("tables", ()) if table["name"] not in given]
    columns, counts = apply_edge_columns(rows.frame, edges.get("columns", ()), lacking)
    warn_of_lacking(edges.get("cells", ()), rows.frame.columns)
    cells = read_edge_cells(rows.frame, edges.get("cells", ()))
    said = {"directed": asked.directed is not False, "drop_unknown": asked.drop_unknown}
    found = read_edges(nodes.frame[nodes.id], rows, columns, asked.names["weight"], nodes=nodes, cells=cells, **said)
    return found, counts


def _node_time(frame: pl.DataFrame, nodes: Mapping[str, Any]) -> np.ndarray | None:
    column = nodes.get("time")
    if column is None or column not in frame.columns:
        return None
    clock = nodes.get("clock", {})
    return to_seconds(frame[column], clock.get("text"), clock.get("unit", 1.0))
