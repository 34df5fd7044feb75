"""Nodes without edges: the second regression of `linear`, on their own columns, against scikit-learn and refits."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from column_cases import inputs_of, labels_of, word_graph
from sklearn.linear_model import LogisticRegression
from slow_logistic import refit_without

import calirare as cr
from calirare.detectors.linear import Linear
from calirare.detectors.logistic.optimum import LogisticProblem, fit_logistic
from calirare.detectors.logistic.platt import soft_targets
from calirare.detectors.regression.fitted import Regression
from calirare.detectors.regression.guess import NeighboursGuess
from calirare.detectors.regression.squash import Squash

PENALTY = 1e-2


def strip(graph: cr.RareGraph) -> cr.RareGraph:
    """Every twelfth node loses its edges, and some others their last one."""
    return replace(graph, edge_index=graph.edge_index[:, (graph.edge_index % 12 != 0).all(axis=0)])


@pytest.fixture(scope="module")
def graph() -> cr.RareGraph:
    return strip(cr.make_transactions(600, seed=1, rare_share=0.2, with_payments=False))


def soft_platt(scores: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and shift by scikit-learn: each label twice, as rare and as not, weighted by its soft target."""
    target = soft_targets(y, np.ones(len(y)), 2)
    rows, twice = np.tile(scores, 2)[:, None], np.repeat([0, 1], len(y))
    found = LogisticRegression(C=1e8, tol=1e-12, max_iter=10_000).fit(rows, twice, target.T.ravel())
    return float(found.coef_[0, 0]), float(found.intercept_[0])


def margins(logits: np.ndarray) -> np.ndarray:
    return np.asarray(logits[..., 1] - logits[..., 0])


@pytest.mark.refits
@pytest.mark.parametrize("labelled", [True, False])
def test_own_columns_alone_tell_on_the_scale_of_the_others(graph: cr.RareGraph, labelled: bool) -> None:
    """Logits and left-out logits against a regression made here: scikit-learn's Platt maps, and refits by a minimiser."""
    inputs, labels = inputs_of(graph), labels_of(graph, 150)
    labels = labels if labelled else labels.take(np.flatnonzero(graph.degree[labels.nodes] > 0))
    fitted = Linear(PENALTY, 2).fit(inputs, labels)
    assert isinstance(fitted._own, Regression) == labelled, "fitted when first asked for"
    fitted = fitted if labelled else pickle.loads(pickle.dumps(fitted))
    columns, alone = inputs.columns, np.flatnonzero(graph.degree == 0)
    scores = Squash.learn(columns.values, seed=0)(columns.values)[:, np.asarray(columns.groups) == "own"]
    phi = (scores - scores[labels.nodes].mean(axis=0)) / np.sqrt(scores.shape[1])
    y, n = labels.y.astype(np.float64), len(labels)
    problem = LogisticProblem(phi[labels.nodes], y, np.full(n, 1 / n))
    peer = LogisticRegression(C=1 / (PENALTY * n), tol=1e-12, max_iter=10_000).fit(problem.columns, y)
    theta, intercept = peer.coef_[0], float(peer.intercept_[0])
    left_out = np.empty(n)
    for i in range(n):
        moved = refit_without(problem, intercept, PENALTY, np.array([i])) - theta
        level = (np.delete(problem.columns, i, axis=0) @ moved).mean()
        left_out[i] = problem.columns[i] @ (theta + moved) + intercept - level
    main = Regression.fit(
        fitted.main_.design,
        PENALTY,
        [fit_logistic(LogisticProblem(fitted.main_.design.coordinates, y, np.full(n, 1 / n)), PENALTY)],
        y[None],
        np.arange(n),
        np.ones(n, dtype=bool),
        seed=0,
    )[1][:, 0]
    (own_slope, own_shift), (slope, shift) = soft_platt(left_out, labels.y), soft_platt(main, labels.y)

    def on_scale(z: np.ndarray) -> np.ndarray:
        return np.asarray((own_slope * z + own_shift - shift) / slope)

    found = margins(fitted.logits(inputs))
    np.testing.assert_allclose(found[alone], on_scale(phi[alone] @ theta + intercept), atol=0.03)
    lonely = np.isin(labels.nodes, alone)
    assert (lonely.sum() > 8) == labelled
    said = margins(fitted.left_out_logits())
    np.testing.assert_allclose(said[lonely], on_scale(left_out[lonely]), atol=0.03)
    np.testing.assert_allclose(said[~lonely], main[~lonely], atol=1e-3)


@pytest.mark.parametrize("words", [False, True])
def test_every_answer_about_them_is_that_of_their_own_regression(graph: cr.RareGraph, words: bool) -> None:
    graph = strip(word_graph()) if words else graph
    inputs, labels = inputs_of(graph), labels_of(graph, 150)
    fitted = Linear(hops=2).fit(inputs, labels)
    assert fitted.own_ is not None and (fitted.own_.design.words is not None) == words
    rows = np.flatnonzero(graph.degree[labels.nodes] == 0)[:3]
    ((_, found),) = fitted.logits_without(inputs, rows)
    np.testing.assert_allclose(found[labels.nodes[rows], range(3)], fitted.left_out_logits()[rows], atol=1e-4)
    nodes = np.array([36, 37, 48])
    np.testing.assert_allclose(fitted.logits_without_at(inputs, rows, nodes), found[nodes], atol=1e-9)
    told = list(fitted.contributions_of(inputs, nodes, rare_class=1))
    np.testing.assert_allclose([one.logit for one in told], margins(fitted.logits(inputs))[nodes], atol=1e-8)
    assert [set(one.groups) == {"own"} for one in told] == [True, False, True]


def test_labels_without_edges_can_speak_against_it(graph: cr.RareGraph) -> None:
    """Where having no edges tells more than the own columns, the first regression, which reads the degree, is asked."""
    y = np.where(graph.degree == 0, 1, (np.arange(600) % 9 == 0).astype(np.int64))
    inputs = inputs_of(graph)
    assert Linear(hops=2).fit(inputs, labels_of(replace(graph, y=y), 300)).own_ is None
    assert Linear(hops=2).fit(inputs, labels_of(graph, 300)).own_ is not None


def test_models_load_those_of_older_versions_too(graph: cr.RareGraph) -> None:
    inputs, alone = inputs_of(graph), graph.degree == 0
    fitted = Linear(hops=2).fit(inputs, labels_of(graph, 300))
    state = fitted.state()
    assert (Linear().restore(state).logits(inputs) == fitted.logits(inputs)).all()
    older = {name: value for name, value in state.items() if not name.startswith("own/")}
    first = Linear().restore(older).logits(inputs)
    assert ((np.abs(first - fitted.logits(inputs)).max(axis=1) > 1e-9) == alone).all()
    # 0.11 kept what neighbours' columns are where there are none: here all of them zero, but for what the first own one adds.
    columns, dense = inputs.columns, fitted.main_.design.dense
    groups = np.asarray(columns.groups)[dense]
    own, told = np.flatnonzero(groups == "own"), np.flatnonzero(groups == "neighbours")
    turn = np.zeros((own.size, told.size))
    turn[0] = 1.0
    guess = NeighboursGuess(columns.names.index("degree"), own, told, np.zeros(len(dense)), turn)
    kept = older | {f"guess/{name}": value for name, value in guess.state().items()}
    restored = Linear().restore(kept)
    scores = fitted.main_.design.squash(columns.values[:, dense])
    scores[np.ix_(alone, told)] = scores[alone][:, own[:1]]
    design = (scores - fitted.main_.design.middle) * fitted.main_.design.scale
    want = design @ fitted.main_.theta[0] + fitted.main_.intercept[0]
    np.testing.assert_allclose(margins(restored.logits(inputs)), want, atol=1e-9)
    assert (Linear().restore(restored.state()).logits(inputs) == restored.logits(inputs)).all()
