"""Widths and decays are chosen by what the labels are told without themselves."""

from __future__ import annotations

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of

from calirare.detectors import GCN
from calirare.detectors.networks import judging
from calirare.detectors.networks.network import _WIDTHS
from calirare.errors import InputError


@pytest.mark.slow
def test_the_width_is_the_one_whose_left_out_labels_are_likeliest() -> None:
    graph = dense_graph(num_nodes=120, num_columns=6)
    inputs, labels = inputs_of(graph), labels_of(graph, 60)
    losses = {}
    for width in _WIDTHS:
        engine = GCN(hidden=width, epochs=10, weight_decay=0.02).fit(inputs, labels)._engine()
        losses[width] = np.inf if judging.learns_anything(engine) else judging.left_out_loss(engine, labels)
    wanted = _WIDTHS[0]
    for width in _WIDTHS[1:]:
        if losses[width] < losses[wanted] - 2 / 60:
            wanted = width
    chosen = GCN(hidden="left_out", epochs=10, weight_decay=0.02).fit(inputs, labels)
    assert chosen.units == wanted
    assert chosen.model_.input.weight.shape[0] == wanted  # type: ignore[union-attr]
    again = GCN(hidden="left_out", epochs=10, weight_decay=0.02).restore(chosen.state())
    np.testing.assert_array_equal(again.logits(inputs), chosen.logits(inputs))


def test_another_word_is_refused() -> None:
    graph = dense_graph(num_nodes=40)
    with pytest.raises(InputError, match="hidden"):
        GCN(hidden="best").fit(inputs_of(graph), labels_of(graph, 20))  # type: ignore[arg-type]
