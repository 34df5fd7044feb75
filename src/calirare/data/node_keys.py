"""A number for each node by which it is known again: that of its id, or of its place in the very same network.

Ids alone can mislead: two banks number their accounts alike. So a network is known again by some of its edges too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from calirare.data.graph import RareGraph


def keys_of_ids(ids: Iterable[Any]) -> np.ndarray:
    """`(n,)` int64 from ids; two of ten million ids share one with a chance of three in a million.

    >>> bool(keys_of_ids(["7", "A"])[0] == keys_of_ids(np.array([7]))[0]), keys_of_ids([]).shape
    (True, (0,))
    """
    listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return np.frombuffer(b"".join(_digest(str(one).encode()) for one in listed), dtype="<i8").astype(np.int64)


def node_keys(graph: RareGraph) -> np.ndarray:
    """`(N,)` int64 keys from the ids. Where nodes have no ids, or share one, from place and network: a place alone names nobody.

    >>> graph = RareGraph(x=np.eye(3), edge_index=np.array([[0], [1]]), y=np.array([0, 1, 0]))
    >>> other = RareGraph(x=np.eye(3), edge_index=np.array([[0], [2]]), y=np.array([0, 1, 0]))
    >>> bool((node_keys(graph) == node_keys(graph)).all()), bool((node_keys(graph) == node_keys(other)).any())
    (True, False)
    """
    if graph.node_ids is not None:
        keys = keys_of_ids(np.asarray(graph.node_ids))
        if np.unique(keys).size == keys.size:
            return keys
    network = np.ascontiguousarray(graph.edge_index, dtype="<i8")
    first = np.frombuffer(_digest(network), dtype="<i8").astype(np.int64)
    return first + np.arange(graph.num_nodes)  # past the largest number it goes on with the smallest


def keys_of_nodes(graph: RareGraph, nodes: np.ndarray) -> np.ndarray | None:
    """`(n,)` int64 of some nodes' ids; None where nodes have no ids.

    >>> graph = RareGraph(np.eye(2), np.array([[0], [1]]), np.array([0, 1]), node_ids=np.array(["a", "b"]))
    >>> bool((keys_of_nodes(graph, np.array([1, 0])) == node_keys(graph)[::-1]).all())
    True
    """
    return None if graph.node_ids is None else keys_of_ids(np.asarray(graph.node_ids)[nodes])


def places_of(keys: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(places in `among`, which ascends, `(n,)` bool who is there); the place of who is not means nothing.

    >>> places_of(np.array([5, 1, 9]), np.array([1, 5]))
    (array([1, 0, 1]), array([ True,  True, False]))
    """
    if not among.size:
        return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
    at = np.minimum(np.searchsorted(among, keys), among.size - 1)
    return at, among[at] == keys


def each_once(keys: np.ndarray) -> np.ndarray:
    """The keys without repeats, ascending: sorted, because NumPy's `unique` hashes, which takes longer.

    >>> each_once(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ascending = np.sort(keys)
    first = np.ones(len(ascending), dtype=bool)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]


def is_known_by(pairs: np.ndarray, keys: np.ndarray, joined: Callable[[int, int], bool]) -> bool:
    """Whether a network has at least half of some edges, of those whose ends it has; False where it has no such ends.

    Args:
        pairs: `(E, 2)` keys of both ends of some edges of the network that is looked for.
        keys: `(N,)` of the nodes of the one at hand.
        joined: Whether it joins the nodes at two places; asked in the order of the first.

    >>> is_known_by(np.array([[7, 8], [7, 9]]), np.array([8, 7]), lambda one, other: (one, other) == (1, 0))
    True
    """
    order = np.argsort(keys)
    at, there = places_of(pairs.ravel(), keys[order])
    ends = order[at].reshape(-1, 2)[there.reshape(-1, 2).all(axis=1)] if len(keys) else pairs[:0]
    return len(ends) > 0 and 2 * sum(joined(one, other) for one, other in sorted(ends.tolist())) >= len(ends)


def _digest(said: Any) -> bytes:
    return blake2b(said, digest_size=8).digest()
