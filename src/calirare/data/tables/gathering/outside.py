"""Nodes that edges name and no table of nodes has, kept as a kind of their own: accounts at other banks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calirare.data.tables.gathering.apart import kind_name
from calirare.data.tables.gathering.ids import other_column, same_type, why_lost
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows
from calirare.data.tables.gathering.tables import nodes_of_edges
from calirare.data.tables.libraries import pl
from calirare.errors import InputError

OUTSIDE = "outside"
"""The name of that kind."""


def kinds_with_tables(at_fit: Mapping[str, Any]) -> list[str]:
    """The kinds of node that had a table each at the fit; empty where there was one table.

    Args:
        at_fit: What the schema says of nodes.

    >>> kinds_with_tables({"types": ["claims", "garages", "outside"]}), kinds_with_tables({"types": ["claims", "outside"]})
    (['claims', 'garages'], [])
    """
    if at_fit.get("type") is not None:  # a column of one table tells the kinds
        return []
    kinds = [kind for kind in at_fit.get("types", ()) if kind not in {OUTSIDE, *at_fit.get("apart", {}).values()}]
    return kinds if len(kinds) > 1 else []


def with_outside(found: NodeRows, rows: EdgeRows) -> NodeRows:
    """The nodes, and behind them those that only the edges name, in the order in which they appear.

    Raises:
        InputError: The ids of nodes and edges are written differently, or have nothing in common.

    >>> import polars as pl
    >>> tables = ({"name": "edges", "source": "from", "target": "to"},)
    >>> edges = EdgeRows(pl.DataFrame(), pl.Series(["a", "x"]), pl.Series(["y", "a"]), tables)
    >>> both = with_outside(NodeRows(pl.DataFrame({"account_id": ["a"], "age": [30]}), "account_id"), edges)
    >>> both.frame["account_id"].to_list(), both.type.tolist(), both.type_names
    (['a', 'y', 'x'], [0, 1, 1], ('account', 'outside'))
    """
    ids, source, target = same_type(found.frame[found.id], [rows.source, rows.target])
    _check_met(
        found, ids, pl.concat([source.alias("end"), target.alias("end")]).drop_nulls().unique(maintain_order=True)
    )
    found = replace(found, frame=found.frame.with_columns(ids.alias(found.id)))
    return add_outside(found, outside_of(ids, [replace(rows, source=source, target=target)]))


def _check_met(found: NodeRows, ids: pl.Series, named: pl.Series) -> None:
    """No kind of node whose id column no edge names, while another column of its table is what they name."""
    met, codes = ids.is_in(named.implode()).to_numpy(), _codes(found)
    for kind in np.unique(codes):
        if met[codes == kind].any():
            continue
        own = found.ids[kind] if found.ids else found.id
        cause = other_column(found.frame.filter(pl.Series(codes == kind)), found.id, named)
        if cause:
            raise InputError(
                f"edges must join nodes of the nodes table; no edge names one by its {own!r}, but as "
                f"{named.head(5).to_list()}. {cause}"
            )


def add_outside(found: NodeRows, ids: pl.Series) -> NodeRows:
    """The nodes, and behind them those of the kind outside."""
    inside = with_kind(found)
    added = nodes_outside(inside, ids)
    frame = pl.concat([inside.frame, added.frame], how="diagonal")
    codes = np.concatenate([_codes(inside), _codes(added)])
    return replace(inside, frame=frame, type=codes, described=inside.num_described)


def with_kind(found: NodeRows) -> NodeRows:
    """Nodes of the tables, with a kind where they have none, and the kind outside among its names."""
    names = found.type_names or (kind_name(found.id),)
    names = names if OUTSIDE in names else (*names, OUTSIDE)
    return replace(found, type=_codes(found), type_names=names)


def nodes_outside(inside: NodeRows, ids: pl.Series) -> NodeRows:
    """Nodes of the kind outside, beside those of `with_kind`."""
    codes = np.full(ids.len(), inside.type_names.index(OUTSIDE))
    return replace(inside, frame=ids.alias(inside.id).to_frame(), type=codes)


def _codes(found: NodeRows) -> np.ndarray:
    return np.zeros(found.frame.height, dtype=np.int64) if found.type is None else found.type


def outside_of(ids: pl.Series, batches: Iterable[EdgeRows]) -> pl.Series:
    """The ids that edges name beside these, each once, as they appear; batch after batch.

    Raises:
        InputError: The ids of nodes and edges are written differently, or have nothing in common.
    """
    known, found, met = ids.unique(), ids.clear(), False
    for rows in batches:
        known, source, target = same_type(known, [rows.source, rows.target])
        named = nodes_of_edges(replace(rows, source=source, target=target), "id").frame["id"]
        here = named.is_in(known.implode())
        met |= bool(here.any())
        found = pl.concat([found.cast(named.dtype), named.filter(~here)]).unique(maintain_order=True)
    cause = why_lost(ids, found)
    if found.len() and (cause or not met):
        raise InputError(
            f"edges must join nodes of the nodes table; {found.len():,} of the nodes that they name are not in column "
            f"{ids.name!r}, first: {found.head(5).to_list()}. {cause or 'None is: name other columns with --id, --source, --target.'}"
        )
    return found
