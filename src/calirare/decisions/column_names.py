"""The names of columns, taken apart and said as one would say them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

from calirare.data.feature_places import HAS, says_how_made
from calirare.decisions.numbers import say_duration
from calirare.features.bursts import NEAREST
from calirare.features.clocks import HOUR, WEEKDAY
from calirare.features.edge_columns import OUTGOING_SHARE
from calirare.features.edges.again import AGAIN
from calirare.features.edges.alike import LATER
from calirare.features.edges.by_category import NEIGHBOURS_WITH
from calirare.features.edges.customs import CUSTOM, OF_END
from calirare.features.edges.directions import DIRECTIONS
from calirare.features.edges.meeting import APART, MEETING
from calirare.features.edges.node_numbers import End
from calirare.features.edges.pairs import EQUAL, UNLIKE
from calirare.features.edges.rhythm import CHANGE, WAIT
from calirare.features.edges.shared import FEW_WITH_SAME
from calirare.features.edges.trend import TREND
from calirare.features.edges.usual import AGAINST_USUAL
from calirare.features.edges.varied import NEW, VARIED
from calirare.features.edges.within import SAME_CATEGORY, SAME_EDGE
from calirare.features.round_numbers import ZEROS
from calirare.features.structure import CLUSTERING

_WAY = f"({'|'.join(DIRECTIONS)})"
SHARE_OF_EDGES = re.compile(f"^(.*), share of {_WAY}$")
OVER = re.compile(r"^(.*), (mean|spread) (over .*)$")
SHARE_OVER = re.compile(r"^(.* = .*|.* is missing), mean over (?!all)(.*)$")
_OF_TYPE = re.compile(f"^(.*(?: of|,) (?:{'|'.join(DIRECTIONS)}|all)|distinct neighbours) \\((.+)\\)$")
OF_NEIGHBOURS = ", of neighbours"
MISSING = " is missing"
IN_DAYS = " in days"
"""In what is said of columns that measure time."""


def _of(way: str, column: str) -> str:
    return column if way == DIRECTIONS[2] else f"{way} {column}"


def _edges(way: str) -> str:
    return _of(way, DIRECTIONS[2])


def _against_usual(column: str, statistic: str, way: str) -> str:
    beside = "{} against" if statistic == "mean" else "distance of {} from"
    return f"{beside.format(_of(way, column))} what is usual at the other end"


def _against_category(column: str, category: str, statistic: str, way: str) -> str:
    told = f"{_of(way, column)} {{}} what is usual with the same {category}"
    if statistic == "size":
        return f"distance of {told.format('from')}"
    return told.format("against") if statistic == "mean" else f"{statistic} {told.format('against')}"


def _custom(end: str | None, column: str, own: str, statistic: str, way: str) -> str:
    told = f"{column} at the other end of {_edges(way)}" if end else _of(way, column)
    return f"how usual {'the least usual ' if statistic == 'least' else ''}{told} is for own {own}"


def _within_edge(time: str, days: str, other: str, way: str) -> str:
    near = f"within {say_duration(float(days))} of" if float(days) else "at the same moment as"
    return f"share of {way} with {time} {near} {other}"


def _statistic(column: str, statistic: str, way: str) -> str:
    return f"{statistic} of {column} over all edges" if way == DIRECTIONS[2] else f"{statistic} of {way} {column}"


def _share(what: str, way: str) -> str:
    column, has, word = what.rpartition(HAS)
    return f"share of {way} with {f'{quoted(word)} in {column}' if has else what}"


def quoted(word: str) -> str:
    """A word as it stands in texts; what has blanks says how a text is made.

    >>> quoted("refund"), quoted("a link")
    ("'refund'", 'a link')
    """
    return word if says_how_made(word) else repr(word)


def _time_apart(time: str, unit: str | None, way: str) -> str:
    return f"time from {_of(way, time)} to the nearest of others at the other end{unit or ''}"


def _near_others(time: str, limit: str, unit: str | None, way: str) -> str:
    within = f"within {say_duration(float(limit)) if unit else limit} of" if float(limit) else "at the same moment as"
    return f"share of {way} {time} {within} others at the other end"


def _near_date(time: str, days: str, when: str, end: str, date: str, way: str) -> str:
    return f"share of {way} {time} at most {say_duration(float(days))} {when} {end} {date}"


_OF_OWN = {
    HOUR: "hour of {}",
    WEEKDAY: "day of the week of {}",
    ZEROS: "zeros at the end of {}",
    NEAREST: f"time from {{}} to the third nearest of other nodes{IN_DAYS}",
}
_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]\d+)?)"
_STATISTICS = "sum|mean|spread|relative spread|least|greatest|last|first|span|mean gap|least gap|unevenness of gaps"
_SAID: list[tuple[re.Pattern[str], Callable[..., str]]] = [
    (re.compile(f"^(.*){AGAINST_USUAL}(mean|size) of {_WAY}$"), _against_usual),
    (re.compile(f"^({OF_END})?(.*){CUSTOM}(.*), (mean|least) of {_WAY}$"), _custom),
    (re.compile(f"^(.*){SAME_CATEGORY}(.*), (mean|size|least|greatest) of {_WAY}$"), _against_category),
    (
        re.compile(f"^(.*) after (.*){SAME_EDGE}{IN_DAYS}, (mean|least|greatest) of {_WAY}$"),
        lambda time, other, statistic, way: f"{statistic} time from {other} to {_of(way, time)}{IN_DAYS}",
    ),
    (re.compile(f"^(.*) within {_NUMBER} days of (.*){SAME_EDGE}, share of {_WAY}$"), _within_edge),
    (re.compile(f"^(.* / .*){SAME_EDGE}, (mean|least|greatest) of {_WAY}$"), lambda *said: _statistic(*said)),
    (re.compile(f"^(.*){WAIT}$"), "wait from incoming to next outgoing {}".format),
    (re.compile(f"^(.*?)({IN_DAYS})?{APART}{_WAY}$"), _time_apart),
    (re.compile(f"^(.*) within {_NUMBER}( days)? of{MEETING}share of {_WAY}$"), _near_others),
    (re.compile(f"^(.*){CHANGE}$"), "change of {} from incoming to next outgoing".format),
    (
        re.compile(f"^(.*), (unevenness(?: of gaps)?){AGAIN}least of {_WAY}$"),
        lambda column, what, way: f"least {what} of {_of(way, column)} with the same neighbour",
    ),
    (
        re.compile(f"^(.*), different ones{VARIED}{_WAY}$"),
        lambda column, way: f"greatest number of different values of {_of(way, column)} with the same neighbour",
    ),
    (
        re.compile(f"^(.*){NEW}, share of {_WAY}$"),
        lambda column, way: f"share of further {_edges(way)} with the same neighbour that have a new {column}",
    ),
    (re.compile(f"^(.*){TREND}{_WAY}$"), lambda column, way: f"relative change of {_of(way, column)} over time"),
    (
        re.compile(f"^(.*) in days after ({'|'.join(get_args(End))}) (.*), mean of {_WAY}$"),
        lambda time, end, date, way: f"mean time from {end} {date} to {_of(way, time)}{IN_DAYS}",
    ),
    (
        re.compile(f"^(.*) at most {_NUMBER} days (before|after) ({'|'.join(get_args(End))}) (.*), share of {_WAY}$"),
        _near_date,
    ),
    *((re.compile(f"^(.*){what}$"), said.format) for what, said in _OF_OWN.items()),
    (re.compile("^(.*) after (.*), in days$"), f"time from {{1}} to {{0}}{IN_DAYS}".format),
    (
        re.compile(f"^{NEIGHBOURS_WITH}(.*), {_WAY}$"),
        lambda what, way: f"number of distinct {_of(way, 'neighbours')} with {what}",
    ),
    (
        re.compile(f"^distinct neighbours(?:, {_WAY})?$"),
        lambda way: f"number of distinct {_of(way or DIRECTIONS[2], 'neighbours')}",
    ),
    (
        re.compile(f"^(.*), different ones of {_WAY}$"),
        lambda column, way: f"number of different values of {_of(way, column)}",
    ),
    (re.compile(f"^(.*){EQUAL}{_WAY}$"), lambda column, way: f"share of pairs of {_edges(way)} with the same {column}"),
    (
        re.compile(f"^(.*){UNLIKE}{_WAY}$"),
        lambda column, way: f"share of pairs of {_edges(way)} with different {column}",
    ),
    (
        re.compile(f"^(.*){LATER}{_WAY}$"),
        lambda date, way: f"mean time by which own {date} is later than the other end's, {way}{IN_DAYS}",
    ),
    (
        re.compile(f"^{FEW_WITH_SAME}(.*), mean of {_WAY}$"),
        lambda column, way: f"mean {FEW_WITH_SAME}{_of(way, column)}",
    ),
    (re.compile(f"^(.*){OUTGOING_SHARE}$"), "outgoing share of all {}".format),
    (re.compile(f"^number of {_WAY}$"), lambda way: f"number of {_edges(way)}"),
    (re.compile(r"^share returned, (\w+)$"), "share of {} neighbours that point back".format),
    (re.compile(f"^(.*), ({_STATISTICS}) of {_WAY}$"), _statistic),
    (SHARE_OF_EDGES, _share),
    (re.compile(f"^{CLUSTERING}$"), lambda: "share of pairs of neighbours that are joined"),
]
"""Columns of edges, of dates and of the place in the graph, and what they are called; the first that fits."""


def say_column(name: str) -> str:
    """A column's name as one would say it.

    >>> say_column("amount, sum of incoming"), say_column("amount, sum of edges, mean over neighbours")
    ('sum of incoming amount', 'sum of amount over all edges (mean over neighbours)')
    >>> say_column("channel = cash, share of outgoing"), say_column("balance, of neighbours")
    ('share of outgoing with channel = cash', 'balance (mean over neighbours)')
    >>> say_column("country = SE, mean over incoming neighbours"), say_column("age is missing, of neighbours")
    ('share of incoming neighbours with country = SE', 'share of neighbours without age')
    >>> say_column("country = SE, mean over incoming neighbours by amount"), say_column("age, mean over neighbours two steps away by share")
    ('share of incoming neighbours by amount with country = SE', 'age (mean over neighbours two steps away by share)')
    >>> say_column("note has refund, mean over neighbours two steps away")
    'note has refund (among neighbours two steps away)'
    >>> say_column("price against the other end's usual, mean of outgoing")
    'outgoing price against what is usual at the other end'
    >>> say_column("price / kg against what is usual with the same ware, least of outgoing")
    'least outgoing price / kg against what is usual with the same ware'
    >>> say_column("drug as usual for own specialty, mean of outgoing")
    'how usual outgoing drug is for own specialty'
    >>> say_column("the other end's trade as usual for own trade, least of outgoing")
    'how usual the least usual trade at the other end of outgoing edges is for own trade'
    >>> say_column("installed after clicked of the same edge in days, least of outgoing")
    'least time from clicked to outgoing installed in days'
    >>> say_column("installed within 0.00014 days of clicked of the same edge, share of outgoing")
    'share of outgoing with installed within 12.1 seconds of clicked'
    >>> say_column("paid, unevenness of gaps with the same neighbour, least of outgoing")
    'least unevenness of gaps of outgoing paid with the same neighbour'
    >>> say_column("port, different ones with the same neighbour, greatest number of outgoing")
    'greatest number of different values of outgoing port with the same neighbour'
    >>> say_column("port new with the same neighbour, share of edges")
    'share of further edges with the same neighbour that have a new port'
    >>> say_column("time in days apart from others at the other end, outgoing")
    'time from outgoing time to the nearest of others at the other end in days'
    >>> say_column("posted within 0.000169 days of others at the other end, share of outgoing")
    'share of outgoing posted within 14.6 seconds of others at the other end'
    >>> say_column("paid in days after own opened, mean of outgoing"), say_column("claimed after began, in days")
    ('mean time from own opened to outgoing paid in days', 'time from began to claimed in days')
    >>> say_column("paid at most 0.25 days before the other end's due, share of outgoing")
    "share of outgoing paid at most 6 hours before the other end's due"
    >>> say_column("clustering"), say_column("clustering, mean over neighbours")
    ('share of pairs of neighbours that are joined', 'share of pairs of neighbours that are joined (mean over neighbours)')
    >>> say_column("distinct neighbours with drug = codeine, outgoing")
    'number of distinct outgoing neighbours with drug = codeine'
    >>> say_column("cell, different ones of edges"), say_column("cell, different ones of outgoing")
    ('number of different values of cell', 'number of different values of outgoing cell')
    >>> say_column("amount, sum of outgoing (wire), mean over neighbours"), say_column("distinct neighbours, incoming")
    ('sum of outgoing amount (wire, mean over neighbours)', 'number of distinct incoming neighbours')
    >>> say_column("opened, hour of the day"), say_column("income, zeros at its end, mean over neighbours")
    ('hour of opened', 'zeros at the end of income (mean over neighbours)')
    >>> say_column("opened, log days to the third nearest of other nodes")
    'time from opened to the third nearest of other nodes in days'
    >>> say_column("time in days, wait of incoming until outgoing"), say_column("time, unevenness of gaps of outgoing")
    ('wait from incoming to next outgoing time in days', 'unevenness of gaps of outgoing time')
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
    if (typed := _OF_TYPE.match(base)) is not None:
        base, tail = typed[1], f" ({typed[2]}{f', {tail[2:-1]}' if tail else ''})"
    said = (say(*found.groups()) for pattern, say in _SAID if (found := pattern.match(base)) is not None)
    return next(said, base) + tail


def attribute_of(name: str) -> tuple[str, str]:
    """The attribute that a column is made of, and its statistic over the neighbours; "" for the node's own.

    >>> attribute_of("age, spread over neighbours"), attribute_of("age, of neighbours"), attribute_of("age")
    (('age', 'spread'), ('age', ''), ('age', ''))
    """
    over = OVER.match(name)
    return (name.removesuffix(OF_NEIGHBOURS), "") if over is None else (over[1], over[2])


def in_full(name: str) -> str:
    return name.replace(OF_NEIGHBOURS, ", mean over neighbours")
