"""The forest: out-of-bag votes against a slow loop, groups that never tell on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of
from sklearn.metrics import roc_auc_score

from calirare.data.graph import RareGraph
from calirare.detectors import forest
from calirare.detectors.base import LabelledNodes
from calirare.detectors.forest import Forest, Sort
from calirare.detectors.trees.grove import bootstrap_counts
from calirare.errors import InputError, LabelError, NotFittedError


def test_out_of_bag_votes_by_a_slow_loop() -> None:
    graph = dense_graph(num_classes=3)
    inputs, labels = inputs_of(graph), labels_of(graph, 60)
    forest = Forest(trees=30, jobs=1).fit(inputs, labels)
    rows = inputs.columns.values[labels.nodes]
    votes = np.stack([forest.trees_.take(np.array([tree])).total(rows) for tree in range(len(forest.trees_))])
    level = np.stack([votes[tree, forest.out_of_bag_[tree]].mean(axis=0) for tree in range(len(forest.trees_))])
    levels = np.stack([level[forest.out_of_bag_[:, i]].mean(axis=0) for i in range(len(labels))])
    for i in range(len(labels)):
        own = votes[forest.out_of_bag_[:, i], i].mean(axis=0)
        wanted = forest._logits(own) - forest._logits(levels[i]) + forest._logits(levels.mean(axis=0))
        np.testing.assert_allclose(forest.left_out_logits()[i], wanted, atol=1e-10)


def test_without_a_label_is_what_the_label_is_told() -> None:
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 60)
    forest = Forest(trees=50, jobs=1).fit(inputs, labels)
    for rows, found in forest.logits_without(inputs, np.array([3, 40, 7])):
        own = found[labels.nodes[rows], np.arange(len(rows))]
        np.testing.assert_allclose(own, forest.left_out_logits()[rows], atol=1e-5)


def test_every_tree_sees_a_rare_label_and_every_group_is_out_of_some_bag() -> None:
    y = np.array([1, 1, 1] + [0] * 60)
    rng = np.random.default_rng(0)
    counts = bootstrap_counts(y, np.arange(63), 100, rng)
    assert (counts[:, :3].sum(axis=1) == 3).all() and (counts[:, 3:].sum(axis=1) == 60).all()
    assert (counts == 0).any(axis=0).all()
    assert (bootstrap_counts(np.array([1, 0, 0]), np.arange(3), 30, rng)[:, 0] == 0).sum() == 10


def test_a_tree_draws_a_label_where_every_class_has_one() -> None:
    counts = bootstrap_counts(np.array([1, 0]), np.arange(2), 30, np.random.default_rng(0))
    assert counts.any(axis=1).all() and (counts == 0).any(axis=0).all()
    graph = dense_graph()
    one_each = np.array([np.flatnonzero(graph.y == k)[0] for k in (0, 1)])
    labels = LabelledNodes(one_each, np.array([0, 1]), np.array([0.5, 0.5]), 2, np.arange(2))
    assert np.isfinite(Forest(trees=20, jobs=1).fit(inputs_of(graph), labels).left_out_logits()).all()


@pytest.mark.parametrize("width", [0, 1])
def test_hardly_any_column_and_no_edges(width: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, width))
    y = (x[:, 0] > 0.5 if width else rng.random(200) < 0.2).astype(np.int64)
    inputs = inputs_of(RareGraph(x=x, edge_index=np.zeros((2, 0), dtype=np.int64), y=y))
    found = Forest(trees=20, jobs=1).fit(inputs, labels_of(inputs.graph, 80)).logits(inputs)
    margin = found[:, 1] - found[:, 0]
    assert roc_auc_score(y, margin) > 0.99 if width else np.ptp(margin) == 0


def _asked(forest: Forest, tree: int, groups: tuple[str, ...]) -> set[str]:
    asked = forest.trees_.feature[forest.trees_.starts[tree] : forest.trees_.starts[tree + 1]]
    return {groups[column] for column in asked[asked >= 0]}


@pytest.mark.refits
@pytest.mark.parametrize("who", ["the node", "its neighbours"])
def test_trees_on_own_columns_stay_where_labels_are_likelier_with_them(who: str) -> None:
    rng = np.random.default_rng(0)
    edges, x = rng.integers(0, 400, (2, 1_600)), rng.standard_normal((400, 6))
    plain = RareGraph(x=x, edge_index=edges, y=np.zeros(400, dtype=int))
    total = x.sum(axis=1)  # one attribute alone, which every tree finds, would leave it to the draw
    told = total if who == "the node" else plain.adjacency() @ total / np.maximum(plain.degree, 1)
    graph = RareGraph(x=x, edge_index=edges, y=(told > np.quantile(told, 0.9)).astype(int))
    inputs, labels = inputs_of(graph), labels_of(graph, 150)
    forest, groups = Forest(trees=40, jobs=1).fit(inputs, labels), inputs.columns.groups
    own = [tree for tree in range(len(forest.trees_)) if "neighbours" not in _asked(forest, tree, groups)]
    assert len(own) >= 20 if who == "the node" else (len(own), len(forest.trees_)) == (0, 40)


@pytest.mark.parametrize(("told_by", "other"), [("normal scores", "values"), ("values", "normal scores")])
def test_a_class_that_ranks_or_a_tail_tell_is_found_better_than_by_the_other_trees_alone(
    told_by: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal((400, 4))
    far = np.exp((8 if told_by == "normal scores" else 2) * x)
    total = x[:, :2].sum(axis=1) if told_by == "normal scores" else far.sum(axis=1)
    y = (total > np.quantile(total, 0.9)).astype(int)
    graph = RareGraph(x=far, edge_index=np.zeros((2, 0), dtype=int), y=y)
    inputs, labels = inputs_of(graph), labels_of(graph, 200)

    def found() -> float:
        grown = Forest(trees=100, jobs=1).fit(inputs, labels)
        return float(roc_auc_score(labels.y, np.diff(grown.left_out_logits())[:, 0]))

    of_both = found()
    monkeypatch.setattr(forest, "_SCALES", (other,))
    assert of_both > found() + 0.01


def test_as_many_trees_are_grown_of_every_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, grown = dense_graph(), list[tuple[str, int, int]]()
    grow = Forest._grow_sort

    def watched(self: Forest, table: Any, columns: Any, labels: Any, sort: Sort, trees: int, seed: Any) -> Any:
        grown.append((*sort, trees))
        return grow(self, table, columns, labels, sort, trees, seed)

    monkeypatch.setattr(Forest, "_grow_sort", watched)
    monkeypatch.setattr(Forest, "_with_own", lambda self, grove, *_: grove)
    for leaf, trees, expected in (
        (None, 40, [("values", 1, 10), ("values", 3, 10), ("normal scores", 1, 10), ("normal scores", 3, 10)]),
        (7, 3, [("values", 7, 2), ("normal scores", 7, 1)]),
    ):
        grown.clear()
        forest = Forest(trees=trees, leaf=leaf, jobs=1).fit(inputs_of(graph), labels_of(graph, 80))
        assert grown == expected and len(forest.trees_) == trees


def test_the_column_that_tells_contributes_most() -> None:
    graph = dense_graph()
    inputs = inputs_of(graph)
    forest = Forest(trees=40, jobs=1).fit(inputs, labels_of(graph, 80))
    strongest = np.abs(np.sum([forest.contributions(inputs, node, 1).shares for node in range(20)], axis=0)).argmax()
    assert inputs.columns.names[strongest].startswith("attribute")


def test_refuses_what_makes_no_sense() -> None:
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 40)
    with pytest.raises(InputError, match="trees must be a whole number"):
        Forest(trees=0).fit(inputs, labels)
    with pytest.raises(LabelError, match="single class"):
        Forest().fit(inputs, labels.take(np.flatnonzero(labels.y == 0)))
    with pytest.raises(NotFittedError):
        Forest().logits(inputs)
    forest = Forest(trees=5, jobs=1).fit(inputs, labels)
    with pytest.raises(InputError, match="columns of the fit"):
        forest.logits(inputs_of(dense_graph(num_columns=6)))
