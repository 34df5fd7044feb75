"""Trees as arrays: equal to the library that grew them, and harmless whatever a file says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from calirare.detectors.trees.arrays import Trees, from_sklearn
from calirare.errors import ModelFormatError


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((200, 5)).astype(np.float32)


@pytest.fixture
def grown(rows: np.ndarray) -> list[Any]:
    y = (rows[:, 0] + rows[:, 1] ** 2 > 1).astype(int)
    return [
        make(min_samples_leaf=2, random_state=k).fit(rows, y)
        for k, make in enumerate([DecisionTreeClassifier, ExtraTreeClassifier, ExtraTreeClassifier])
    ]


@pytest.fixture
def trees(grown: list[Any]) -> Trees:
    return Trees.join([from_sklearn(model.tree_, model.tree_.value[:, 0], np.arange(5)) for model in grown], 5)


def test_says_what_the_library_says(
    rows: np.ndarray, grown: list[Any], trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calirare.detectors.trees.arrays._BLOCK", 64)
    new = np.random.default_rng(1).standard_normal((500, 5)).astype(np.float32)
    for some in (rows, new):
        wanted = sum(model.predict_proba(some) for model in grown)
        np.testing.assert_allclose(trees.total(some), wanted, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(
            trees.leaves(some) - trees.starts[:-1], np.stack([model.apply(some) for model in grown], axis=1)
        )


def test_on_a_threshold_goes_left(trees: Trees) -> None:
    inner = np.flatnonzero(trees.feature >= 0)
    rows = np.zeros((len(inner), 5), dtype=np.float32)
    rows[np.arange(len(inner)), trees.feature[inner]] = trees.threshold[inner].astype(np.float32)
    for tree in range(len(trees)):
        np.testing.assert_array_equal(trees._walk(rows, tree), trees.walk_slowly(rows, tree))


def test_slow_walk_is_the_same(rows: np.ndarray, trees: Trees) -> None:
    fast = trees.total(rows)
    trees.__dict__["_walkers"] = None
    np.testing.assert_array_equal(trees.total(rows), fast)


def test_paths_add_up(rows: np.ndarray, trees: Trees) -> None:
    base, shares = trees.path_shares(rows[:20])
    np.testing.assert_allclose(base + shares.sum(axis=1), trees.total(rows[:20]), atol=1e-12)


def test_path_shares_by_a_slow_loop(rows: np.ndarray, trees: Trees) -> None:
    wanted = np.zeros((5, 2))
    for tree in range(len(trees)):
        start, node = trees.starts[tree], 0
        while trees.feature[start + node] >= 0:
            column = trees.feature[start + node]
            left = rows[0, column] <= trees.threshold[start + node]
            child = (trees.left if left else trees.right)[start + node]
            wanted[column] += trees.value[start + child] - trees.value[start + node]
            node = child
    np.testing.assert_allclose(trees.path_shares(rows[1::-1])[1][1], wanted, atol=1e-12)


def test_stored_and_restored(rows: np.ndarray, trees: Trees) -> None:
    again = Trees.restore(trees.state())
    np.testing.assert_array_equal(again.total(rows), trees.total(rows))


def test_some_of_the_trees(rows: np.ndarray, grown: list[Any], trees: Trees) -> None:
    wanted = grown[0].predict_proba(rows) + grown[2].predict_proba(rows)
    np.testing.assert_allclose(trees.take(np.array([0, 2])).total(rows), wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left", 0, 0),  # a circle
        ("right", 0, 10**6),  # out of the tree
        ("left", 0, -7),
        ("right", 1, 1),
        ("feature", 0, 5),  # a column that is not there
        ("feature", 0, -2),
        ("threshold", 0, np.nan),
        ("value", 0, np.inf),
        ("starts", 1, 0),
        ("starts", -1, 3),
        ("starts", 0, 1),
        ("num_features", None, 1),
        ("num_features", None, "five"),
        ("left", None, np.zeros(3, dtype=np.int32)),
        ("value", None, [[1.0]]),
        ("feature", None, np.zeros(1)),
    ],
)
def test_refuses_what_cannot_be_walked(trees: Trees, name: str, place: int | None, value: Any) -> None:
    state = trees.state()
    if place is None:
        state[name] = value
    else:
        state[name] = state[name].copy()
        state[name][place] = value
    with pytest.raises(ModelFormatError, match="damaged"):
        Trees.restore(state)
