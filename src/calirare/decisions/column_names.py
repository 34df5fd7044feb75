"""The names of columns, taken apart and said as one would say them."""

from __future__ import annotations

import re

from calirare.data.tables.feature_places import HAS
from calirare.features.meeting import APART
from calirare.features.rhythm import CHANGE, WAIT
from calirare.features.usual import AGAINST_USUAL

_OF_EDGES = re.compile(
    r"^(.*), (sum|mean|spread|least|greatest|last|first|span|mean gap|least gap|unevenness of gaps) of (outgoing|incoming|edges)$"
)
_AGAINST_USUAL = re.compile(f"^(.*){AGAINST_USUAL}(mean|size) of (outgoing|incoming|edges)$")
SHARE_OF_EDGES = re.compile(r"^(.*), share of (outgoing|incoming|edges)$")
OVER = re.compile(r"^(.*), (mean|spread) (over .*)$")
SHARE_OVER = re.compile(r"^(.* = .*|.* is missing), mean over (?!all)(.*)$")
OF_NEIGHBOURS = ", of neighbours"
MISSING = " is missing"


def say_column(name: str) -> str:
    """A column's name as one would say it.

    >>> say_column("amount, sum of incoming"), say_column("amount, sum of edges, mean over neighbours")
    ('sum of incoming amount', 'sum of amount over all edges (mean over neighbours)')
    >>> say_column("channel = cash, share of outgoing"), say_column("balance, of neighbours")
    ('share of outgoing with channel = cash', 'balance (mean over neighbours)')
    >>> say_column("country = SE, mean over incoming neighbours"), say_column("age is missing, of neighbours")
    ('share of incoming neighbours with country = SE', 'share of neighbours without age')
    >>> say_column("note has refund, mean over neighbours two steps away")
    'note has refund (among neighbours two steps away)'
    >>> say_column("price against the other end's usual, mean of outgoing")
    'outgoing price against what is usual at the other end'
    >>> say_column("time in days apart from others at the other end, outgoing")
    'time from outgoing to the nearest of others at the other end, time in days'
    >>> say_column("time in days, wait of incoming until outgoing"), say_column("time, unevenness of gaps of outgoing")
    ('wait from incoming to next outgoing, time in days', 'unevenness of gaps of outgoing time')
    """
    name = in_full(name)
    if (found := SHARE_OVER.match(name)) is not None and not SHARE_OF_EDGES.match(found[1]):
        lacks = found[1].endswith(MISSING)  # a gap, or of a kind that has no such column
        return f"share of {found[2]} {f'without {found[1].removesuffix(MISSING)}' if lacks else f'with {found[1]}'}"
    over = OVER.match(name)
    base, tail = (name, "") if over is None else (over[1], f" ({over[2]} {over[3]})")
    is_word = HAS in base and not SHARE_OF_EDGES.match(base)
    if over is not None and is_word and over[2] == "mean":  # of a word there is no mean
        tail = f" ({over[3].replace('over', 'among', 1)})"
    if (found := _AGAINST_USUAL.match(base)) is not None:
        column, statistic, way = found.groups()
        numbers = column if way == "edges" else f"{way} {column}"
        beside = (f"{numbers} against", f"distance of {numbers} from")[statistic == "size"]
        base = f"{beside} what is usual at the other end"
    elif base.endswith(WAIT):
        base = f"wait from incoming to next outgoing, {base.removesuffix(WAIT)}"
    elif APART in base:
        column, _, way = base.partition(APART)
        base = f"time from {way} to the nearest of others at the other end, {column}"
    elif base.endswith(CHANGE):
        base = f"change of {base.removesuffix(CHANGE)} from incoming to next outgoing"
    elif (found := _OF_EDGES.match(base)) is not None:
        column, statistic, way = found.groups()
        base = f"{statistic} of {column} over all edges" if way == "edges" else f"{statistic} of {way} {column}"
    elif (found := SHARE_OF_EDGES.match(base)) is not None:
        column, has, word = found[1].rpartition(HAS)
        base = f"share of {found[2]} with {f'{word!r} in {column}' if has else found[1]}"
    return base + tail


def attribute_of(name: str) -> tuple[str, str]:
    """The attribute that a column is made of, and its statistic over the neighbours; "" for the node's own.

    >>> attribute_of("age, spread over neighbours"), attribute_of("age, of neighbours"), attribute_of("age")
    (('age', 'spread'), ('age', ''), ('age', ''))
    """
    over = OVER.match(name)
    return (name.removesuffix(OF_NEIGHBOURS), "") if over is None else (over[1], over[2])


def in_full(name: str) -> str:
    return name.replace(OF_NEIGHBOURS, ", mean over neighbours")
