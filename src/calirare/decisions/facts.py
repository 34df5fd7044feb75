"""A column's value at a node, in the units of the user's table, beside what other nodes have: one clause of a reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import column_of
from calirare.data.feature_places import EQUALS, HAS
from calirare.data.graph import RareGraph
from calirare.data.tables.schema.node_columns import is_moment, truth_words
from calirare.decisions.column_names import (
    IN_DAYS,
    MISSING,
    OF_NEIGHBOURS,
    OVER,
    SHARE_OF_EDGES,
    SHARE_OVER,
    attribute_of,
    in_full,
    quoted,
    say_column,
)
from calirare.decisions.numbers import say_code, say_day, say_duration, say_number, say_share
from calirare.decisions.others import Others
from calirare.features.bursts import NEAREST
from calirare.features.columns import Columns
from calirare.features.edges.rhythm import CHANGE
from calirare.features.edges.usual import AGAINST_USUAL
from calirare.features.edges.within import SAME_CATEGORY
from calirare.features.own import LIKE
from calirare.features.relations import row_normalised
from calirare.features.structure import CLUSTERING, neighbours

_SAMPLE = 20_000
"""Nodes that a value is compared with; more of them change no digit that is said."""
_TIMES = 2.0
"""From this many times the median on, the ratio is told, for columns without negative values."""
_MIDDLE = 0.2
"""Share of the nodes around the median that count as usual."""
_FEWEST_DAYS = 10
"""Means of moments are told as days if they span more days than this."""
_MOMENT = re.compile(r" in days, (mean|first|last) of ")


class Facts:
    """Says what a column holds at a node.

    Args:
        graph: The graph, with its schema where it came from tables.
        columns: What the detectors read beside the attributes; None: attributes alone.
        others: The nodes that a value is compared with; default: those that are scored, of many some.
        means: What stands in `columns` where a node has no such edges or neighbours; None: nothing was filled.

    >>> graph = RareGraph(
    ...     x=np.array([[1.0], [2.0], [28.0]]), edge_index=np.array([[0, 1], [1, 2]]), y=np.array([0, 1, 0]),
    ...     feature_names=("balance",),
    ... )
    >>> Facts(graph).say("balance", 2), Facts(graph).say("balance, of neighbours", 0)
    ('balance is 28, 14 times the median (2)', 'balance (mean over neighbours) is 2, as at 67% of nodes (median 2)')
    """

    def __init__(
        self,
        graph: RareGraph,
        columns: Columns | None = None,
        others: np.ndarray | None = None,
        means: np.ndarray | None = None,
    ) -> None:
        self.graph, self._columns, self._means = graph, columns, means
        self._own = {name: k for k, name in enumerate(graph.attribute_names)}
        self._made = {} if columns is None else {name: k for k, name in enumerate(columns.names)}
        numeric = [one for one in graph.table_columns if one["type"] == "numeric"]
        self._units = {column["name"]: (float(column["scale"]), float(column["mean"])) for column in numeric}
        self._marks = {column["name"]: truth_words(column) for column in numeric}
        self._moments = {column["name"] for column in numeric if is_moment(column)}
        self._first_word = graph.num_features - graph.num_words
        self._words = set(graph.attribute_names[self._first_word :])
        self._sample = some_others(graph.scored) if others is None else others
        self._others: dict[str, Others | None] = {}
        self._around: dict[str, np.ndarray] = {}

    def say(self, name: str, node: int) -> str:
        """`amount is 5,120, 14 times the median (366)`; the column's name alone where its value is not known."""
        others, words = self._others_of(name), name if name in self._own else say_column(name)
        if others is None or not others.values.size:
            return words
        if not self._known(name, np.array([node]))[0]:
            return f"{words} is not known"
        value = float(self._values(name, np.array([node]))[0])
        if others.is_mark:
            return _say_mark(words, value > 0.5, others, self._marks.get(name))
        if _MOMENT.search(name):  # days since some moment mean nothing to anyone
            return f"{words.replace(IN_DAYS, '')} is {_than(others.below(value), 'later', 'earlier')}"
        if self._is_moment(name):
            than = _than(others.below(value), "later", "earlier")
            if OVER.match(in_full(name)) and np.ptp(others.values) > _FEWEST_DAYS:
                value = round(value)  # the hour of a mean over years says nothing
            # Of days, a median between two of them is the earlier one.
            median = float(np.floor(others.median + 1e-3)) if abs(value - round(value)) < 1e-3 else others.median
            return f"{words} is {say_day(value)}, {than} (median {say_day(median)})"
        if name.startswith(LIKE):
            return f"{words}{self._of_these(name, node)}: {others.rank(value)}"
        if AGAINST_USUAL in name or SAME_CATEGORY in name or name.endswith(CHANGE):  # on a scale of its own
            return f"{words}: {_than(others.below(value), 'higher', 'lower')}"
        if attribute_of(name)[0] in self._words:
            return f"{words}: {_than(others.below(value), 'more often', 'less often')}"
        rank, value, median = others.rank(value), others.snap(value), others.snap(others.median)
        near = self._share_of_marks(name)
        words = self._with_gaps(near or words, name)
        if near or (name not in self._own and _is_share(name)):
            said, usual = _told_apart(value, median, *(f"{{:.{digits}%}}".format for digits in range(4)))
            return f"{words} is {said}, {rank} (median {usual})"
        if NEAREST in name:  # a logarithm
            value, median = np.exp(value), np.exp(median)
        if self._is_duration(name):
            words = words.replace(IN_DAYS, "")
            ways = [partial(say_duration, digits=digits) for digits in range(3, 7)]
            said, usual = _told_apart(_rounded(value), _rounded(median), *ways)
        else:
            say = say_code if others.are_codes else say_number
            finer = (f"{{:,.{digits}g}}".format for digits in range(4, 7))
            said, usual = _told_apart(_rounded(value), _rounded(median), say, *finer)
        signed = others.values[0] < -others.noise and NEAREST not in name
        times = value / median if median > 0 and not signed else 0.0
        if times >= _TIMES:
            return f"{words} is {said}, {_times(times)} the median ({usual})"
        return f"{words} is {said}, {rank} (median {usual})"

    def _is_duration(self, name: str) -> bool:
        """Whether a column measures time in days: between edges or dates, or the spread of a date over neighbours."""
        attribute, _ = attribute_of(name)
        return attribute in self._moments if attribute in self._own else IN_DAYS in say_column(attribute)

    def _share_of_marks(self, name: str) -> str | None:
        """`share of neighbours with verified = yes` for a mean of what is 0 or 1; None for another column."""
        over = OVER.match(in_full(name))
        if over is None or over[2] != "mean" or over[1] not in self._marks:
            return None
        own = self._others_of(over[1])
        if own is None or not own.is_mark:
            return None
        return f"share of {over[3].removeprefix('over ')} with {over[1]} = {self._marks[over[1]][1]}"

    def _of_these(self, name: str, node: int) -> str:
        """Which of the words that name a direction stand in the node's own texts; nothing of its neighbours'."""
        if attribute_of(name)[0] != name:
            return ""
        said, here = name.removeprefix(LIKE).split(", "), np.array([node])
        own = [word for word in said if any(self._attribute(k, here)[0] > 0 for k in self._texts_with.get(word, ()))]
        return f" (it has {', '.join(own)})" if own else " (it has none of them)"

    @cached_property
    def _texts_with(self) -> dict[str, list[int]]:
        """For each word the attributes that say whether a text has it."""
        found: dict[str, list[int]] = {}
        for one in self._words:
            found.setdefault(one.rpartition(HAS)[2], []).append(self._own[one])
        return found

    def _with_gaps(self, words: str, name: str) -> str:
        """Also that gaps count as the median in what neighbours have, where some kind of node lacks it: a shop has no age."""
        over, lacking = OVER.match(in_full(name)), self.graph.schema_of("read").get("lacking", {})
        if over is None or over[1] not in lacking:
            return words
        return f"{words[:-1]}, gaps as the median)" if words.endswith(")") else f"{words} (gaps as the median)"

    def tells(self, name: str) -> bool:
        """Whether the column tells nodes apart, as far as is known."""
        others = self._others_of(name)
        return others is None or others.vary

    def is_value(self, name: str, node: int) -> bool:
        """Whether this is the value that the node has of a category, such as `country = XX`."""
        if name not in self._own or EQUALS not in name:
            return False
        return bool(self._values(name, np.array([node]))[0] > 0.5)

    def surprise(self, name: str, node: int) -> float:
        """0 for what is usual to 1 for what no other node has."""
        others = self._others_of(name)
        if others is None or not self._known(name, np.array([node]))[0]:
            return 0.0
        return abs(2 * others.below(float(self._values(name, np.array([node]))[0])) - 1)

    def is_usual(self, name: str, node: int) -> bool:
        """Whether the node lies in the middle of the others or has what most have, as far as is known."""
        others = self._others_of(name)
        if others is None:
            return False
        return self.surprise(name, node) < _MIDDLE or others.is_median(float(self._values(name, np.array([node]))[0]))

    @property
    def own(self) -> list[str]:
        """The attributes."""
        return list(self._own)

    def _others_of(self, name: str) -> Others | None:
        if name not in self._others:
            known = name in self._own or name in self._made or name.removesuffix(OF_NEIGHBOURS) in self._own
            some = self._sample[self._known(name, self._sample)] if known else self._sample
            values = np.sort(self._values(name, some)) if known else np.zeros(0)
            exact = np.round(values, 6)  # standardising and back costs a few bits
            is_mark = bool(values.size) and name in self._own and bool(np.isin(exact, (0.0, 1.0)).all())
            self._others[name] = Others(values, is_mark) if known else None
        return self._others[name]

    def _known(self, name: str, nodes: np.ndarray) -> np.ndarray:
        """`(n,)` bool: where the value was not filled in. A mean that float32 cannot hold is nobody's own value."""
        if (gap := self._own.get(name + MISSING)) is not None:
            return self._attribute(gap, nodes) <= 0
        if self._means is None or self._columns is None or name in self._own or name not in self._made:
            return np.ones(nodes.size, dtype=bool)
        k = self._made[name]
        fill = np.float32(self._means[k])
        return (self._columns.values[nodes, k] != fill) | (float(fill) == self._means[k])

    def _values(self, name: str, nodes: np.ndarray) -> np.ndarray:
        base = name.removesuffix(OF_NEIGHBOURS)
        if name in self._own:
            found = self._attribute(self._own[name], nodes)
        elif name in self._made:
            assert self._columns is not None
            found = self._columns.values[nodes, self._made[name]].astype(np.float64)
        else:
            if name not in self._around:
                every = self._attribute(self._own[base], np.arange(self.graph.num_nodes))
                self._around[name] = np.asarray(self._averages @ every)
            found = self._around[name][nodes]
        scale, mean = self._unit(name)
        return found * scale + mean

    def _attribute(self, k: int, nodes: np.ndarray) -> np.ndarray:
        values = column_of(self.graph.x[nodes], k)
        return values if k < self._first_word else (values > 0).astype(np.float64)  # a text has a word or not

    @cached_property
    def _averages(self) -> sp.csr_array:
        return row_normalised(neighbours(self.graph))

    def _is_moment(self, name: str) -> bool:
        base, statistic = attribute_of(name)
        return base in self._moments and statistic != "spread"

    def _unit(self, name: str) -> tuple[float, float]:
        """What gives the table's units back; a spread has no middle."""
        base, statistic = attribute_of(name)
        scale, mean = self._units.get(base, (1.0, 0.0))
        return scale, 0.0 if statistic == "spread" else mean


def _is_share(name: str) -> bool:
    return bool(name == CLUSTERING or SHARE_OF_EDGES.match(name) or SHARE_OVER.match(in_full(name)))


def some_others(alike: np.ndarray) -> np.ndarray:
    """The nodes that values are compared with, ascending: all that are alike, or a random sample of very many."""
    if alike.size <= _SAMPLE:
        return alike
    return np.sort(np.random.default_rng(0).choice(alike, _SAMPLE, replace=False))


def _say_mark(words: str, has_it: bool, others: Others, called: tuple[str, str] | None) -> str:
    share = float((others.values > 0.5).mean())
    if called is not None:
        return f"{words} is {called[has_it]}, as at {say_share(share if has_it else 1 - share)} of nodes"
    column, _, category = words.partition(EQUALS)
    if HAS in words and not category:
        column, word = words.rsplit(HAS, 1)
        return f"{column} {'has' if has_it else 'lacks'} {quoted(word)}, as at {say_share(share if has_it else 1 - share)} of nodes"
    if has_it:
        said = f"{column} is {category}" if category else words
        return f"{said}, as at {say_share(share)} of nodes"
    said = f"{column} is not {category}" if category else f"not: {words}"
    return f"{said}, as at {say_share(1 - share)} of nodes"


def _told_apart(value: float, median: float, *ways: Callable[[float], str]) -> tuple[str, str]:
    """Both in the first way of saying them in which they differ, if they do.

    >>> _told_apart(0.0241, 0.0204, "{:.0%}".format, "{:.1%}".format), _told_apart(2.0, 2.0, say_number)
    (('2.4%', '2.0%'), ('2', '2'))
    """
    said = [(say(value), say(median)) for say in ways]
    return next((pair for pair in said if pair[0] != pair[1]), said[0])


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 5 else f"{ratio:,.0f} times"


def _than(below: float, more: str, less: str) -> str:
    return (
        f"{more} than at {say_share(below)} of nodes"
        if below >= 0.5
        else f"{less} than at {say_share(1 - below)} of nodes"
    )


def _rounded(value: float) -> float:
    """Standardising and back costs a few bits of float32, which has no more than seven digits.

    >>> _rounded(142081.5043), _rounded(12.345678), _rounded(123456789.0)
    (142082.0, 12.346, 123460000.0)
    """
    whole = len(f"{abs(value):.0f}") if abs(value) < 1e7 else 0
    return float(f"{value:.{max(5, whole)}g}")
