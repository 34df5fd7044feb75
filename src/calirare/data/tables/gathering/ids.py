"""Ids: kept as they are written, matched between tables, and hints where they do not match."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any

import numpy as np

from calirare.data.tables.cells.text import WHOLE_WITH_POINT
from calirare.data.tables.gathering.rows import NodeRows
from calirare.data.tables.libraries import pl
from calirare.errors import InputError

MAX_ID_LENGTH = 1_000
"""Longest id, in characters: arrays of ids are as wide as the longest."""
_EXACT = 2.0**53
_SHORTENED = r"^\d([.,]\d+)?[eE]\+\d+$"
"""Matches 4.71E+03."""

_FIRST_OF_SEVERAL = r"^[\[({\s'\"]*([^;,|\s'\"]+)['\"]?\s*[;,|]"
"""Matches the a of a;b, of a, b and of ["a", "b"]."""


def check_ids(ids: pl.Series, nodes: pl.DataFrame | None = None) -> None:
    """Every node needs an id of its own; where there is none, `nodes`, their table, may have a column that would do."""
    if ids.dtype.is_nested():
        raise InputError(f"column {ids.name!r} must hold one id per node; it holds {ids.dtype}.")
    missing = ids.null_count() + (int(ids.is_nan().sum()) if ids.dtype.is_float() else 0)
    if missing:
        raise InputError(f"column {ids.name!r} must name every node; {missing} ids are missing.")
    if ids.dtype == pl.String:
        if ids.str.contains("\0", literal=True).any():
            raise InputError(f"column {ids.name!r} must hold readable ids; some hold a NUL character.")
        longest = int(ids.str.len_chars().to_numpy().max(initial=0))
        if longest > MAX_ID_LENGTH:
            raise InputError(
                f"column {ids.name!r} must hold ids of at most {MAX_ID_LENGTH:,} characters; one has {longest:,}. "
                "Is it the id column?"
            )
    if ids.dtype.is_float() and ids.len() and float(ids.abs().max()) >= _EXACT:  # type: ignore[arg-type]
        raise InputError(
            f"column {ids.name!r} holds ids as floating-point numbers beyond 2⁵³, which have lost digits. "
            "Read them as text."
        )
    repeated = ids.filter(ids.is_duplicated())
    if repeated.len():
        short = repeated.filter(repeated.str.contains(_SHORTENED)) if repeated.dtype == pl.String else repeated[:0]
        if 2 * short.len() > repeated.len():
            raise InputError(
                f"column {ids.name!r} holds ids as {short[0]!r}, which a spreadsheet has shortened: they have lost digits. Export them "
                "again, as text."
            )
        distinct = repeated.unique(maintain_order=True)
        more = "id appears" if distinct.len() == 1 else "ids appear"
        raise InputError(
            f"column {ids.name!r} must name every node once; {distinct.len():,} {more} more than once: "
            f"{_shown(distinct)}. Give one row per node; rows per event belong in the edges. If another column names the nodes, "
            f"say so ({_never_repeats(nodes if 2 * repeated.len() > ids.len() else None)})."
        )


def _never_repeats(nodes: pl.DataFrame | None) -> str:
    """The option that takes the first column that is filled and never repeats for the id.

    >>> import polars as pl
    >>> _never_repeats(pl.DataFrame({"client": ["a", "a"], "address": ["x", "y"]}))
    '--id address: it never repeats'
    """
    for name in () if nodes is None else nodes.columns:
        column = nodes[name]  # type: ignore[index]
        if not (
            column.dtype.is_nested() or column.dtype.is_float() or column.null_count() or column.is_duplicated().any()
        ):
            return f"--id {quote(name)}: it never repeats"
    return "--id"


def find_places(
    ids: pl.Series,
    source: pl.Series,
    target: pl.Series,
    *,
    drop_unknown: bool = False,
    nodes: NodeRows | None = None,
    called: Sequence[str] = (),
    other: str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Places in `ids` of both ends of every edge; with `drop_unknown` -1 where an end is no node.

    `nodes` are the tables of the ids, where another column may hold those that the edges name. `called` are the columns of
    both ends, where that is plain to say, and `other` is the one that seems to name another kind of node.

    Raises:
        InputError: An edge names a node that is not there.
    """
    key, *ends = same_type(ids, [source, target])
    places = pl.DataFrame({"id": key, "place": np.arange(ids.len())})
    found = [
        pl.DataFrame({"id": end}).join(places, on="id", how="left", maintain_order="left")["place"] for end in ends
    ]
    if any(place.null_count() for place in found):
        lost = pl.concat([end.filter(place.is_null()) for end, place in zip(ends, found, strict=True)])
        rows = int((found[0].is_null() | found[1].is_null()).sum())
        names = lost.unique(maintain_order=True)
        cause = why_lost(key, names)
        asked_for = drop_unknown and not (cause and 2 * rows > source.len())  # nobody means to lose most that way
    if any(place.null_count() for place in found) and not asked_for:
        if other is not None and not found[called.index(other)].null_count():
            other = None
        named = "a node that is" if names.len() == 1 else f"{names.len():,} nodes that are"
        raise InputError(
            f"edges must join nodes of the nodes table; {rows:,} of {source.len():,} rows name {named} not in {_id_columns(ids, nodes)}, first: {_shown(names)}. {_wrong_end(called, found)}"
            f"{nodes and other_column(nodes.frame, ids.name, names) or cause or _way_out(names, other)}"
        )
    start, end = (np.asarray(place.fill_null(-1).to_numpy(), dtype=np.int64) for place in found)
    return start, end


def _shown(names: pl.Series) -> list[Any]:
    """The first few, cut where they are long."""
    return [name[:60] + "…" if isinstance(name, str) and len(name) > 60 else name for name in names.head(5).to_list()]


def _wrong_end(called: Sequence[str], found: list[pl.Series]) -> str:
    """Which column holds no id of a node at all, where the other does; else empty."""
    none = [name for name, place in zip(called, found, strict=False) if place.null_count() == place.len()]
    if len(none) != 1:
        return ""
    return f"Column {none[0]!r} of the edges names none; if the ends are other columns, say so (--source, --target). "


def _way_out(lost: pl.Series, other: str | None) -> str:
    drop = "leave these rows out with drop_unknown_edges (--drop-unknown-edges)"
    if not lost.drop_nulls().len():
        return f"These ends are empty: {drop}."
    kinds = "" if other is None else f"If {other!r} names another kind of node, say bipartite (--bipartite). "
    return (
        f"{kinds}Keep these nodes as a kind of their own with keep_unknown_edges (--keep-unknown-edges); or {drop}, and lose "
        "what these edges say of their other end."
    )


def _id_columns(ids: pl.Series, nodes: NodeRows | None) -> str:
    names = list(dict.fromkeys(nodes.ids)) if nodes is not None else []
    return f"columns {names}" if len(names) > 1 else f"column {ids.name!r}"


def other_column(nodes: pl.DataFrame, own: str, lost: pl.Series) -> str:
    """The way out where another column of the nodes holds most of the lost ids, or most of it is lost; else empty.

    >>> import polars as pl
    >>> hosts = pl.DataFrame({"hostname": ["PC-1", "PC-2", None], "ip": ["10.0.0.1", "10.0.0.2", None]})
    >>> other_column(hosts, "hostname", pl.Series(["10.0.0.1", "10.0.0.2", "8.8.8.8", "1.1.1.1", "9.9.9.9"]))
    "Many of them are in column 'ip' (--id ip)."
    """
    lost = text_ids(lost.drop_nulls())
    wanted = lost.head(10_000)
    for name in nodes.columns:
        column = nodes[name].drop_nulls()
        if name == own or column.dtype.is_nested() or not column.len() or column.is_duplicated().any():
            continue
        there = text_ids(column)
        if any(2 * some.is_in(all_.implode()).sum() > some.len() for some, all_ in ((wanted, there), (there, lost))):
            who = "They" if wanted.is_in(there.implode()).all() else "Many of them"
            return f"{who} are in column {name!r} (--id {quote(name)})."
    return ""


def why_lost(ids: pl.Series, lost: pl.Series) -> str:
    """The likely cause, where most of the lost ids would be found if they were written as the others; else empty."""
    wanted, known = lost.cast(pl.String).drop_nulls().head(10_000), ids.cast(pl.String)
    if not wanted.len():
        return ""
    clean: dict[str, Callable[[Any], Any]] = {
        "one table writes its ids as decimals (7.0 for 7)": lambda text: text.str.replace(r"\.0+$", ""),
        "leading zeros were lost in one of the tables; keep ids as text": lambda text: text.str.replace(
            r"\.0+$", ""
        ).str.strip_chars_start("0"),
        "one table has spaces around its ids": lambda text: text.str.strip_chars(),
        "the tables differ in upper and lower case": lambda text: text.str.to_lowercase(),
    }
    for cause, same in clean.items():
        if 2 * same(wanted).is_in(same(known).to_list()).sum() > wanted.len():
            return f"It seems that {cause}."
    first = wanted.str.extract(_FIRST_OF_SEVERAL, 1)
    if 2 * first.is_in(known.to_list()).sum() > wanted.len():
        return f"It seems that cells name several nodes, such as {_shown(wanted)[0]!r}; write a row for each."
    return ""


def same_type(ids: pl.Series, ends: list[pl.Series]) -> list[pl.Series]:
    """All columns in one type: as they are if equal, whole numbers if all are, else text; 7.0 is 7."""
    ids, *ends = without_decimals([ids, *(end.alias("end") for end in ends)])
    if all(end.dtype == ids.dtype for end in ends) and not ids.dtype.is_float():
        return [ids, *ends]
    whole = [as_whole(column) for column in (ids, *ends)]
    numbers = [column for column in whole if column is not None]
    if len(numbers) == len(whole):
        return numbers
    return [text_ids(column) for column in (ids, *ends)]


def without_decimals(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Text columns in which every id ends in .0 as whole numbers again, and so columns of decimals that are whole numbers.

    Programs write whole numbers so beside gaps. Where every column is such a text, all stay as they are.

    >>> import polars as pl
    >>> columns = pl.Series(["7", "8"]), pl.Series(["8.0", None]), pl.Series([7.0, None])
    >>> [column.to_list() for column in without_decimals(columns)]
    [['7', '8'], ['8', None], [7, None]]
    """
    found = [_all_decimal(column) for column in columns]
    if all(found):
        return list(columns)
    return [
        column.str.replace(WHOLE_WITH_POINT, "$1") if one else _as_counts(column)
        for one, column in zip(found, columns, strict=True)
    ]


def _as_counts(column: pl.Series) -> pl.Series:
    whole = as_whole(column) if column.dtype.is_float() else None
    return column if whole is None else whole


def _all_decimal(column: pl.Series) -> bool:
    if column.dtype != pl.String:
        return False
    known = column.drop_nulls() if column.null_count() else column
    # Of most columns the first row settles it.
    return bool(known.len() and re.match(WHOLE_WITH_POINT, known[0]) and known.str.contains(WHOLE_WITH_POINT).all())


def as_whole(column: pl.Series) -> pl.Series | None:
    """The column as int64 if that loses nothing (a float column of whole numbers, say), else None."""
    if not column.dtype.is_numeric():
        return None
    if column.dtype.is_signed_integer() and column.dtype != pl.Int128:
        return column.cast(pl.Int64)
    if column.dtype.is_float():
        column = column.set(column.is_nan(), None)
    whole = column.cast(pl.Int64, strict=False)
    same = (whole.cast(column.dtype, strict=False) == column).fill_null(column.is_null())
    return whole if same.all() else None


def plain_ids(ids: pl.Series) -> pl.Series:
    """Ids as they are given back: whole numbers as numbers, all else as text."""
    whole = as_whole(ids)
    try:
        return ids.cast(pl.String) if whole is None else whole
    except pl.exceptions.PolarsError:
        raise InputError(
            f"column {ids.name!r} must hold ids as text or whole numbers; it holds {ids.dtype}. Write them as text."
        ) from None


def text_ids(ids: pl.Series) -> pl.Series:
    """Ids as text: 12.0, 12 and "12" are one."""
    return plain_ids(ids).cast(pl.String)


def id_array(ids: pl.Series) -> np.ndarray:
    """Ids as an array of int64 or of text."""
    plain = plain_ids(ids)
    if plain.dtype.is_numeric():
        return np.array(plain.to_numpy(), dtype=np.int64)
    return np.array(plain.to_list(), dtype=str)
