"""Few columns, chosen step by step: against loops, against the lasso, and against real refits."""

from __future__ import annotations

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import calirare as cr
from calirare.detectors import Sparse, Stack
from calirare.detectors.left_out.folds import folds
from calirare.errors import InputError


def case(num_columns=40, count=150, seed=0, told=(1,)):
    """Labels that a few of many columns tell."""
    graph = dense_graph(num_nodes=300, num_columns=num_columns)
    lean = 2.0 * graph.x[:, list(told)].sum(axis=1) - 1.0
    y = (np.random.default_rng(seed).random(300) < expit(lean)).astype(np.int64)
    return inputs_of(graph), labels_of(graph, count, y=y[labels_of(graph, count).nodes])


def rows_of(fitted, inputs):
    """The columns that were chosen, as they are read."""
    return fitted._rows(inputs.columns, slice(None))


def slow_path(x, y, rate, steps):
    """θ and the intercept, one column looked at after the other."""
    theta, n = np.zeros(x.shape[1]), len(y)
    intercept = np.log((y.sum() + 0.5) / (n - y.sum() + 0.5))
    bends = []
    for step in range(steps):
        p = expit(x @ theta + intercept)
        if step % 10 == 0:
            bends = [1 + sum(x[i, j] ** 2 * p[i] * (1 - p[i]) for i in range(n)) for j in range(x.shape[1])]
        slopes = [sum(x[i, j] * (y[i] - p[i]) for i in range(n)) for j in range(x.shape[1])]
        best = max(range(x.shape[1]), key=lambda j: slopes[j] ** 2 / bends[j])
        theta[best] += rate * slopes[best] / bends[best]
        p = expit(x @ theta + intercept)
        intercept += (y - p).sum() / (1 + (p * (1 - p)).sum())
    return theta, intercept


def test_the_steps_are_those_of_loops():
    inputs, labels = case(num_columns=4, count=30)
    fitted = Sparse(steps=25, rate=0.3).fit(inputs, labels)
    rows = rows_of(fitted, inputs)[labels.nodes]
    theta, intercept = slow_path(rows, labels.y, 0.3, 25)  # columns that were never chosen cannot be the best
    np.testing.assert_allclose(fitted.theta_[:, 0], theta, atol=1e-9)
    assert fitted.intercept_[0] == pytest.approx(intercept, abs=1e-9)
    assert 0 < (fitted.theta_ != 0).sum() < inputs.columns.values.shape[1]


def test_many_small_steps_are_nearly_the_lasso():
    inputs, labels = case(count=200, told=(3, 17))
    fitted = Sparse(steps=60, rate=0.1).fit(inputs, labels)
    rows = rows_of(fitted, inputs)[labels.nodes]
    slope = np.abs(rows.T @ (labels.y - expit(rows @ fitted.theta_[:, 0] + fitted.intercept_[0]))).max()
    lasso = LogisticRegression(l1_ratio=1.0, solver="saga", C=1 / slope, max_iter=20_000, tol=1e-8).fit(rows, labels.y)
    assert np.corrcoef(lasso.coef_[0], fitted.theta_[:, 0])[0, 1] > 0.97


@pytest.mark.refits
@pytest.mark.parametrize("num_classes", [2, 3])
def test_left_out_is_what_a_refit_without_the_fold_says(num_classes):
    graph = dense_graph(num_nodes=120, num_columns=12, num_classes=num_classes)
    inputs, labels = inputs_of(graph), labels_of(graph, 80)
    whole = Sparse(steps=40).fit(inputs, labels, seed=2)
    for number, kept, left in folds(whole.folds_):
        without = Sparse(steps=40).fit(inputs, labels.take(kept), seed=2)
        expected = without.logits(inputs)
        found = next(whole.logits_without(inputs, left[:1]))[1][:, 0]
        apart = found - expected  # but for the level, which is that of all labels
        np.testing.assert_allclose(apart, np.tile(apart[:1], (len(apart), 1)), atol=1e-9)
        own = whole.left_out_logits()[left] - expected[labels.nodes[left]]
        np.testing.assert_allclose(own, np.tile(apart[:1], (len(left), 1)), atol=1e-9)
        assert number < 5


def test_it_finds_the_column_among_hundreds_and_the_stack_hears_it():
    inputs, labels = case(num_columns=200, count=120)
    fitted = Sparse().fit(inputs, labels)
    told = fitted.contributions(inputs, 5, 1)
    strongest = np.abs(fitted.theta_[:, 0]).argmax()
    assert told.names[strongest] == inputs.columns.names[1] and len(told.names) < 40
    stack = Stack(["linear", "sparse"]).fit(inputs, labels)
    y = np.full(300, -1)
    y[labels.nodes] = labels.y
    graph = cr.RareGraph(x=inputs.graph.x, edge_index=inputs.graph.edge_index, y=y)
    clf = cr.RareCategoryClassifier(Stack(["linear", "sparse"]), device="cpu").fit(graph)
    assert stack.names == ("linear", "sparse") and clf.weights_["sparse"] > clf.weights_["linear"]


def test_where_no_column_tells_anything_no_step_is_taken():
    graph = dense_graph(num_nodes=400, num_columns=30)
    labels = labels_of(graph, 300, y=(np.random.default_rng(1).random(300) < 0.3).astype(np.int64))
    inputs = inputs_of(graph)
    fitted = Sparse().fit(inputs, labels)
    assert fitted.steps_ == 0 and np.ptp(fitted.logits(inputs), axis=0).max() == 0
    assert fitted.contributions(inputs, 0, 1).shares.size == 0
    again = Sparse().restore(fitted.state())
    np.testing.assert_array_equal(again.logits(inputs), fitted.logits(inputs))
    assert Stack(["linear", "sparse"]).fit(inputs, labels).left_out_reasons_ == {
        "sparse": "no column tells labels that it did not see"
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [({"steps": 0}, "steps must be"), ({"rate": 0}, "rate must lie above 0 and be at most 1; got 0")],
)
def test_what_makes_no_sense_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        Sparse(**options).fit(*case(num_columns=3, count=30))
