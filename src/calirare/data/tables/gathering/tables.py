"""Several tables as one: kinds of node, types of edge."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calirare.data.tables.cells.columns import to_categories
from calirare.data.tables.cells.kinds import MAX_CATEGORY_LENGTH
from calirare.data.tables.gathering.ids import without_decimals
from calirare.data.tables.gathering.naming import find_ends, find_id
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows, same_types
from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.addresses import table_name
from calirare.data.tables.sources.frames import pick_column, to_frame
from calirare.errors import InputError

logger = logging.getLogger(__name__)
MAX_TYPES = 50
MOST_COMPARED = 2_000_000
"""Rows of edges up to which copies among them are looked for."""


def named_tables(tables: Any, what: str) -> list[tuple[str, Any]]:
    """Tables with their names: one table, a mapping of tables by name, or a list of tables, files named by their stems.

    >>> [name for name, _ in named_tables({"pays": {"a": [1]}, "calls": {"a": [2]}}, "edges")]
    ['pays', 'calls']
    """
    if isinstance(tables, Mapping) and tables and all(_is_table(table) for table in tables.values()):
        return [(str(name), table) for name, table in tables.items()]
    if isinstance(tables, (list, tuple)) and tables and all(_is_table(table) for table in tables):
        names = [table_name(table) or f"{what} {place}" for place, table in enumerate(tables, start=1)]
        if len(set(names)) < len(names):
            names = [f"{name} {place}" for place, name in enumerate(names, start=1)]
        return list(zip(names, tables, strict=True))
    return [(what, tables)]


def frames_of(tables: Any, what: str) -> dict[str, pl.DataFrame]:
    """Tables as frames, by name."""
    return {name: to_frame(table, what) for name, table in named_tables(tables, what)}


def edges_or_none(edges: Any, schema: Mapping[str, Any] | None) -> Any:
    """The tables of edges; where there are none, one without rows.

    Raises:
        InputError: The model of the schema was fitted with edges.
    """
    if edges is not None:
        return edges
    if schema is None:
        return {"source": [], "target": []}
    if not without_edges(schema):
        raise InputError(f"edges must be given: the model was fitted with some. {if_nothing_joins(schema)}")
    return {schema["edges"][end]: [] for end in ("source", "target")}


def if_nothing_joins(schema: Mapping[str, Any] | None) -> str:
    """What to do with nodes that stand alone, at a fit and for a model of this schema."""
    if schema is None or without_edges(schema):
        return "Where nothing joins the nodes, give the nodes (--nodes) alone."
    return (
        "Where nothing joins the nodes, give edges of one line: "
        f"{schema['edges']['source']},{schema['edges']['target']}."
    )


def without_edges(schema: Mapping[str, Any]) -> bool:
    """Whether no table of edges was given at the fit; columns of the nodes may join them all the same."""
    read = (schema.get("read") or {}).get("edges", {})
    return bool(read.get("rows", 1) == read.get("same", 0))


def _is_table(table: Any) -> bool:
    if isinstance(table, (str, os.PathLike, Mapping)):
        return True
    return hasattr(table, "columns") or hasattr(table, "collect_schema")  # frames of polars, pandas, Arrow


def gather_nodes(
    nodes: Any, id: str | None, node_type: str | None, at_fit: Sequence[str] = (), edges: Sequence[str] = ()
) -> NodeRows:
    """All nodes, each table a kind of its own where there are several.

    `at_fit` are the kinds of the fit; tables are matched to them by name, else by place. `edges` are the columns of the edges,
    which may tell the id.
    """
    tables = list(frames_of(nodes, "nodes").items())
    if len(tables) == 1:
        frame = tables[0][1]
        found = NodeRows(frame, find_id(frame, id, edges=edges))
        return found if node_type is None else _typed_nodes(found, node_type)
    if node_type is not None:
        raise InputError("node_type must be left out where each nodes table is a kind of its own.")
    ids = [find_id(frame, id if id in frame.columns else None, edges=edges) for _, frame in tables]
    frames = [frame.rename({column: ids[0]}) for column, (_, frame) in zip(ids, tables, strict=True)]
    frames = same_types(frames)
    codes = np.repeat(np.arange(len(tables)), [frame.height for frame in frames])
    names = match_names([name for name, _ in tables], list(at_fit))
    return NodeRows(pl.concat(frames, how="diagonal"), ids[0], codes, tuple(names), tuple(ids))


def each_once(found: NodeRows) -> NodeRows:
    """Without the rows that say again, in every column, what one before them says: exports overlap.

    >>> import polars as pl
    >>> each_once(NodeRows(pl.DataFrame({"id": ["a", "b", "b", "c", "c"], "x": [1, 2, 2, 3, 4]}), "id")).frame["id"].to_list()
    ['a', 'b', 'c', 'c']
    """
    frame = found.frame
    if any(kind.is_nested() for kind in frame.dtypes) or not frame[found.id].is_duplicated().any():
        return found
    kind = pl.lit(0) if found.type is None else pl.Series(found.type)
    first = frame.select(pl.struct(*frame.columns, kind.alias("")).is_first_distinct()).to_series()
    if not first.all():
        logger.warning("nodes: %s rows repeat another in every column; each is read once.", f"{int((~first).sum()):,}")
    return replace(found, frame=frame.filter(first), type=None if found.type is None else found.type[first.to_numpy()])


def _typed_nodes(rows: NodeRows, column: str) -> NodeRows:
    pick_column(rows.frame.columns, column, "node_type", "nodes")
    codes, names = type_codes(rows.frame[column], "node_type")
    return NodeRows(rows.frame.drop(column), rows.id, codes, names)


def nodes_of_edges(edges: EdgeRows, id: str) -> NodeRows:
    """Every node that an edge names, in the order in which they appear."""
    ends = [edges.source.alias(id), edges.target.alias(id)]
    if ends[0].dtype != ends[1].dtype:
        ends = [end.cast(pl.String) for end in ends]
    # Row by row, source before target.
    both = pl.DataFrame({"source": ends[0], "target": ends[1]}).select(pl.concat_list("source", "target").explode())
    ids = both.to_series().drop_nulls().unique(maintain_order=True).alias(id)
    return NodeRows(pl.DataFrame([ids]), id)


def gather_edges(
    edges: Any,
    source: str | None,
    target: str | None,
    edge_type: str | None,
    at_fit: Sequence[Mapping[str, str]] = (),
    ids: pl.Series | None = None,
) -> EdgeRows:
    """All edges, each table a type of its own where there are several.

    `at_fit` names tables and ends as they were at fit; tables are matched to it by name, else by place. `ids` are those of
    the nodes that are known, by which ends are found that have no usual names.
    """
    tables = list(frames_of(edges, "edges").items())
    if len(tables) > 1 and edge_type is not None:
        raise InputError("edge_type must be left out where each edges table is a type of its own.")
    names = match_names([name for name, _ in tables], [table["name"] for table in at_fit])
    known = {table["name"]: table for table in at_fit}
    rest, ends, said = [], [], []
    for name, (_, frame) in zip(names, tables, strict=True):
        own = known.get(name, {})
        wanted = [
            given if given is not None and (len(tables) == 1 or given in frame.columns) else own.get(key)
            for key, given in (("source", source), ("target", target))
        ]
        one, other = find_ends(frame, wanted[0], wanted[1], ids)
        said.append({"name": name, "source": one, "target": other})
        ends.append(pl.DataFrame({"source": frame[one], "target": frame[other]}))
        rest.append(frame.drop(one, other))
    joined = pl.concat(same_types(_without_decimals(ends))) if len(ends) > 1 else ends[0]
    frame = rest[0] if len(rest) == 1 else pl.concat(same_types(rest), how="diagonal")
    codes: np.ndarray | None = None
    type_names: tuple[str, ...] = ()
    if len(tables) > 1:
        codes, type_names = np.repeat(np.arange(len(rest)), [end.height for end in ends]), tuple(names)
    elif edge_type is not None:
        pick_column(frame.columns, edge_type, "edge_type", "edges")
        codes, type_names = type_codes(frame[edge_type], "edge_type")
        frame = frame.drop(edge_type)
    return EdgeRows(frame, joined["source"], joined["target"], tuple(said), codes, type_names)


def _without_decimals(ends: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The ends of several tables, where some may be written 7.0 and others 7."""
    columns = iter(without_decimals([column for end in ends for column in end.iter_columns()]))
    return [pl.DataFrame({name: next(columns) for name in end.columns}) for end in ends]


def count_copies(rows: EdgeRows) -> int:
    """How many rows of the edges say again, in every column, what one before them says; 0 where there are too many to look.

    >>> import polars as pl
    >>> ends = pl.Series([1, 1, 1]), pl.Series([2, 2, 2])
    >>> count_copies(EdgeRows(pl.DataFrame({"when": ["noon", "noon", "night"]}), *ends, ()))
    1
    """
    if rows.frame.height > MOST_COMPARED or any(kind.is_nested() for kind in rows.frame.dtypes):
        return 0
    kind = pl.Series(np.zeros(rows.frame.height) if rows.type is None else rows.type)
    ends = pl.DataFrame([series.alias(f"end {place}") for place, series in enumerate((rows.source, rows.target, kind))])
    others = rows.frame.rename(dict(zip(rows.frame.columns, map(str, range(rows.frame.width)), strict=True)))
    return rows.source.len() - pl.concat([ends, others], how="horizontal").n_unique()


def match_names(names: list[str], at_fit: list[str]) -> list[str]:
    """Names of the fit for tables that are called otherwise now, where their number is the same."""
    return at_fit if len(names) == len(at_fit) and not set(names) & set(at_fit) else names


def type_codes(column: pl.Series, argument: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Codes and names of a column of types; missing ones are a type of their own."""
    text = to_categories(column).fill_null("unknown")
    names = sorted(text.unique().to_list())
    if len(names) > MAX_TYPES or max(map(len, names), default=0) > MAX_CATEGORY_LENGTH:
        raise InputError(
            f"{argument} must be a column of few kinds, at most {MAX_TYPES}; {column.name!r} holds {len(names)}."
        )
    codes = text.replace_strict(names, list(range(len(names))), return_dtype=pl.Int64)
    return np.array(codes.to_numpy(), dtype=np.int64), tuple(names)


def codes_as_at_fit(
    codes: np.ndarray | None, names: Sequence[str], at_fit: Sequence[str]
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Codes into the names of the fit, new names after them.

    >>> codes_as_at_fit(np.array([0, 1]), ["card", "app"], ["app", "cash"])
    (array([2, 0]), ('app', 'cash', 'card'))
    """
    if codes is None:
        return None, ()
    known = tuple(at_fit) + tuple(name for name in names if name not in at_fit)
    place = np.array([known.index(name) for name in names], dtype=np.int64)
    return place[codes], known
