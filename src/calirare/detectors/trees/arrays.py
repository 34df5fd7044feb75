"""Decision trees as plain arrays: stored without pickle, checked before use, walked at the speed of C.

Both detectors that are made of trees store them this way, whichever library grew them. A value goes left where
`x <= threshold`, x being float32 and the threshold float64, as scikit-learn and LightGBM compare.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from calirare.data.threads import in_threads
from calirare.detectors.stored import need, numbers, whole
from calirare.features.ends import starts_of

logger = logging.getLogger(__name__)
LEAF = -1
_BLOCK = 2_048
"""Rows that pass through all trees before the next ones: few enough to stay in the cache."""
_FEW = 4
"""Rows up to which it is faster to walk all trees at once."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees one after the other; the nodes of a tree are numbered from its root, 0, and children follow parents.

    Args:
        starts: `(T + 1,)` where each tree's nodes begin, and the end.
        feature: `(M,)` the column asked, `LEAF` in a leaf.
        threshold: `(M,)`.
        left: `(M,)` the child where x <= threshold, within its tree; `LEAF` in a leaf.
        right: `(M,)` the other child.
        value: `(M, K)` what the tree says at each node, inner nodes included.
        num_features: Columns that a row must have.
    """

    starts: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    num_features: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def num_values(self) -> int:
        return int(self.value.shape[1])

    @classmethod
    def join(cls, trees: list[dict[str, np.ndarray]], num_features: int) -> Self:
        """From one dictionary of arrays per tree: feature, threshold, left, right, value."""
        starts = starts_of([len(tree["feature"]) for tree in trees])
        joined = {name: np.concatenate([tree[name] for tree in trees]) for name in _ARRAYS}
        return cls(
            starts,
            joined["feature"].astype(np.int32),
            joined["threshold"].astype(np.float64),
            joined["left"].astype(np.int32),
            joined["right"].astype(np.int32),
            joined["value"].astype(np.float64),
            num_features,
        )

    def take(self, trees: np.ndarray) -> Trees:
        """Some of the trees."""
        spans = [slice(self.starts[tree], self.starts[tree + 1]) for tree in trees]
        taken = [{name: getattr(self, name)[span] for name in _ARRAYS} for span in spans]
        return type(self).join(taken, self.num_features)

    def beside(self, other: Trees) -> Trees:
        """These trees, then others that read the same columns."""
        arrays: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ARRAYS}
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return replace(self, starts=starts, **arrays)

    @cached_property
    def _walkers(self) -> list[Any] | None:
        """Each tree as scikit-learn's, whose `apply` is compiled; None if that class is no longer what we know."""
        try:
            from sklearn.tree._tree import NODE_DTYPE, Tree

            return [self._walker(Tree, NODE_DTYPE, tree) for tree in range(len(self))]
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            logger.info("scikit-learn's compiled trees cannot be used (%s); walking slowly.", error)
            return None

    def _walker(self, make: Any, dtype: Any, tree: int) -> Any:
        at = slice(self.starts[tree], self.starts[tree + 1])
        nodes = np.zeros(int(self.starts[tree + 1] - self.starts[tree]), dtype=dtype)
        nodes["left_child"], nodes["right_child"] = self.left[at], self.right[at]
        nodes["feature"], nodes["threshold"] = self.feature[at], self.threshold[at]
        walker = make(self.num_features, np.array([1], dtype=np.intp), 1)
        values = np.zeros((len(nodes), 1, 1))
        walker.__setstate__({"max_depth": len(nodes), "node_count": len(nodes), "nodes": nodes, "values": values})
        return walker

    def leaves(self, rows: np.ndarray) -> np.ndarray:
        """`(N, T)` int32: the node, counted over all trees, at which each row ends."""
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        need(rows.ndim == 2 and rows.shape[1] == self.num_features, f"trees read {self.num_features} columns")
        found = np.empty((len(rows), len(self)), dtype=np.int32, order="F")
        for tree in range(len(self)):
            found[:, tree] = self._walk(rows, tree) + self.starts[tree]
        return found

    def _walk(self, rows: np.ndarray, tree: int) -> np.ndarray:
        if self._walkers is not None:
            return self._walkers[tree].apply(rows)
        return self.walk_slowly(rows, tree)

    def walk_slowly(self, rows: np.ndarray, tree: int) -> np.ndarray:
        """The leaf of each row within a tree, by NumPy alone."""
        start = self.starts[tree]
        at, moving = np.zeros(len(rows), dtype=np.int64), np.arange(len(rows))
        while moving.size:
            node = start + at[moving]
            inner = self.feature[node] != LEAF
            moving, node = moving[inner], node[inner]
            goes_left = rows[moving, self.feature[node]] <= self.threshold[node]
            at[moving] = np.where(goes_left, self.left[node], self.right[node])
        return at

    def total(self, rows: np.ndarray) -> np.ndarray:
        """`(N, K)`: the sum over the trees of what each says."""
        if len(rows) <= _FEW:
            return np.array([self._total_of(row) for row in rows]).reshape(-1, self.num_values)
        return np.concatenate(list(in_threads(partial(self._total_from, rows), range(0, len(rows), _BLOCK))))

    def _total_from(self, rows: np.ndarray, start: int) -> np.ndarray:
        """The rows of a block."""
        block = np.ascontiguousarray(rows[start : start + _BLOCK], dtype=np.float32)
        found = np.zeros((len(block), self.num_values))
        for tree, nodes in enumerate(map(slice, self.starts[:-1], self.starts[1:])):
            found += self.value[nodes].take(self._walk(block, tree), axis=0)
        return found

    def _total_of(self, row: np.ndarray) -> np.ndarray:
        """The total of one row, all trees at once: calls to NumPy grow with the depth, not with the number of trees."""
        row = np.asarray(row, dtype=np.float32)
        first = self.starts[:-1].astype(np.int64)
        node, moving = first.copy(), np.arange(len(first))
        while moving.size:
            at = node[moving]
            inner = self.feature[at] != LEAF
            moving, at = moving[inner], at[inner]
            child = np.where(row[self.feature[at]] <= self.threshold[at], self.left[at], self.right[at])
            node[moving] = first[moving] + child
        return np.cumsum(self.value[node], axis=0)[-1]  # tree by tree, as in a long table

    def path_shares(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`(K,)` what the roots say in sum, and `(n, D, K)` how each column changed it on the way down, for each of n rows.

        At each step the value changes from the parent's to the child's; that is the share of the column asked there.
        Roots and shares add up to `total`. All rows and trees go down together: a few dozen rows at a time are quickest.
        """
        rows = np.asarray(rows, dtype=np.float32)
        first = np.tile(self.starts[:-1].astype(np.int64), len(rows))
        row, node = np.repeat(np.arange(len(rows)), len(self)), first
        base, size = self.value[self.starts[:-1]].sum(axis=0), rows.size
        shares = np.zeros((size, self.num_values))
        while node.size:
            inner = self.feature[node] != LEAF
            row, node, first = row[inner], node[inner], first[inner]
            asked = row * self.num_features + self.feature[node]
            goes_left = rows.reshape(-1)[asked] <= self.threshold[node]
            child = first + np.where(goes_left, self.left[node], self.right[node])
            for column, change in zip(shares.T, (self.value[child] - self.value[node]).T, strict=True):
                column += np.bincount(asked, weights=change, minlength=size)
            node = child
        return base, shares.reshape(*rows.shape, self.num_values)

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("starts", *_ARRAYS)} | {"num_features": self.num_features}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """From what `state` gave. Every walk must end inside its tree, whatever the file says."""
        num_features = whole(state, "num_features", 1)
        value = numbers(state, "value", 2)
        size = len(value)
        starts = numbers(state, "starts", 1, kind="i")
        feature, left, right = (numbers(state, name, 1, size=size, kind="i") for name in ("feature", "left", "right"))
        threshold = numbers(state, "threshold", 1, size=size)
        need(len(starts) >= 2 and starts[0] == 0 and starts[-1] == size < 2**31, "where the trees start")
        need(bool((np.diff(starts) > 0).all()) and value.shape[1] >= 1, "a tree without nodes")
        inner, counts = feature != LEAF, np.diff(starts)
        need(bool(((feature >= LEAF) & (feature < num_features)).all()), "a tree asks for a column that is not there")
        place = np.arange(size) - np.repeat(starts[:-1], counts)
        for child in (left, right):
            inside = (child > place) & (child < np.repeat(counts, counts))
            need(bool(np.where(inner, inside, child == LEAF).all()), "a branch leads out of its tree")
        feature, left, right = (array.astype(np.int32) for array in (feature, left, right))
        return cls(starts, feature, threshold, left, right, value, num_features)


_ARRAYS = ("feature", "threshold", "left", "right", "value")


def from_sklearn(tree: Any, values: np.ndarray, columns: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a fitted `sklearn.tree._tree.Tree`, with `(M, K)` values of our own; `columns` are those that it read."""
    leaf = tree.children_left == -1
    return {
        "feature": np.where(leaf, LEAF, columns[np.where(leaf, 0, tree.feature)] if columns.size else LEAF),
        "threshold": np.where(leaf, 0.0, tree.threshold),
        "left": np.where(leaf, LEAF, tree.children_left),
        "right": np.where(leaf, LEAF, tree.children_right),
        "value": values,
    }
