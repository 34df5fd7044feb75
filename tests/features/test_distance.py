"""How unlike its neighbours a node is agrees with loops, and finds nodes that stand among others of another kind."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from edge_cases import typed_graph
from sklearn.metrics import average_precision_score

import calirare as cr
from calirare.features.distance import distance_name
from calirare.features.recipe import ColumnRecipe
from calirare.features.relations import RELATIONS, Relation, relation_matrix


@pytest.mark.parametrize("relation", RELATIONS)
def test_distances_agree_with_loops(relation):
    graph = replace(typed_graph(num_edges=60), node_type=None, node_type_names=())
    _, columns = ColumnRecipe.learn_and_apply(graph)
    found = columns.values[:, columns.names.index(distance_name(relation))]
    spread, matrix = graph.x.std(axis=0), relation_matrix(graph, Relation(relation))
    ends = [matrix.indices[a:b] for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]
    means = [graph.x[mine].mean(axis=0) for mine in ends if mine.size]
    assert len(means) < graph.num_nodes, "some have no such neighbours: they are compared with the population's means"
    for node, mine in enumerate(ends):
        mean = graph.x[mine].mean(axis=0) if mine.size else np.mean(means, axis=0)
        apart = np.abs(graph.x[node] - mean) / spread
        assert found[node] == pytest.approx(np.sqrt(np.mean(np.minimum(apart, 8) ** 2)), rel=1e-4)


def test_words_have_no_distance():
    x = sp.random_array((200, 150), density=0.1, rng=np.random.default_rng(0), format="csr")
    graph = cr.RareGraph(x=x, edge_index=np.arange(200).reshape(2, 100), y=np.zeros(200, int))
    assert distance_name("neighbours") not in ColumnRecipe.learn(graph).names
    assert distance_name("neighbours") in ColumnRecipe.learn(replace(graph, x=x.toarray())).names


def test_an_attribute_may_be_called_like_a_distance():
    graph = replace(typed_graph(), feature_names=(distance_name("neighbours"), "age"))
    _, columns = ColumnRecipe.learn_and_apply(graph)
    assert columns.names.count(distance_name("neighbours")) == 1
    np.testing.assert_array_equal(columns.values[:, 0], graph.x[:, 0])


@pytest.mark.refits
def test_a_forest_finds_nodes_that_stand_among_others_of_another_kind():
    """Neither their own attributes nor their neighbours' are rare; only that the two do not fit is."""
    rng = np.random.default_rng(0)
    kind, y = rng.integers(0, 40, 2_000), (rng.random(2_000) < 0.08).astype(int)
    shown = kind.copy()
    shown[y == 1] = rng.permutation(kind[y == 1])
    x = 2 * rng.normal(size=(40, 6))[shown] + rng.normal(size=(2_000, 6))
    source = rng.integers(0, 2_000, 12_000)
    order, starts = np.argsort(kind, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(kind))])
    sizes = np.diff(starts)[kind[source]]
    target = order[starts[kind[source]] + (rng.random(source.size) * sizes).astype(int)]
    graph = cr.RareGraph(x=x, edge_index=np.stack([source, target]), y=y)
    labelled = rng.permutation(2_000)[:600]
    split = cr.Split(labelled, np.zeros(0, int), np.setdiff1d(np.arange(2_000), labelled))
    clf = cr.RareCategoryClassifier(cr.detectors.Forest(trees=100), device="cpu").fit(graph, split)
    found = average_precision_score(y[split.test], clf.predict_proba(graph)[split.test, 1])
    assert found > 0.7
