"""Which parts of the edges tell nodes apart, without a label: those of which some nodes have a larger share than others."""

from __future__ import annotations

from collections.abc import Iterable

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

Part = tuple[str, np.ndarray]


def telling_parts(parts: Iterable[Part], ends: np.ndarray, most: int = _MOST) -> tuple[str, ...]:
    """Names of the parts in which nodes differ beyond chance, the surest first; of those that say the same, one.

    Args:
        parts: Names, and which edges are in each, `(E,)` bool.
        ends: `(2, E)` the nodes at either end, which are looked at apart.
        most: Names at most.

    >>> payer = np.repeat(np.arange(40), 6)
    >>> night, often = np.isin(payer, (3, 17, 30)), np.arange(240) % 3 == 0
    >>> telling_parts([("night", night), ("no night", ~night), ("often", often)], np.stack([payer, np.arange(240) % 7]))
    ('night',)
    """
    some = [_of_some_nodes(end) for end in ends]
    found = []
    for name, there in parts:
        if _FEWEST <= there.mean() <= 1 - _FEWEST:
            sure = max(_beyond_chance(there[chosen], end[chosen]) for chosen, end in zip(some, ends, strict=True))
            if sure > _SURELY:
                found.append((sure, name, there[:: 1 + there.size // _SOME_EDGES].astype(np.float64)))
    kept = list[tuple[str, np.ndarray]]()
    for _, name, there in sorted(found, key=lambda one: -one[0]):
        if len(kept) < most and all(abs(np.corrcoef(there, other)[0, 1]) <= _ALIKE for _, other in kept):
            kept.append((name, there))
    return tuple(name for name, _ in kept)


def _of_some_nodes(node: np.ndarray) -> np.ndarray:
    """`(E,)` bool."""
    return np.asarray(node % (1 + node.size // _SOME_EDGES) == 0)


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
