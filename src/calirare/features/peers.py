"""A node's own numbers beside those of its kind: what a doctor bills beside others with the same specialty.

No tree compares a number with what is usual in one of fifty categories. Told of a number and the category that tells
most of it, where that is a tenth of its variance or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.features.edges.node_categories import NodeCategory
from calirare.features.edges.node_numbers import NodeNumber

_FEWEST = 10
"""Nodes of a category from which it is known what is usual there."""
_FEWEST_CATEGORIES = 4
"""With so many nodes; of two or three a tree looks at each."""
_TELLS = 0.1
"""Share of the variance of a number that its category must take away."""
_TAIL = 0.01
"""Share of the numbers at either end that are drawn in where variances are compared."""
_SOME_NODES = 20_000
"""Of which it is seen which category tells most."""


@dataclass(frozen=True)
class Peers:
    """A number beside what is usual with the same category.

    Args:
        number: The attribute.
        category: Attributes that are a category.
        times: Whether the number is divided by what is usual, rather than that taken off.
        usual: The median number of each category; of all nodes where a category has few.
        elsewhere: The median of all nodes, for those without a category.
    """

    number: NodeNumber
    category: NodeCategory
    times: bool
    usual: tuple[float, ...]
    elsewhere: float

    @property
    def name(self) -> str:
        """Of the column."""
        beside = "divided by" if self.times else "less"
        return f"{self.number.name} {beside} what is usual with the same {self.category.name}"

    def values(self, x: Any) -> np.ndarray:
        """`(N,)` NaN where the number is missing.

        >>> pay, town = NodeNumber("pay", 0, -1, 0.0, 1.0), NodeCategory("town", 1, 2)
        >>> beside = Peers(pay, town, False, (10.0, 50.0), 20.0)
        >>> beside.name, beside.values(np.array([[12.0, 1.0, 0.0], [60.0, 0.0, 1.0], [21.0, 0.0, 0.0]])).tolist()
        ('pay less what is usual with the same town', [2.0, 10.0, 1.0])
        """
        number, code = self.number.values(x), self.category.values(x)
        places = np.where(np.isnan(code), len(self.usual), code).astype(np.int64)
        usual = np.array([*self.usual, self.elsewhere])[places]
        return number / usual if self.times else number - usual


def find_peers(numbers: Iterable[NodeNumber], categories: Sequence[NodeCategory], x: Any) -> tuple[Peers, ...]:
    """Of each number the category that tells most of it, if any tells enough."""
    codes = {category: category.values(x) for category in categories}
    best = [_best(number, number.values(x), codes) for number in numbers] if codes else []
    return tuple(one for one in best if one is not None)


def _best(number: NodeNumber, values: np.ndarray, codes: Mapping[NodeCategory, np.ndarray]) -> Peers | None:
    known = np.flatnonzero(~np.isnan(values))
    if not known.size:
        return None
    some = known[:: -(-known.size // _SOME_NODES)]
    forms = {False: np.clip(values[some], *np.quantile(values[some], (_TAIL, 1 - _TAIL)))}
    if (values[known] > 0).all():
        forms[True] = np.log(values[some])
    told = [
        (_told(form, code[some]), times, category) for times, form in forms.items() for category, code in codes.items()
    ]
    share, times, category = max(told, key=lambda one: one[0])
    if share < _TELLS:
        return None
    usual = _medians(values[known], codes[category][known], category.size)
    return Peers(number, category, times, *usual)


def _medians(values: np.ndarray, codes: np.ndarray, size: int) -> tuple[tuple[float, ...], float]:
    """(the median of each category, that of all, which stands for categories of few nodes as well).

    >>> _medians(np.arange(25.0), np.repeat([0.0, 1.0, np.nan], [12, 9, 4]), 2)
    ((5.5, 12.0), 12.0)
    """
    of_all = float(np.median(values))
    there = np.flatnonzero(~np.isnan(codes))
    there = there[np.argsort(codes[there], kind="stable")]
    ends = np.cumsum(np.bincount(codes[there].astype(np.int64), minlength=size))
    groups = np.split(values[there], ends[:-1])
    return tuple(float(np.median(group)) if group.size >= _FEWEST else of_all for group in groups), of_all


def _told(values: np.ndarray, codes: np.ndarray) -> float:
    """The share of the variance that categories of ten nodes or more take away, less what chance takes.

    >>> codes = np.repeat([0.0, 1.0, 2.0, 3.0], 20)
    >>> _told(np.tile([1.0, 3.0], 40) + 4 * codes, codes) > 0.9, _told(np.tile([1.0, 3.0], 40), codes)
    (True, 0.0)
    """
    there = ~np.isnan(codes)
    values, codes = values[there], codes[there].astype(np.int64)
    counts = np.bincount(codes)
    enough = counts[codes] >= _FEWEST
    values, codes = values[enough], codes[enough]
    count, groups = codes.size, int((counts >= _FEWEST).sum())
    if groups < _FEWEST_CATEGORIES or count <= groups or values.std() == 0:
        return 0.0
    means = np.bincount(codes, weights=values) / np.maximum(np.bincount(codes), 1)
    within = float(((values - means[codes]) ** 2).sum() / (count - groups))
    return max(0.0, 1 - within / float(values.var(ddof=1)))
