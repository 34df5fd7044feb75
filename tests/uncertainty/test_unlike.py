"""Labels from a corner of the columns are noticed, random ones are not, nor those drawn by class at a given share."""

from __future__ import annotations

import numpy as np
import pytest

import calirare as cr
from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.uncertainty.unlike import Unlike, labels_unlike


@pytest.fixture(scope="module")
def network():
    """Every label known, a fifth of them rare."""
    return cr.make_transactions(2_000, rare_share=0.2, seed=3, with_payments=False)


@pytest.fixture(scope="module")
def inputs(network):
    return DetectorInputs(network)


def compared(inputs, nodes, shares=None, seed=0, groups=None):
    y = inputs.graph.y[nodes]
    shares = np.bincount(y, minlength=2) / y.size if shares is None else shares
    groups = np.arange(y.size) if groups is None else groups
    labels = LabelledNodes(nodes, y, np.full(y.size, 1 / y.size), 2, groups)
    others = np.setdiff1d(np.arange(inputs.num_nodes), nodes)
    return labels_unlike(inputs, labels, others, shares, seed)


@pytest.mark.refits
def test_luck_is_spread_as_it_says():
    inputs, rng = (
        DetectorInputs(cr.make_transactions(400, rare_share=0.2, seed=3, with_payments=False)),
        np.random.default_rng(0),
    )
    found = [compared(inputs, rng.permutation(400)[:100]) for _ in range(20)]
    assert not any(one.noticed for one in found)
    lucks = np.array([one.luck for one in found])
    assert 0.25 < np.median(lucks) < 0.75 and abs(np.mean([one.area for one in found]) - 0.5) < 0.03


def test_labels_from_a_corner_are_noticed_and_its_column_is_named(network, inputs):
    column = 2
    top = np.argsort(network.x[:, column])[-600:]
    nodes = np.sort(np.random.default_rng(1).permutation(top)[:200])
    found = compared(inputs, nodes)
    assert found.noticed and found.area > 0.8
    assert found.column == network.feature_names[column]
    assert f"in {found.area:.0%} of pairs" in found.sentence() and repr(found.column) in found.sentence()


def test_labels_drawn_by_class_are_a_random_sample_at_the_given_share(network, inputs):
    rng = np.random.default_rng(2)
    nodes = np.concatenate([rng.permutation(np.flatnonzero(network.y == c))[:200] for c in (0, 1)])
    assert compared(inputs, nodes).noticed
    assert not compared(inputs, nodes, np.array([0.8, 0.2])).noticed


def test_copies_do_not_tell_on_each_other():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(600, 100))
    x[:200] = np.tile(x[:50], (4, 1))  # every labelled row stands four times
    graph = cr.RareGraph(x, np.empty((2, 0), dtype=int), (rng.random(600) < 0.3).astype(int))
    inputs, nodes = DetectorInputs(graph), np.arange(200)
    assert compared(inputs, nodes).area > 0.65
    assert compared(inputs, nodes, groups=np.tile(np.arange(50), 4)).area < 0.6


def test_one_node_cannot_be_compared(inputs):
    assert compared(inputs, np.arange(1_999)) is None


def test_what_luck_or_a_hair_explains_is_not_said():
    assert Unlike(0.7, 0.01, "x").sentence() == "" == Unlike(0.515, 1e-6, "x").sentence()
    assert Unlike(0.7, 1e-4, "x").noticed
