"""Choose which labels train, validate and test."""

from __future__ import annotations

import logging

import numpy as np

from calirare.data.arrays import UNKNOWN, as_array
from calirare.data.checks import check_count, is_number
from calirare.data.graph import RareGraph, require_graph
from calirare.data.split import Split
from calirare.errors import InputError, LabelError

logger = logging.getLogger(__name__)


def split_labels(
    graph: RareGraph,
    labels_per_class: int = 20,
    *,
    num_val: int = 500,
    num_test: int = 1000,
    seed: int = 0,
    train_fraction: float | None = None,
    val_fraction: float | None = None,
    test_fraction: float | None = None,
    by_time: np.ndarray | str | None = None,
) -> Split:
    """Disjoint train, validation and test nodes, the same ones for the same seed.

    Four ways, in this order:

    * With `by_time`: the earliest labels train, then come those that validate, the latest test, in the proportions of
      the fractions (0.7, 0 and the rest where none are given). Labels of the same moment stay together. To look ahead
      in no way, fit on `graph.as_of(moment)`.
    * With any `*_fraction`: every original class is cut in these proportions. `train_fraction` is needed,
      `val_fraction` defaults to 0 and `test_fraction` to what is left.
    * Where the graph came with a public split, that split. With 20 labels per class, 500 and 1000 it is returned as
      it is; further nodes are drawn from those without a role in it, and fewer are drawn from its own.
    * Else `labels_per_class` nodes of every original class at random, then `num_val` and `num_test` from the other
      labelled nodes, so that validation and test keep the natural shares of the classes.

    Only nodes with a known label are drawn.

    Args:
        graph: Classes are read from `graph.original_y` where it exists, else from `graph.y`.
        labels_per_class: Training nodes of every original class.
        num_val: Validation nodes.
        num_test: Test nodes.
        seed: Which nodes are drawn.
        train_fraction: Share of every class that trains.
        val_fraction: Share of every class that validates.
        test_fraction: Share of every class that tests.
        by_time: When each node came: `(N,)` numbers, or the name of a time of the nodes or of the edges (a node then
            comes with its first edge). Labels without a time are left out.

    Raises:
        LabelError: A class has too few labelled nodes, or too few are left for validation and test.

    >>> y = np.arange(60) % 3 == 0
    >>> graph = RareGraph(x=np.eye(60), edge_index=np.zeros((2, 0), dtype=int), y=y.astype(int))
    >>> split = split_labels(graph, labels_per_class=5, num_val=10, num_test=20)
    >>> split.train.size, split.val.size, split.test.size
    (10, 10, 20)
    """
    require_graph(graph)
    check_count(labels_per_class, "labels_per_class")
    for name, count in (("num_val", num_val), ("num_test", num_test), ("seed", seed)):
        check_count(count, name, least=0)
    if by_time is not None:
        default = 0.7 if (val_fraction, test_fraction) == (None, None) else None
        shares = _check_fractions(default if train_fraction is None else train_fraction, val_fraction, test_fraction)
        return _by_time(graph, _classes(graph), by_time, shares)
    rng = np.random.default_rng(seed)
    classes = _classes(graph)
    if not (train_fraction is None and val_fraction is None and test_fraction is None):
        return _by_fractions(graph, classes, rng, _check_fractions(train_fraction, val_fraction, test_fraction))
    public = graph.public_split or Split(train=np.empty(0, dtype=np.int64))
    return _by_counts(graph, classes, rng, public, labels_per_class, num_val, num_test)


def _classes(graph: RareGraph) -> np.ndarray:
    """Original classes of the nodes, UNKNOWN where the graph does not tell the label."""
    classes = graph.y if graph.original_y is None else np.asarray(graph.original_y)
    classes = np.where(graph.y == UNKNOWN, UNKNOWN, classes)
    if (classes != UNKNOWN).any():
        return classes
    raise LabelError("split_labels needs nodes with a known label; this graph has none.")


def _hint(public: Split) -> str:
    return " The split that the graph came with, as it is: graph.public_split." if public.train.size else ""


def _by_counts(
    graph: RareGraph,
    classes: np.ndarray,
    rng: np.random.Generator,
    public: Split,
    labels_per_class: int,
    num_val: int,
    num_test: int,
) -> Split:
    free = classes != UNKNOWN
    free[np.concatenate([public.train, public.val, public.test])] = False
    train = []
    for c in np.unique(classes[classes != UNKNOWN]):
        own, pool = public.train[classes[public.train] == c], np.flatnonzero(free & (classes == c))
        if labels_per_class > own.size + pool.size:
            raise LabelError(
                f"labels_per_class={labels_per_class} needs that many labelled nodes in every class; "
                f"class {_class_name(graph, int(c))} has {own.size + pool.size} to draw from. "
                f"Lower labels_per_class, or cut by shares with train_fraction.{_hint(public)}"
            )
        train.append(_draw(own, pool, labels_per_class, rng))
    nodes = np.sort(np.concatenate(train))
    free[nodes] = False
    roles = []
    for name, own, size in (("num_val", public.val, num_val), ("num_test", public.test, num_test)):
        pool = np.flatnonzero(free)
        if size > own.size + pool.size:
            raise LabelError(
                f"{name}={size} needs that many labelled nodes beside the others; {own.size + pool.size} are "
                f"left. Lower {name} or labels_per_class, or cut by shares with train_fraction.{_hint(public)}"
            )
        roles.append(_draw(own, pool, size, rng))
        free[roles[-1]] = False
    return Split(train=nodes, val=roles[0], test=roles[1])


def _draw(own: np.ndarray, pool: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """`size` nodes, sorted: all of `own` and some of `pool`, or some of `own` when it is larger."""
    if own.size > size:
        return np.sort(rng.choice(own, size=size, replace=False))
    return np.sort(np.concatenate([own, rng.choice(pool, size=size - own.size, replace=False)]))


def _by_fractions(
    graph: RareGraph, classes: np.ndarray, rng: np.random.Generator, fractions: tuple[float, float, float]
) -> Split:
    # Cutting at rounded running totals keeps every role within one node of its share.
    shares = np.cumsum(fractions)
    roles: list[list[np.ndarray]] = [[], [], []]
    for c in np.unique(classes[classes != UNKNOWN]):
        nodes = rng.permutation(np.flatnonzero(classes == c))
        ends = np.floor(shares * nodes.size + 0.5 + 1e-9).astype(np.int64)
        if ends[0] == 0:
            raise LabelError(
                f"train_fraction={fractions[0]:g} leaves no training node of class {_class_name(graph, int(c))}, "
                f"which has {nodes.size} labelled. Raise train_fraction."
            )
        for role, start, end in zip(roles, [0, *ends[:2]], ends, strict=True):
            role.append(nodes[start:end])
    train, val, test = (np.sort(np.concatenate(role)) for role in roles)
    return Split(train=train, val=val, test=test)


def _by_time(
    graph: RareGraph, classes: np.ndarray, by_time: np.ndarray | str, fractions: tuple[float, float, float]
) -> Split:
    when = graph.first_seen(by_time) if isinstance(by_time, str) else np.asarray(as_array(by_time, "by_time"))
    if when.shape != (graph.num_nodes,) or when.dtype.kind not in "biufM":
        raise InputError(
            f"by_time must hold one moment per node, shape ({graph.num_nodes},), or name a column of times."
        )
    if when.dtype.kind == "M":
        when = np.where(np.isnat(when), np.nan, when.astype("datetime64[us]").astype(np.float64))
    nodes = np.flatnonzero((classes != UNKNOWN) & ~np.isnan(when.astype(np.float64)))
    if not nodes.size:
        raise LabelError("by_time must know when some labelled nodes came; it knows of none.")
    if without := int((classes != UNKNOWN).sum()) - nodes.size:
        logger.warning("by_time: %d labelled nodes without a moment are left out of the split.", without)
    moments, group = np.unique(when[nodes], return_inverse=True)
    # A moment belongs to the role in which its middle label lies.
    counts = np.bincount(group)
    middle = (np.cumsum(counts) - counts / 2) / nodes.size
    shares = np.cumsum(fractions)
    role = np.searchsorted(shares, middle, side="left")[group]
    train, val, test = (nodes[role == k] for k in range(3))
    missing = sorted(set(np.unique(classes[nodes]).tolist()) - set(classes[train].tolist()))
    if missing:
        raise LabelError(
            f"the earliest {fractions[0]:.0%} of the labels hold none of class {_class_name(graph, missing[0])}. "
            "Raise train_fraction."
        )
    return Split(train=train, val=val, test=test)


def _class_name(graph: RareGraph, c: int) -> str:
    return str(c) if graph.original_y is not None else f"{c} ({graph.class_names[c]!r})"


def _check_fractions(train: float | None, val: float | None, test: float | None) -> tuple[float, float, float]:
    if train is None:
        raise InputError("train_fraction must be given together with val_fraction and test_fraction; got None.")
    for name, value in (("train_fraction", train), ("val_fraction", val), ("test_fraction", test)):
        if value is not None and not (is_number(value) and 0.0 <= value <= 1.0):
            raise InputError(f"{name} must lie between 0 and 1; got {value!r}.")
    val = 0.0 if val is None else val
    test = max(0.0, 1.0 - train - val) if test is None else test
    if train + val + test > 1.0 + 1e-9:
        raise InputError(f"The fractions must add up to at most 1; got {train:g} + {val:g} + {test:g}.")
    return train, val, test
