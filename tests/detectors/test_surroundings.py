"""Attributes spread along edges, against matrix powers, scikit-learn's regression and refits of the folds."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import calirare as cr
from calirare.detectors import Spreading, Stack, Surroundings
from calirare.detectors.base import DetectorInputs, LabelledNodes, gather_blocks
from calirare.detectors.regression.squash import Squash
from calirare.errors import InputError, LabelError
from calirare.metrics import average_precision


def labels_at(nodes, y, num_classes=2):
    n = len(nodes)
    return LabelledNodes(nodes, y, np.full(n, 1 / n), num_classes, np.arange(n))


def two_halves(seed=0, num_nodes=120, noise=3.0):
    """Two halves that hold together, whose attributes tell little of a single node; the last six nodes have no edges."""
    rng = np.random.default_rng(seed)
    y = np.arange(num_nodes) % 2
    pairs = rng.integers(0, num_nodes - 6, (2, 6 * num_nodes))
    alike = (y[pairs[0]] == y[pairs[1]]) | (rng.random(pairs.shape[1]) < 0.1)
    x = rng.normal(size=(num_nodes, 3))
    x[:, 0] += y / noise
    return cr.RareGraph(x=x, edge_index=pairs[:, alike], y=y.astype(np.int64), node_ids=np.arange(num_nodes))


@pytest.fixture(scope="module")
def graph():
    return two_halves()


@pytest.fixture(scope="module")
def labels(graph):
    nodes = np.sort(np.random.default_rng(1).permutation(120)[:50])
    return labels_at(nodes, graph.y[nodes])


def by_powers(graph, alpha=0.95, steps=24):
    """t, as the module has it, with dense matrices: centred, and rows of length one on average."""
    A = graph.adjacency().toarray()
    joined = A.sum(axis=1) > 0
    P = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    Z = Squash.learn(graph.x, 0)(graph.x)
    t = sum(alpha**s * np.linalg.matrix_power(P, s + 1) @ Z for s in range(steps))
    t = t - t[joined].mean(axis=0)
    return t / np.sqrt((t[joined] ** 2).sum(axis=1).mean()), joined


@pytest.mark.parametrize(("alpha", "steps"), [(0.95, 24), (0.5, 1), (0.8, 3)])
def test_it_is_a_regression_on_the_sum_of_powers(graph, labels, alpha, steps):
    found = Surroundings(alpha, steps, penalty=0.01).fit(DetectorInputs(graph), labels)
    t, joined = by_powers(graph, alpha, steps)
    read = joined[labels.nodes]
    n = int(read.sum())
    judge = LogisticRegression(C=1 / (0.01 * n), tol=1e-10, max_iter=1000).fit(t[labels.nodes][read], labels.y[read])
    told = np.diff(found.logits(DetectorInputs(graph)))[:, 0]
    np.testing.assert_allclose(told[joined], judge.decision_function(t[joined]), atol=2e-4)
    share = (labels.y.sum() + 0.5) / (len(labels) + 1)
    assert (found.logits(DetectorInputs(graph))[~joined] == found.nothing).all() and (~joined).sum() >= 6
    assert np.diff(found.nothing)[0] == pytest.approx(np.log(share / (1 - share)))


def test_left_out_is_what_the_fold_says_on_the_level_of_all(graph, labels):
    inputs = DetectorInputs(graph)
    found = Surroundings(penalty=0.01).fit(inputs, labels, seed=2)
    t, joined = by_powers(graph)
    others = np.setdiff1d(np.arange(120), labels.nodes)
    others = others[joined[others]]
    assert np.unique(found.folds_).tolist() == [0, 1, 2, 3, 4]

    def told(rows):
        kept = rows[joined[labels.nodes[rows]]]
        judge = LogisticRegression(C=1 / (0.01 * len(kept)), tol=1e-10, max_iter=1000)
        judge.fit(t[labels.nodes[kept]], labels.y[kept])
        return judge.decision_function(t)

    whole = told(np.arange(len(labels)))
    for fold in range(5):
        mine = np.flatnonzero(found.folds_ == fold)
        apart = told(np.flatnonzero(found.folds_ != fold))
        expected = apart + whole[others].mean() - apart[others].mean()
        heard = mine[joined[labels.nodes[mine]]]
        left_out = np.diff(found.left_out_logits())[:, 0]
        np.testing.assert_allclose(left_out[heard], expected[labels.nodes[heard]], atol=5e-4)
        everywhere = gather_blocks(found.logits_without(inputs, mine[:2]), mine[:2], np.flatnonzero(joined))
        for k in range(2):
            np.testing.assert_allclose(np.diff(everywhere[:, k])[:, 0], expected[joined], atol=5e-4)
        some = np.array([5, 119, 0])
        np.testing.assert_array_equal(
            found.logits_without_at(inputs, mine[:1], some),
            gather_blocks(found.logits_without(inputs, mine[:1]), mine[:1], some),
        )


def test_of_three_classes_too():
    graph = two_halves()
    y = np.arange(120) % 3
    nodes = np.arange(0, 114, 2)
    found = Surroundings().fit(DetectorInputs(graph), labels_at(nodes, y[nodes], 3))
    why, logits = found.contributions(DetectorInputs(graph), 5, 2), found.logits(DetectorInputs(graph))[5]
    assert found.logits(DetectorInputs(graph)).shape == (120, 3) and why.names == ("attributes around it",)
    assert why.logit == pytest.approx(logits[2] - np.logaddexp(logits[0], logits[1]))
    again = Surroundings().restore(found.state())
    np.testing.assert_array_equal(again.logits(DetectorInputs(graph)), found.logits(DetectorInputs(graph)))


def test_a_new_node_hears_the_neighbours_that_the_fit_knew(graph, labels):
    found = Surroundings().fit(DetectorInputs(graph), labels)
    joined = graph.degree > 0
    one, other, stranger = int(np.flatnonzero(joined)[3]), int(np.flatnonzero(joined)[8]), 121
    new = np.array([[120, 120, 120], [one, other, stranger]])
    grown = cr.RareGraph(
        x=np.concatenate([graph.x, np.zeros((2, 3))]),
        edge_index=np.concatenate([graph.edge_index, new], axis=1),
        y=np.concatenate([graph.y, [0, 0]]),
        node_ids=np.arange(122),
    )
    sent, known = found.passed_.by(DetectorInputs(grown).keys[[one, other, stranger]])
    assert known.tolist() == [True, True, False]
    told = found.logits(DetectorInputs(grown))
    assert np.diff(told[120])[0] == pytest.approx(sent[:2, -1].mean()) and (told[121] == found.nothing).all()
    others = np.setdiff1d(np.arange(120), [one, other])
    np.testing.assert_allclose(told[others], found.logits(DetectorInputs(graph))[others], atol=1e-9)
    elsewhere = two_halves(seed=5)
    assert (found.logits(DetectorInputs(elsewhere)) == found.nothing).all()


def test_it_finds_with_a_handful_of_labels_what_one_node_hardly_tells():
    graph = two_halves(num_nodes=600, noise=2.0)
    nodes = np.random.default_rng(3).permutation(600)[:24]
    hidden = np.setdiff1d(np.arange(600), nodes)

    def precision(detector):
        p = cr.RareCategoryClassifier(detector, seed=0).fit(graph, cr.Split(train=nodes)).predict_proba(graph)
        return average_precision(graph.y[hidden] == 1, p[hidden, 1])

    assert precision("surroundings") > 0.95 > 0.85 > precision("linear")


def test_a_stack_goes_without_it_where_there_is_nothing_around(labels):
    graph = two_halves()
    bare = replace(graph, x=np.zeros((120, 0)))
    inputs = DetectorInputs(bare)
    alone = Surroundings().fit(inputs, labels)
    assert alone.skip() == "nodes have no attributes" and np.isfinite(alone.logits(inputs)).all()
    stack = Stack([Spreading(), Surroundings()]).fit(inputs, labels)
    assert stack.names == ("spreading",) and stack.left_out_reasons_ == {"surroundings": "nodes have no attributes"}
    empty = replace(graph, edge_index=np.empty((2, 0), dtype=np.int64))
    with pytest.raises(InputError, match="or nobody has any"):
        Surroundings().fit(DetectorInputs(empty), labels)
    far = replace(graph, edge_index=np.array([[118], [119]]))
    with pytest.raises(LabelError, match="no labelled node has neighbours"):
        Surroundings().fit(DetectorInputs(far), labels_at(np.arange(40), graph.y[:40]))


def test_columns_kept_from_the_neighbours_are_not_spread(labels):
    graph = replace(two_halves(), feature_names=("a", "b", "c"))
    loud = replace(
        graph, x=np.concatenate([graph.x, 100.0 * graph.y[:, None]], axis=1), feature_names=("a", "b", "c", "told")
    )
    apart = Surroundings().fit(DetectorInputs(loud, apart=("told",)), labels)
    told = apart.logits(DetectorInputs(loud))
    np.testing.assert_allclose(
        told, Surroundings().fit(DetectorInputs(graph), labels).logits(DetectorInputs(graph)), atol=1e-6
    )
    assert not np.allclose(
        told, Surroundings().fit(DetectorInputs(loud), labels).logits(DetectorInputs(loud)), atol=0.1
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [({"alpha": 1.0}, "alpha must lie"), ({"steps": 0}, "steps"), ({"penalty": 0.0}, "penalty must be 'left_out'")],
)
def test_odd_arguments_are_refused(graph, labels, options, words):
    with pytest.raises(InputError, match=words):
        Surroundings(**options).fit(DetectorInputs(graph), labels)
