"""Which parts of the edges tell nodes apart, without a label: those of which some nodes have a larger share than others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

_FEWEST = 0.005
"""Share of the edges that a part must have, and leave to others, before it is told apart."""
_SURELY = 3.5
"""Standard deviations of chance; dozens of parts are looked at."""
_ALIKE = 0.5
"""Parts whose edges are correlated by more say the same."""
_MOST = 6
"""Parts of one column."""
_SOME_EDGES = 100_000
"""By which it is seen, about: all of some nodes."""


def telling_parts(
    values: np.ndarray, ends: np.ndarray, parts: Sequence[str], is_in: Callable[[np.ndarray, str], np.ndarray]
) -> tuple[str, ...]:
    """Names of the parts in which nodes differ beyond chance, the surest first; of those that say the same, one.

    Args:
        values: `(E,)` what edges say, none missing.
        ends: `(2, E)` the nodes at either end, which are looked at apart.
        parts: Names.
        is_in: Of some values, which are in a part.

    >>> payer, values = np.repeat(np.arange(40), 6), np.arange(240)
    >>> parts = {"night": np.isin(payer, (3, 17, 30)), "day": ~np.isin(payer, (3, 17, 30)), "often": values % 3 == 0}
    >>> telling_parts(values, np.stack([payer, values % 7]), list(parts), lambda some, part: parts[part][some])
    ('night',)
    """
    by_end = [(values[some], end[some]) for end in ends for some in (of_some_nodes(end),)]
    found = []
    for part in parts:
        there = [is_in(mine, part) for mine, _ in by_end]
        if there[0].size and _FEWEST <= there[0].mean() <= 1 - _FEWEST:
            sure = max(_beyond_chance(one, end) for one, (_, end) in zip(there, by_end, strict=True))
            if sure > _SURELY:
                found.append((sure, part, there[0].astype(np.float64)))
    kept = list[tuple[str, np.ndarray]]()
    for _, part, mine in sorted(found, key=lambda one: -one[0]):
        if len(kept) < _MOST and all(abs(np.corrcoef(mine, other)[0, 1]) <= _ALIKE for _, other in kept):
            kept.append((part, mine))
    return tuple(part for part, _ in kept)


def of_some_nodes(node: np.ndarray, about: int = _SOME_EDGES) -> np.ndarray:
    """`(E,)` bool: all edges of some nodes at one end, about as many as it takes to see how nodes differ."""
    return np.asarray(node % (1 + node.size // about) == 0)


def _beyond_chance(there: np.ndarray, node: np.ndarray) -> float:
    """By how many standard deviations of chance the shares of nodes differ.

    Of a node with n edges of which k are in a part, k(k − 1)/n(n − 1) − 2pk/n + p² is its share less that of all, p, squared, but for
    chance, whose variance is 2p²(1 − p)²/n(n − 1).
    """
    count = np.bincount(node)
    several = count > 1
    k, n, p = np.bincount(node, weights=there)[several], count[several], float(there.mean()) if there.size else 0.0
    pairs = (n * (n - 1)).astype(np.float64)
    chance = p * (1 - p) * np.sqrt((2 / pairs).sum())
    return float((k * (k - 1) / pairs - 2 * p * k / n + p * p).sum() / chance) if chance > 0 else 0.0
