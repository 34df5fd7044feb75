"""The forest: out-of-bag votes against a slow loop, groups that never tell on each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of

from calirare.data.graph import RareGraph
from calirare.detectors.forest import Forest, Sort
from calirare.detectors.left_out.loss import loss_by_class
from calirare.detectors.trees.grove import bootstrap_counts
from calirare.detectors.trees.normal_scores import NormalScores
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


@pytest.mark.refits
@pytest.mark.parametrize("told_by", ["normal scores", "values"])
def test_thresholds_are_drawn_the_way_that_makes_left_out_labels_likelier(told_by: str) -> None:
    """The class is told by ranks in columns with heavy tails, or by how far out in the tail a node lies: never the other way."""
    found = set()
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((400, 4))
        far = np.exp((8 if told_by == "normal scores" else 2) * x)
        total = x[:, :2].sum(axis=1) if told_by == "normal scores" else far.sum(axis=1)
        y = (total > np.quantile(total, 0.9)).astype(int)
        graph = RareGraph(x=far, edge_index=np.zeros((2, 0), dtype=int), y=y)
        inputs, labels = inputs_of(graph), labels_of(graph, 200)
        forest = Forest(trees=99, jobs=1).fit(inputs, labels)
        grove, sorts = forest._of_best_sorts(NormalScores(inputs.columns.values[labels.nodes]), labels, 0)
        assert len(grove.trees) == 99
        found.add(tuple(dict.fromkeys(one.scale for one in sorts)))
    assert (told_by,) in found and found <= {(told_by,), ("values", "normal scores")}


def test_the_trees_that_are_kept_are_those_by_which_left_out_labels_are_likeliest() -> None:
    """Every mixture of scales and leaves, grown anew and judged one by one."""
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 80)
    table, forest = NormalScores(inputs.columns.values[labels.nodes]), Forest(trees=40, jobs=1).fit(inputs, labels)
    _, chosen = forest._of_best_sorts(table, labels, 0)
    every, sorts = np.arange(table.rows.shape[1]), [Sort(*one) for one in product(("values", "normal scores"), (1, 3))]
    groves = {one: forest._grow(table, every, labels, 10, [0, 4 + k], [one]) for k, one in enumerate(sorts)}
    losses = {}
    for scales, leaves in product(({"values", "normal scores"}, {"values"}, {"normal scores"}), ({1, 3}, {1}, {3})):
        some = [one for one in sorts if one.scale in scales and one.leaf in leaves]
        votes, level, count = (sum(getattr(groves[one], what) for one in some) for what in ("votes", "level", "count"))
        shares, level = votes / np.maximum(count, 1), level / np.maximum(count, 1)
        logits = forest._logits(shares) + forest._logits(level.mean(axis=0)) - forest._logits(level)
        losses[tuple(some)] = loss_by_class(logits, labels.y)
    assert tuple(chosen) == min(losses, key=losses.__getitem__)
    asked = Forest(trees=20, leaf=7, jobs=1).fit(inputs, labels)
    assert {one.leaf for one in asked._of_best_sorts(table, labels, 0)[1]} == {7}


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
