"""Nodes without edges: what `linear` expects of their neighbours, and who is said to have told it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from column_cases import inputs_of, labels_of
from sklearn.linear_model import Ridge

import calirare as cr
from calirare.detectors.guess import NeighboursGuess
from calirare.detectors.linear import Linear
from calirare.detectors.squash import Squash


@pytest.fixture(scope="module")
def graph() -> cr.RareGraph:
    """A network in which every twelfth account lost its edges, and some their last one."""
    whole = cr.make_transactions(600, seed=1, rare_share=0.2, with_payments=False)
    return replace(whole, edge_index=whole.edge_index[:, (whole.edge_index % 12 != 0).all(axis=0)])


def test_the_guess_is_a_ridge_regression_on_own_columns(graph: cr.RareGraph) -> None:
    columns, alone = inputs_of(graph).columns, np.flatnonzero(graph.degree == 0)
    squash = Squash.learn(columns.values, seed=0)
    scores = squash(columns.values)
    guess = NeighboursGuess.learn(columns, squash, seed=0)
    assert guess is not None
    near = np.flatnonzero(graph.degree)
    own, told = (np.flatnonzero(np.asarray(columns.groups) == group) for group in ("own", "neighbours"))
    peer = Ridge(alpha=1.0).fit(scores[near][:, own], scores[near][:, told])
    found = guess(columns.values, scores.copy())
    np.testing.assert_allclose(found[alone][:, told], peer.predict(scores[alone][:, own]), atol=1e-8)
    others = np.setdiff1d(np.arange(scores.shape[1]), told)
    assert (found[near] == scores[near]).all() and (found[:, others] == scores[:, others]).all()
    some = np.sort(np.concatenate([own, told[::2], others[-1:]]))
    np.testing.assert_allclose(guess.take(some)(columns.values, scores[:, some]), found[:, some], atol=1e-12)


def test_without_neighbours_the_own_columns_are_said_to_tell(graph: cr.RareGraph) -> None:
    inputs, nodes = inputs_of(graph), np.array([36, 37])
    fitted = Linear(hops=2).fit(inputs, labels_of(graph, 300))
    told = [one.base + one.shares.sum() for one in fitted.contributions_of(inputs, nodes, rare_class=1)]
    np.testing.assert_allclose(told, np.diff(fitted.logits(inputs)[nodes])[:, 0], atol=1e-8)
    alone = [fitted.contributions(inputs, k, 1) for k in (0, 12, 24, 36, 48)]
    of_neighbours = [one.shares[np.asarray(one.groups) == "neighbours"] for one in alone]
    assert np.ptp(of_neighbours, axis=0).max() < 1e-9 < np.ptp([one.shares.sum() for one in alone])


def test_a_model_that_was_loaded_guesses_as_before_and_one_without_guess_loads(graph: cr.RareGraph) -> None:
    inputs = inputs_of(graph)
    fitted = Linear(hops=2).fit(inputs, labels_of(graph, 300))
    state = fitted.state()
    assert (Linear().restore(state).logits(inputs) == fitted.logits(inputs)).all()
    older = {name: value for name, value in state.items() if not name.startswith("guess")}
    assert len(older) < len(state)
    apart = np.abs(Linear().restore(older).logits(inputs) - fitted.logits(inputs)).max(axis=1) > 1e-9
    assert (apart == (graph.degree == 0)).all() and apart.any()
