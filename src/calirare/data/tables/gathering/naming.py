"""Which column is which: ids, ends and labels by the names that people give them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from calirare.data.tables.cells.kinds import kind_of
from calirare.data.tables.gathering.ids import text_ids
from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.frames import pick_column
from calirare.errors import ColumnError, InputError

_ID_NAMES = (
    "id", "nodeid", "node", "accountid", "account", "customerid", "customer", "userid", "user", "clientid", "client",
)  # fmt: skip
_AN_ID = re.compile(r"(?i)[\W_](id|uuid|guid|no|nr|code|number)$|(?-i:[a-z](Id|ID|Nr|No)$)")
_END_NAMES = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("sender", "receiver"), ("payer", "payee"),
    ("orig", "dest"), ("origin", "destination"), ("orig", "bene"), ("originator", "beneficiary"),
    ("nameorig", "namedest"), ("rater", "rated"), ("rater", "ratee"), ("caller", "callee"), ("buyer", "seller"),
    ("follower", "followed"), ("follower", "followee"), ("debtor", "creditor"), ("giver", "taker"), ("left", "right"),
    ("user", "merchant"), ("customer", "merchant"), ("client", "merchant"), ("account", "merchant"), ("card", "merchant"),
    ("customer", "terminal"), ("user", "device"), ("account", "device"), ("user", "item"), ("user", "product"),
    ("reviewer", "product"), ("customer", "shop"), ("start", "end"), ("node1", "node2"), ("id1", "id2"), ("u", "v"), ("a", "b"),
)  # fmt: skip
MOST_KNOWN = 0.5
"""A column is an end if at least this share of its values are ids of nodes, or if it holds this share of ids that are words.
The other end may be a kind of its own if at least this share of one end is known."""
FEWEST_OF_A_KIND = 5
"""A column must hold this many different ids before it is taken for a kind of node unasked; fewer are categories."""
_AFFIXES = (
    "", "id", "nodeid", "node", "account", "accountid", "user", "userid", "customer", "acct", "acctid", "address", "addr",
    "wallet", "ip", "host", "iban", "number", "phone", "email",
)  # fmt: skip


def plain_name(name: str) -> str:
    """Lower case, letters and digits alone: `sourceNodeId`, `source_node_id` and `Source Node ID` are one name."""
    return re.sub(r"[\W_]+", "", name.lower())


def guess_id(columns: Sequence[str], edges: Sequence[str] = ()) -> str:
    """The id column by its usual names; else the first, unless it is not called an id and there is a name or a key.

    The first is one too if `edges`, the columns of the edges, have it and no name.

    >>> guess_id(["age", "account"]), guess_id(["company_id", "name"]), guess_id(["size", "name"])
    ('account', 'company_id', 'name')
    >>> guess_id(["ORCID", "name"], edges=["paper", "orcid"])
    'ORCID'
    """
    plain = {plain_name(name): name for name in reversed(columns)}
    names = tuple(name for name in ("name", "key") if name in plain)
    there = {plain_name(name) for name in edges}
    first = _AN_ID.search(columns[0]) or (plain_name(columns[0]) in there and there.isdisjoint(names))
    usual = _ID_NAMES if first else (*_ID_NAMES, *names)
    return next((plain[name] for name in usual if name in plain), columns[0])


def guess_ends(columns: Sequence[str]) -> tuple[str, str] | None:
    """Both ends by their usual names, None where there are none.

    >>> guess_ends(["time", "targetNodeId", "sourceNodeId"]), guess_ends(["from_account", "to_account", "x"])
    (('sourceNodeId', 'targetNodeId'), ('from_account', 'to_account'))
    """
    plain = {plain_name(name): name for name in reversed(columns)}
    for one, other in _END_NAMES:
        for affix in _AFFIXES:
            for first, second in ((one + affix, other + affix), (affix + one, affix + other)):
                if first in plain and second in plain:
                    return plain[first], plain[second]
    return None


def find_id(frame: pl.DataFrame, wanted: str | None, what: str = "nodes", edges: Sequence[str] = ()) -> str:
    """The id column: as named, else guessed; `edges` are the columns of the edges."""
    if wanted is None:
        return guess_id(frame.columns, edges)
    try:
        return pick_column(frame.columns, wanted, "id", what)
    except ColumnError as error:
        if wanted not in edges:
            raise
        raise ColumnError(f"{error} {_swapped(wanted)}") from None


def _swapped(wanted: str) -> str:
    return f"{wanted!r} is one of the edges. The table of nodes comes first."


def ends_by_ids(frame: pl.DataFrame, ids: pl.Series) -> tuple[str, str] | None:
    """The two columns that hold ids of nodes, in the order of the table; None where there are no two.

    Where more than two do (small ids look like many a number), those with the most different values; where one does, it
    and the first other column that names things which come up again. Few nodes may be known, as by a table of labels: then
    ids that are words are looked for in the columns.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"when": [7, 8], "Konto": ["a", "b"], "Gegenkonto": ["b", "c"]})
    >>> ends_by_ids(frame, pl.Series(["a", "b", "c"]))
    ('Konto', 'Gegenkonto')
    """
    known = text_ids(ids.drop_nulls())
    words = known.filter(known.str.contains(r"[^\d.,+-]"))
    found = {}
    for name in frame.columns:
        values = frame[name].drop_nulls()
        if values.dtype.is_nested() or values.dtype in (pl.Boolean, pl.Duration, pl.Binary):
            continue
        some = text_ids(values.unique())
        if _most_in(some, known) or _most_in(words, some):
            found[name] = some.len()
    best = sorted(found, key=lambda name: -found[name])[:2]
    if len(best) == 1:
        best += _other_end(frame, best[0])
    return None if len(best) < 2 else (min(best, key=frame.columns.index), max(best, key=frame.columns.index))


def _most_in(ids: pl.Series, others: pl.Series) -> bool:
    return ids.len() > 0 and bool(ids.is_in(others.implode()).mean() >= MOST_KNOWN)  # type: ignore[operator]


def _other_end(frame: pl.DataFrame, own: str) -> list[str]:
    """The first column that names things which come up again, so that they join nodes; none where there is no such.

    >>> import polars as pl
    >>> table = {"invoice": range(90), "vendor": ["a"] * 90, "currency": ["€", "$"] * 45, "office": list("uvwxyz") * 15}
    >>> _other_end(pl.DataFrame(table), "vendor")
    ['office']
    """
    others = (name for name in frame.columns if name != own)
    return list(islice((name for name in others if _joins(frame[name])), 1))


def _joins(column: pl.Series) -> bool:
    rows, distinct = column.len() - column.null_count(), column.n_unique()
    if not FEWEST_OF_A_KIND <= distinct <= 0.5 * rows or column.dtype.is_float() or column.dtype.is_nested():
        return False
    return kind_of(column, most_categories=rows).name == "category"


def find_ends(
    frame: pl.DataFrame, source: str | None, target: str | None, ids: pl.Series | None = None
) -> tuple[str, str]:
    """The columns of both ends: as named, else by usual names, else by the ids that they hold, else the first two."""
    if frame.width < 2:
        raise InputError(f"edges must have two columns with the ids of both ends; got {frame.columns}.")
    guess = guess_ends(frame.columns)
    if guess is None and (source is None or target is None) and ids is not None:
        guess = ends_by_ids(frame, ids)
    guess = guess or (frame.columns[0], frame.columns[1])
    ends = [
        guess[place] if name is None else pick_column(frame.columns, name, argument, "edges")
        for place, (name, argument) in enumerate(((source, "source"), (target, "target")))
    ]
    if ends[0] == ends[1]:
        raise InputError(
            f"source and target must be different columns of the edges table; both are {ends[0]!r}. "
            f"Name them with --source and --target; columns: {frame.columns[:12]}."
        )
    return ends[0], ends[1]


def other_kind(own: str, ends: Sequence[str]) -> str | None:
    """The end that is called as if it named nodes of another kind than the column `own` does; None where none is.

    >>> other_kind("movieId", ["userId", "movieId"]), other_kind("account", ["account", "other_account"])
    ('userId', None)
    """
    plain = plain_name(own)
    others, stem = [end for end in ends if plain_name(end) != plain], plain.removesuffix("id")
    return others[0] if len(others) == 1 and len(stem) > 2 and stem not in plain_name(others[0]) else None


def find_label(nodes: pl.DataFrame, wanted: str | None, optional: bool, edges: Sequence[str] = ()) -> str | None:
    """The label column; None where it is not there and need not be. `edges` are the columns of the other tables."""
    if wanted is None or (optional and wanted not in nodes.columns):
        return None
    try:
        return pick_column(nodes.columns, wanted, "label", "nodes")
    except ColumnError as error:
        if wanted in edges:
            raise ColumnError(f"label must be a column of the nodes table; {_swapped(wanted)}") from None
        raise ColumnError(f"{error} Labels in a table of their own: --labels.") from None
