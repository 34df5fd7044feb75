"""How unlike its neighbours a node is: one column for all its attributes together.

Trees ask one column at a time. That a node is not what its neighbours are takes questions about both for every attribute, none
of which tells anything alone, and a few dozen other columns hide them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from calirare.features.propagation import Aggregate
from calirare.features.relations import RELATIONS

_MOST = 8.0
"""In spreads: one attribute with a heavy tail does not say it all."""


def distance_name(relation: str) -> str:
    """
    >>> distance_name("incoming neighbours")
    'distance of attributes from those of incoming neighbours'
    """
    return f"distance of attributes from those of {relation}"


def attributes_and_means(
    places: Mapping[str, int], attributes: Iterable[str], count: int
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """(the name of a distance, where its attributes stand and their means over the neighbours): neighbours' columns come from `count` on."""
    names = list(attributes)
    for relation in RELATIONS:
        mean = Aggregate(relation, "", "mean", "own")
        told = [(places[name], places.get(mean.name(name), -1)) for name in names]
        pairs = [(own, theirs) for own, theirs in told if theirs >= count]
        if pairs:
            yield distance_name(relation), pairs


def spreads_of(values: np.ndarray, places: Iterable[int]) -> np.ndarray:
    """`(B,)`: of the columns at these places; 1 elsewhere."""
    found = np.ones(values.shape[1])
    for k in places:
        found[k] = np.std(values[:, k], dtype=np.float64) or 1.0
    return found


def distances(values: np.ndarray, pairs: Sequence[tuple[int, int]], spreads: np.ndarray) -> np.ndarray:
    """`(N,)` float32: the root of the mean square of what lies between attributes and means, in spreads.

    A node without neighbours has the population's means there.

    >>> values = np.array([[1.0, 2.0, 1.0, 2.0], [3.0, 2.0, 0.0, 1e9]])
    >>> distances(values, [(0, 2), (1, 3)], np.array([1.0, 2.0])).tolist()
    [0.0, 6.04...]
    """
    total = np.zeros(len(values))
    for own, theirs in pairs:
        apart = (values[:, own].astype(np.float64) - values[:, theirs]) / spreads[own]
        total += np.square(np.clip(apart, -_MOST, _MOST))
    return np.sqrt(total / len(pairs)).astype(np.float32)
