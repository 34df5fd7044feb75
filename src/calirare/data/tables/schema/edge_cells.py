"""Whole cells of the edge table that come again at other nodes: an address from which several users log in, a text posted twice.

Of such a column it is asked whether others have the same value, whatever it says. So each cell is read as a number that
stands for its text: 52 bits of a hash, which a float64 holds. Two of ten million values share one with a chance of one in a
hundred. The schema keeps the names of the columns alone: users are counted in the tables at hand.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from calirare.data.cell_users import others_of
from calirare.data.tables.cells.columns import to_texts
from calirare.data.tables.cells.kinds import EMPTY, LEFT_OUT, Kind, is_of_people, named_as_id
from calirare.data.tables.gathering.rows import EdgeRows
from calirare.data.tables.gathering.same import STANDS_FOR_NOTHING
from calirare.data.tables.libraries import pl
from calirare.data.tables.schema.edge_columns import MAX_EDGE_CATEGORIES

logger = logging.getLogger(__name__)

_MORE_BITS = np.uint64(12)
"""Of 64, more than a float64 holds."""
_NODES = 1 << 31
"""Numbers for nodes where ids are not known yet; two users of one value hardly share one."""
_FEWEST, _MOST = 0.01, 0.99
"""Share of the edges with a value that other nodes have too."""


def learn_edge_cells(rows: EdgeRows, kinds: Mapping[str, Kind], *, directed: bool) -> list[str]:
    """Names of the columns with values of one node and values of several.

    Args:
        rows: Of all edge tables.
        kinds: What each column is, as its values or the user said.
        directed: Whether it is the source alone that uses a value.
    """
    source, target = (_hashed(end.cast(pl.String)) % _NODES for end in (rows.source, rows.target))
    names = [name for name, kind in kinds.items() if _may_be(rows.frame[name], kind)]
    return [name for name in names if _comes_again(rows.frame[name], source, target, directed)]


def _may_be(column: pl.Series, kind: Kind) -> bool:
    """Whether it is one of categories, texts or identifiers, and many."""
    plain = column.dtype == pl.String or column.dtype.is_numeric()
    left_out = kind.name == "ignore" and (kind.mendable or kind.reason in (EMPTY, LEFT_OUT))
    counts = kind.name == "time" or (kind.name == "number" and not (named_as_id(column.name) and _are_whole(column)))
    if not plain or left_out or counts or is_of_people(column.name):
        return False
    return column.n_unique() > MAX_EDGE_CATEGORIES  # fewer are categories, each with columns of its own


def _are_whole(column: pl.Series) -> bool:
    """Whether all numbers are whole; a column with gaps may come as floating point."""
    if column.dtype == pl.String:
        return column.str.strip_chars().str.contains(r"^\d+$").all(ignore_nulls=True)
    return column.dtype.is_integer() or bool((column.drop_nulls().drop_nans() % 1 == 0).all())


def _comes_again(column: pl.Series, source: np.ndarray, target: np.ndarray, directed: bool) -> bool:
    text = _known(column)
    cells = np.where(text.is_null().to_numpy(), np.nan, _hashed(text).astype(np.float64))
    others = others_of(cells, source, target, directed=directed)
    known = others[~np.isnan(others)]
    return bool(known.size) and _FEWEST <= float(np.mean(known > 0)) <= _MOST


def read_edge_cells(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, np.ndarray]:
    """`(E,)` by column: what stands for each cell; NaN where it is missing, or says nothing, and in a column that is not there.

    >>> import polars as pl
    >>> cells = read_edge_cells(pl.DataFrame({"ip": ["10.0.0.7", " 10.0.0.7", "10.0.0.9", "unknown"]}), ["ip", "device"])
    >>> cells["ip"][0] == cells["ip"][1] != cells["ip"][2], np.isnan(cells["ip"][3]), np.isnan(cells["device"]).all()
    (np.True_, np.True_, np.True_)
    """
    nothing = np.full(frame.height, np.nan)
    return {name: _numbers(frame[name]) if name in frame.columns else nothing for name in names}


def warn_of_lacking(names: Sequence[str], columns: Collection[str]) -> None:
    """Say which columns of the fit the edges lack."""
    if lacking := [name for name in names if name not in columns]:
        logger.warning(
            "columns %r of edges are missing: whether others have the same values is not known of these rows. Of nodes without "
            "any such value it is set to its mean at fit.",
            lacking,
        )


def _numbers(column: pl.Series) -> np.ndarray:
    """Of texts the same ever after, so that rows that come later can be compared with a stored graph."""
    text = _known(column)
    different = text.drop_nulls().unique()
    digests = b"".join([blake2b(one.encode(), digest_size=8).digest() for one in different.to_list()])
    numbers = (np.frombuffer(digests, dtype="<u8") >> _MORE_BITS).astype(np.float64)
    found = text.replace_strict(different, pl.Series(numbers), default=None, return_dtype=pl.Float64)
    return np.array(found.to_numpy(), dtype=np.float64)


def _hashed(text: pl.Series) -> np.ndarray:
    """Quicker, and the same within one run alone."""
    return (text.hash().to_numpy() >> _MORE_BITS).astype(np.int64)


def _known(column: pl.Series) -> pl.Series:
    """The cells as text, null where they say nothing."""
    text = to_texts(column)
    return text.set(text.str.to_lowercase().is_in(STANDS_FOR_NOTHING), None)
