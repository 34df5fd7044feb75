"""Two kinds of node at the two ends of an edge: customers and merchants, whose ids may be the same.

An end is *apart* if its column names a kind of its own. Ids of that kind get the kind's name in front, `merchant 5`, in the
nodes and in the edges, so that customer 5 and merchant 5 stay two nodes. Which ends are apart is decided once, by

* the user (`bipartite`);
* a nodes table that has ids of one end, all of them or most, and none of the other's, which never stand at the first end:
  those are nodes that only the edges name;
* nodes tables of several kinds that share ids, where ends are called after their id columns (`to_user_id` after `user_id`);
* edges without a nodes table, of which no id stands at both ends;

and kept in the schema as `{"merchantid": "merchant"}`: the column's plain name, and the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from calirare.data.tables.gathering.ids import check_ids, same_type, text_ids, why_lost
from calirare.data.tables.gathering.naming import FEWEST_OF_A_KIND, MOST_KNOWN, plain_name
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows
from calirare.data.tables.gathering.tables import nodes_of_edges
from calirare.data.tables.libraries import pl
from calirare.errors import InputError

_FIRST = 1_000
Apart = dict[str, str]


def keep_apart(
    found: NodeRows | None,
    rows: EdgeRows,
    id: str,
    bipartite: bool | None,
    at_fit: Mapping[str, str] | None,
    same: Sequence[str] = (),
) -> tuple[NodeRows, EdgeRows, Apart]:
    """Nodes and edges with the ids of every kind apart, and which ends are.

    Args:
        found: The nodes; None: those that the edges name.
        rows: The edges.
        id: Name of the id column, where the nodes come from the edges.
        bipartite: True: the ends are of two kinds; None: where that is plain to see.
        at_fit: Which ends were apart at fit; None: nothing was fitted yet.
        same: Ends that are columns of the nodes (`calirare.data.tables.gathering.same`), and so are apart.
    """
    apart = dict(at_fit) if at_fit is not None else {} if bipartite is False else _decide(found, rows, bipartite)
    apart |= {plain_name(column): kind_name(column) for column in same}
    if not apart:
        return found or nodes_of_edges(rows, id), rows, {}
    ends = {end: _prefixed(rows, end, apart) for end in ("source", "target")}
    rows = replace(rows, source=ends["source"][0], target=ends["target"][0])
    if found is not None and len(found.ids) > 1:
        return _several(found, apart), rows, apart
    return _with_ends(found, rows, id, {end: kinds for end, (_, kinds) in ends.items()}, apart), rows, apart


def with_kinds(rows: EdgeRows, apart: Mapping[str, str]) -> EdgeRows:
    """Edges that join nodes which are known already: their ids as `keep_apart` wrote them."""
    if not apart:
        return rows
    return replace(rows, source=_prefixed(rows, "source", apart)[0], target=_prefixed(rows, "target", apart)[0])


def kind_name(column: str) -> str:
    """The kind that a column of ids names.

    >>> kind_name("merchant_id"), kind_name("userId"), kind_name("id")
    ('merchant', 'user', 'id')
    """
    return re.sub(r"(?i)[\s_]*(?<=.)ids?$", "", column) or column


def _decide(found: NodeRows | None, rows: EdgeRows, bipartite: bool | None) -> Apart:
    if found is not None and len(found.ids) > 1:
        return _by_tables(found, rows)
    if bipartite:
        own = "" if found is None else plain_name(found.id)
        apart = {}
        for table in rows.tables:
            other = table["source"] if plain_name(table["target"]) == own else table["target"]
            apart[plain_name(other)] = kind_name(other)
        return apart
    if found is None:
        others = [_never_both(rows)]
    else:
        others = [_not_in_the_table(found, rows, chosen, table) for chosen, table in _tables(rows)]
    return {plain_name(column): kind_name(column) for column in others if column is not None}


def _tables(rows: EdgeRows) -> Iterator[tuple[np.ndarray, Mapping[str, str]]]:
    """The rows of each table of edges, and what its ends are called."""
    for place, table in enumerate(rows.tables):
        if len(rows.tables) > 1 and rows.type is not None:
            yield np.asarray(rows.type == place), table
        else:
            yield np.ones(rows.source.len(), dtype=bool), table


def _never_both(rows: EdgeRows) -> str | None:
    """The target's column where no id stands at both ends of the edges."""
    if len(rows.tables) > 1:
        return None
    source, target = (end.drop_nulls().unique() for end in same_type(rows.source, [rows.target]))
    few = min(source.len(), target.len()) < FEWEST_OF_A_KIND
    return None if few or source.is_in(target.implode()).any() else rows.tables[0]["target"]


def _not_in_the_table(found: NodeRows, rows: EdgeRows, chosen: np.ndarray, table: Mapping[str, str]) -> str | None:
    """The column of the end whose ids are all missing from the nodes table, if most of the other end's are there, and no others at both."""
    mine = pl.Series(chosen)
    ids, source, target = same_type(found.frame[found.id], [rows.source.filter(mine), rows.target.filter(mine)])
    known = ids.implode()
    if all(end.head(_FIRST).is_in(known).any() for end in (source, target)):
        return None  # the usual case, without a look at every edge
    named = {"source": source.drop_nulls().unique(), "target": target.drop_nulls().unique()}
    if min(values.len() for values in named.values()) < FEWEST_OF_A_KIND:
        return None
    shares = {end: float(values.is_in(known).mean()) for end, values in named.items()}  # type: ignore[arg-type]
    for own, other in (("source", "target"), ("target", "source")):
        if shares[own] < MOST_KNOWN or shares[other] > 0 or why_lost(ids, named[other]):
            continue
        if shares[own] == 1 or not named[own].is_in(named[other].implode()).any():
            return table[other]
    return None


def _by_tables(found: NodeRows, rows: EdgeRows) -> Apart:
    """Kinds whose ids other kinds have too, by the names of their id columns."""
    ids = found.frame[found.id]
    if not ids.is_duplicated().any():
        return {}
    for place, name in enumerate(found.ids):
        check_ids(
            ids.filter(pl.Series(np.asarray(found.type) == place)).alias(name)
        )  # refuses what is there twice within a table
    names = [plain_name(name) for name in found.ids]
    ends = list(dict.fromkeys(table[end] for table in rows.tables for end in ("source", "target")))
    places = [_place_of(plain_name(end), names) for end in ends]
    if None in places or len(set(names)) < len(names):
        lost = [end for end, place in zip(ends, places, strict=True) if place is None] or ends
        raise InputError(
            f"nodes of several tables share ids, so the ends of the edges must say which kind they are of; {lost} do not: "
            f"rename them after the id columns {list(found.ids)} (from_{found.ids[0]}, say), or make the ids differ."
        )
    said = [*zip(map(plain_name, ends), places, strict=True), *zip(names, range(len(names)), strict=True)]
    return {name: found.type_names[place] for name, place in said if place}


def _place_of(end: str, names: Sequence[str]) -> int | None:
    """The id column that an end is called after: `touserid` after `userid`; None where it is none or several.

    >>> _place_of("touserid", ["userid", "deviceid"]), _place_of("target", ["userid", "deviceid"])
    (0, None)
    """
    if end in names:
        return names.index(end)
    found = [place for place, name in enumerate(names) if name and (end.endswith(name) or end.startswith(name))]
    return found[0] if len(found) == 1 else None


def _prefixed(rows: EdgeRows, end: str, apart: Mapping[str, str]) -> tuple[pl.Series, np.ndarray]:
    """The ids of one end as text, with the name of their kind where they are apart; and where that is."""
    series = rows.source if end == "source" else rows.target
    text, kinds = text_ids(series), np.full(series.len(), "", dtype=object)
    for chosen, table in _tables(rows):
        kind = apart.get(plain_name(table[end]))
        if kind is not None:
            kinds[chosen] = kind
            text = _with_kind(text, kind, chosen)
    return text.alias(end), kinds


def _with_kind(text: pl.Series, kind: str, chosen: np.ndarray) -> pl.Series:
    """The name of the kind in front of the ids that are chosen."""
    return pl.select(pl.lit(f"{kind} ") + text).to_series().zip_with(pl.Series(chosen), text)


def _several(found: NodeRows, apart: Mapping[str, str]) -> NodeRows:
    """Tables of several kinds, with the name of the kind in front of the ids that are apart."""
    assert found.type is not None
    text = text_ids(found.frame[found.id])
    for place, name in enumerate(found.ids):
        kind = apart.get(plain_name(name))
        if kind is not None:
            text = _with_kind(text, kind, found.type == place)
    return replace(found, frame=found.frame.with_columns(text.alias(found.id)))


def _with_ends(
    found: NodeRows | None, rows: EdgeRows, id: str, kinds: Mapping[str, np.ndarray], apart: Mapping[str, str]
) -> NodeRows:
    """The nodes, with those that only the edges name behind them, each of its kind."""
    own = kind_name(rows.tables[0]["source"] if found is None else found.id)
    if found is not None and found.type is not None:
        raise InputError("node_type and bipartite must not be given together: both tell kinds of node.")
    names = [own, *dict.fromkeys(kind for kind in apart.values())]
    if names[0] in names[1:]:
        names[0] = f"other than {names[0]}"
    ends = pl.concat(
        [
            pl.DataFrame({"id": end, "kind": [kind or names[0] for kind in kinds[name]]})
            for name, end in (("source", rows.source), ("target", rows.target))
        ]
    ).drop_nulls()
    column = id if found is None else found.id
    if found is not None:
        first = found.frame.with_columns(text_ids(found.frame[column]).alias(column))
        ends = ends.filter(pl.col("kind") != names[0])
    else:
        first = pl.DataFrame({column: pl.Series([], dtype=pl.String)})
    added = ends.unique("id", maintain_order=True)
    frame = pl.concat([first, added.select(pl.col("id").alias(column))], how="diagonal")
    codes = np.array([names.index(kind) for kind in added["kind"].to_list()], dtype=np.int64)
    kinds_of_all = np.concatenate([np.zeros(first.height, dtype=np.int64), codes])
    return NodeRows(frame, column, kinds_of_all, tuple(names), described=None if found is None else first.height)
