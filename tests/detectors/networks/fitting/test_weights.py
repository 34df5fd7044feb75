"""Weights of the labelled nodes sum to one and share as they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.detectors.networks.fitting.weights import node_weights
from calirare.errors import InputError, LabelError


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_normalised_and_equal_between_classes(labels):
    y = np.array(labels)
    weights = node_weights(y, 4)
    assert weights.sum() == pytest.approx(1.0) and (weights > 0).all()
    present = np.unique(y)
    np.testing.assert_allclose(np.bincount(y, weights=weights)[present], 1 / len(present))


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60), st.floats(0.01, 100))
def test_costs_are_ratios(labels, cost):
    y = np.array(labels)
    weights = node_weights(y, 2, costs=(1.0, cost))
    assert weights.sum() == pytest.approx(1.0)
    if 0 < y.sum() < len(y):
        assert weights[y == 1][0] / weights[y == 0][0] == pytest.approx(cost)


def test_no_costs_weigh_all_alike():
    np.testing.assert_allclose(node_weights(np.array([0, 0, 1]), 2, costs=None), 1 / 3)


@pytest.mark.parametrize("costs", ["balanced", (1.0,), (1.0, 0.0), (1.0, -2.0), (1.0, np.nan)])
def test_wrong_costs_are_refused(costs):
    with pytest.raises(InputError, match="class_costs must"):
        node_weights(np.array([0, 1]), 2, costs=costs)


def test_no_labels_are_refused():
    with pytest.raises(LabelError, match="no labelled node"):
        node_weights(np.array([], dtype=int), 2)
