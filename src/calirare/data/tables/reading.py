"""Your own data: a table of nodes and a table of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.columns import import_polars
from calirare.data.tables.edges import as_whole, check_ids, read_edges
from calirare.data.tables.frames import pick_column, to_frame
from calirare.data.tables.labels import Labels, apply_labels, learn_labels, no_labels
from calirare.data.tables.preprocess import apply_columns, warn_of_unseen
from calirare.data.tables.schema import FORMAT, SPARSE_WIDTH, check_schema, feature_names, learn_columns
from calirare.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_ID_NAMES = ("id", "node_id", "node", "account_id", "account", "customer_id", "user_id", "name")
_END_NAMES = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("from_id", "to_id"), ("sender", "receiver"),
    ("payer", "payee"), ("source_id", "target_id"), ("node1", "node2"), ("id_1", "id_2"), ("u", "v"),
)  # fmt: skip


def read_tables(
    nodes: Any,
    edges: Any,
    *,
    label: str | None = None,
    rare: Any = None,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    types: Mapping[str, str] | None = None,
    schema: Mapping[str, Any] | None = None,
) -> RareGraph:
    """A graph from a table of nodes and a table of edges.

    Each table is a path (CSV, Parquet, Arrow), a polars, pandas or Arrow frame, or a dict of columns. Numbers are
    standardised, words become one column per category, gaps are imputed and marked. The direction of edges is dropped;
    repeated edges are merged and self-loops left out, both counted in `graph.schema["read"]`.

    Args:
        nodes: One row per node: an id, attributes, a label where known.
        edges: One row per edge: the ids of both ends, and more columns if you like.
        label: Label column; nulls mean unknown. With `schema` it may be left out, or be missing from the table.
        rare: The rare value of the label column. All other values together are the other class.
        id: Id column of the nodes; default: a usual name (id, node, account, …), else the first column.
        source: Column of one end of the edges; default: usual names (source, src, from, …), else the first column.
        target: Column of the other end; default: the usual partner, else the second column.
        weight: Column of edge weights; default: every edge weighs the same.
        types: `{"column": "numeric" | "categorical" | "ignore"}` where the guess is wrong; see `describe_schema`.
        schema: The schema of the graph that a model was fitted on. It is applied unchanged: same means, same
            categories, those never seen count as none of them.

    Raises:
        DataError: A file is missing, empty, truncated or not in its format.
        ColumnError: A column is missing; the message names the nearest ones.
        LabelError: No labels, a single class, or no node with the rare value.
        InputError: Duplicate ids, edges to unknown nodes, infinite values, no attributes.

    >>> nodes = {"id": ["a", "b", "c"], "age": [30, None, 50], "fraud": ["yes", "no", None]}
    >>> graph = read_tables(nodes, {"source": ["a", "b", "c"], "target": ["b", "a", "c"]}, label="fraud", rare="yes")
    >>> graph.y.tolist(), graph.num_edges, graph.feature_names
    ([1, 0, -1], 1, ('age', 'age is missing'))
    >>> graph.schema["read"]["edges"]
    {'rows': 3, 'edges': 1, 'duplicates': 1, 'self_loops': 1, 'zero_weights': 0}
    """
    pl = import_polars()
    names = {"id": id, "source": source, "target": target, "weight": weight, "label": label}
    try:
        return _read(to_frame(nodes, "nodes"), to_frame(edges, "edges"), names, rare, types, schema)
    except InputError as error:
        error.see(error.guide or "guides/tables.md")
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        # What is wrong in a usual way has its own message; this is for what nobody thought of.
        raise InputError(f"the tables hold values that cannot be understood: {error}") from error


def _read(
    node_frame: pl.DataFrame,
    edge_frame: pl.DataFrame,
    given: Mapping[str, str | None],
    rare: Any,
    types: Mapping[str, str] | None,
    schema: Mapping[str, Any] | None,
) -> RareGraph:
    if schema is not None:
        check_schema(schema)
        wanted = names_of(schema, given)
    else:
        if given["label"] is None:
            raise InputError("label must name the column of the nodes table that tells the rare nodes; got None.")
        wanted = dict(given)
    names = find_columns(node_frame, edge_frame, wanted, optional_label=given["label"] is None)
    if node_frame.height == 0:
        raise InputError("nodes must have at least one row; the table has none.")
    ids = node_frame[names["id"]]
    check_ids(ids)
    labels = _read_labels(node_frame, names["label"], rare, schema)
    plan = _learn(node_frame, names, labels, types) if schema is None else dict(schema)
    x, counts = apply_columns(node_frame, plan)
    warn_of_unseen(counts)
    edge_list = read_edges(ids, edge_frame, names["source"], names["target"], names["weight"])
    return RareGraph(
        x=x,
        edge_index=edge_list.edge_index,
        y=labels.y,
        rare_class=1,
        edge_weight=edge_list.edge_weight,
        class_names=labels.class_names,
        node_ids=_id_array(ids),
        feature_names=feature_names(plan),
        original_y=labels.original_y if len(labels.values) > 2 else None,
        schema={**plan, "read": {"edges": edge_list.counts, **counts}},
    )


def _learn(
    frame: pl.DataFrame, names: dict[str, Any], labels: Labels, types: Mapping[str, str] | None
) -> dict[str, Any]:
    columns = learn_columns(frame, {names["id"], names["label"]}, types)
    plan = {
        "format": FORMAT,
        "id": names["id"],
        "label": {"column": names["label"], "rare": labels.rare, "values": labels.values},
        "edges": {key: names[key] for key in ("source", "target", "weight")},
        "columns": columns,
    }
    return {**plan, "sparse": len(feature_names(plan)) > SPARSE_WIDTH}


def _read_labels(frame: pl.DataFrame, label: str | None, rare: Any, schema: Mapping[str, Any] | None) -> Labels:
    if schema is None:
        return learn_labels(frame[label], rare)  # type: ignore[index]
    if label is None or schema["label"] is None:
        return no_labels(frame.height, schema["label"])
    return apply_labels(frame[label], schema["label"])


def names_of(schema: Mapping[str, Any], given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Column names as given, else as at fit."""
    at_fit = {"id": schema["id"], **schema["edges"], "label": (schema["label"] or {}).get("column")}
    return {key: at_fit[key] if name is None else name for key, name in given.items()}


def find_columns(
    nodes: pl.DataFrame, edges: pl.DataFrame, names: dict[str, str | None], optional_label: bool
) -> dict[str, Any]:
    """The columns to read: those named, else guessed, or an error that names the nearest."""
    found: dict[str, Any] = dict(names)
    if names["label"] is not None:
        if optional_label and names["label"] not in nodes.columns:
            found["label"] = None
        else:
            pick_column(nodes, names["label"], "label", "nodes")
    found["id"] = _pick_or_guess(nodes, names["id"], "id", "nodes", _ID_NAMES, 0)
    if found["id"] == found["label"]:
        raise InputError(f"id and label must be different columns of the nodes table; both are {found['id']!r}.")
    if edges.width < 2:
        raise InputError(f"edges must have two columns with the ids of both ends; got {edges.columns}.")
    pair = next((pair for pair in _END_NAMES if set(pair) <= set(edges.columns)), (None, None))
    found["source"] = _pick_or_guess(edges, names["source"], "source", "edges", pair[:1], 0)
    found["target"] = _pick_or_guess(edges, names["target"], "target", "edges", pair[1:], 1)
    if found["source"] == found["target"]:
        raise InputError(
            f"source and target must be different columns of the edges table; both are {found['source']!r}."
        )
    if names["weight"] is not None:
        pick_column(edges, names["weight"], "weight", "edges")
    return found


def _pick_or_guess(
    frame: pl.DataFrame, wanted: str | None, argument: str, what: str, usual: Sequence[str | None], place: int
) -> str:
    if wanted is not None:
        return pick_column(frame, wanted, argument, what)
    return next((name for name in usual if name is not None and name in frame.columns), frame.columns[place])


def plain_ids(ids: pl.Series) -> pl.Series:
    """Ids as they are given back: whole numbers as numbers, all else as text."""
    whole = as_whole(ids)
    return ids.cast(import_polars().String) if whole is None else whole


def _id_array(ids: pl.Series) -> np.ndarray:
    plain = plain_ids(ids)
    if plain.dtype.is_numeric():
        return np.array(plain.to_numpy(), dtype=np.int64)
    return np.array(plain.to_list(), dtype=str)
