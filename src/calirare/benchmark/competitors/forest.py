"""scikit-learn's random forest."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from calirare.benchmark.competitors.tabular import tabular

logger = logging.getLogger(__name__)
_DEEPEST = np.iinfo(np.int32).max
_LEAF = 2
"""Labels that a leaf must hold at least."""


class PlainForest(ClassifierMixin, BaseEstimator):
    """`RandomForestClassifier` of two classes, tree for tree, by its own compiled parts.

    Without what it does in Python around every tree, much of the time where labels are few; it is fitted thousands of
    times. Its seconds on the leaderboard are therefore lower than those of scikit-learn as it comes.
    These parts are private: see `is_scikit_learns`.

    Args:
        trees: How many.
        random_state: Of the bootstrap and the columns looked at.
    """

    def __init__(self, trees: int = 200, random_state: int = 0) -> None:
        self.trees, self.random_state = trees, random_state

    def fit(self, x: np.ndarray, y: np.ndarray) -> Self:
        """From `(n, F)` columns and `(n,)` classes 0 and 1, both there."""
        rows, target = np.ascontiguousarray(x, dtype=np.float32), np.asarray(y, dtype=np.float64)[:, None]
        self.classes_, draw = np.array([0, 1]), np.random.RandomState(self.random_state)
        self.trees_ = [self._grow(rows, target, draw.randint(_DEEPEST)) for _ in range(self.trees)]
        return self

    def _grow(self, rows: np.ndarray, target: np.ndarray, seed: int) -> Any:
        from sklearn.tree._criterion import Gini
        from sklearn.tree._splitter import BestSplitter
        from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

        count, classes = len(rows), np.array([2], dtype=np.intp)
        drawn = np.bincount(np.random.RandomState(seed).randint(0, count, count), minlength=count).astype(np.float64)
        looked_at = max(1, int(np.sqrt(rows.shape[1])))
        splitter = BestSplitter(Gini(1, classes), looked_at, _LEAF, 0.0, np.random.RandomState(seed), None)
        tree = Tree(rows.shape[1], classes, 1)
        DepthFirstTreeBuilder(splitter, 2 * _LEAF, _LEAF, 0.0, _DEEPEST, 0.0).build(tree, rows, target, drawn)
        return tree

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """`(n, 2)`: the mean over the trees of the shares in the leaf."""
        rows = np.ascontiguousarray(x, dtype=np.float32)
        total = np.zeros((len(rows), 2))
        for tree in self.trees_:
            total += tree.predict(rows)
        return total / self.trees


@cache
def is_scikit_learns() -> bool:
    """Whether `PlainForest` grows the trees of the scikit-learn that is installed, tried on a few rows."""
    x = np.random.default_rng(0).random((60, 4))
    y = (x.sum(axis=1) > 2).astype(np.int64)
    why = "other probabilities"
    try:
        found = PlainForest(5).fit(x, y).predict_proba(x)
        same = np.array_equal(found, _as_it_comes(5, 0).fit(x, y).predict_proba(x))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        same, why = False, str(error)
    if not same:
        logger.warning("scikit-learn's trees have changed (%s); RandomForestClassifier is used, which is slower.", why)
    return same


def _as_it_comes(trees: int, seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(trees, min_samples_leaf=_LEAF, random_state=seed, n_jobs=1)


def make(seed: int) -> PlainForest | RandomForestClassifier:
    """Two hundred trees, leaves of two. Source: key `breiman2001`."""
    return PlainForest(random_state=seed) if is_scikit_learns() else _as_it_comes(200, seed)


COMPETITORS = tabular(
    "forest",
    make,
    "breiman2001",
    spelled=True,
    core=("propagated, raw", "propagated, sigmoid", "recipe, sigmoid"),
    slow=("attributes",),
)
