"""What every calibrator does around its map: move, draw, refuse what is no probability, and say so in one line."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graph_cases import small_graph

from calirare.calibration import CaGCN, PlattScaling
from calirare.calibration.base import (
    Calibrator,
    check_logits,
    logits_from_probabilities,
    share_weights,
    target_shares,
)
from calirare.calibration.stack import StackScaling
from calirare.data.inputs import GraphInputs
from calirare.errors import CalirareError, InputError, LabelError, NotFittedError, NumericalError


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(size=(30, 3))


class Fixed(Calibrator):
    """Says what it is told to say."""

    def __init__(self, answer=None):
        self.answer = answer

    def _fit(self, logits, y, weights):
        self.given_ = weights

    def _predict(self, logits):
        return self.answer


@pytest.fixture
def fitted(logits):
    return PlattScaling().fit(logits, np.arange(30) % 3)


@pytest.mark.parametrize(("keep", "moves"), [(1.0, True), (0.25, False), (0.25, True)])
def test_moved_and_drawn_alike_for_all_classes_and_for_one(fitted, logits, keep, moves):
    """Drawn to the base rate first, then odds times the ratio of the shares, by a loop over the nodes."""
    shares, new = [0.5, 0.25, 0.25], [0.2, 0.4, 0.4]
    plain = fitted.predict_proba(logits)
    if keep != 1.0:
        fitted.draw_to(shares, keep)
    if moves:
        fitted.shift_to(shares, new)
    for node in range(30):
        want = [shares[c] + keep * (plain[node, c] - shares[c]) for c in range(3)]
        if moves:
            odds = [want[c] * new[c] / shares[c] for c in range(3)]
            want = [one / sum(odds) for one in odds]
        np.testing.assert_allclose(fitted.predict_proba(logits)[node], want, rtol=1e-12)
    for of_class in range(3):
        one = fitted.predict_class(torch.from_numpy(logits)[:, None], of_class)[:, 0]
        np.testing.assert_allclose(one.numpy(), fitted.predict_proba(logits)[:, of_class], rtol=1e-12)


def test_what_is_done_to_one_class(fitted):
    assert fitted.drawn_of_class(1) == (0.0, 1.0, 1.0)
    fitted.draw_to([0.5, 0.25, 0.25], 0.4)
    assert fitted.drawn_of_class(0) == (0.5, 0.4, 1.0) and fitted.base_.dtype == np.float64
    fitted.shift_to([0.5, 0.25, 0.25], [0.2, 0.4, 0.4])
    assert fitted.drawn_of_class(0) == pytest.approx((0.5, 0.4, 0.4 / 1.6))
    assert PlattScaling().draw_to([1, 0], 0.5).base_.dtype == np.float64
    assert PlattScaling().shift_to([1, 3], [3, 1]).ratio_.tolist() == pytest.approx([3, 1 / 3])


@pytest.mark.parametrize(
    "state",
    [
        {"keep_": 0.0}, {"keep_": 1.5, "base_": np.full(3, 1 / 3)}, {"keep_": 0.5, "base_": np.array([0.5, 0.5])},
        {"keep_": 0.5, "base_": np.array([-0.5, 1.0, 0.5])}, {"keep_": 0.5, "base_": np.array([0.5, 0.5, 0.5])},
        {"ratio_": np.ones(2)}, {"ratio_": np.array([1.0, 0.0, 1.0])},
    ],
)  # fmt: skip
def test_states_that_move_by_nonsense_are_refused(fitted, state):
    with pytest.raises(InputError, match="^the base rate and the ratio of shares must be of 3 classes.$"):
        PlattScaling().restore(fitted.state() | {"base_": np.full(3, 1 / 3)} | state)
    good = {"keep_": 0.5, "base_": np.array([0.0, 1.0, 0.0]), "ratio_": np.array([0.5, 2.0, 1e-9])}
    assert PlattScaling().restore(fitted.state() | good).keep_ == 0.5


@pytest.mark.parametrize(
    "answer",
    [
        None, [[0.5, 0.5]], np.full((2, 3), 1 / 3), np.full((1, 2), 0.5), np.array([[1.1, -0.1], [0.5, 0.5]]),
        np.array([[0.5, 0.4], [0.5, 0.5]]), np.array([[0.5, 0.5], [np.nan, 0.5]]), np.array([[0.5, 0.5 + 2e-6], [0.5, 0.5]]),
    ],
)  # fmt: skip
def test_what_is_no_probability_is_refused(answer):
    found = Fixed(answer).fit(np.zeros((2, 2)), [0, 1])
    with pytest.raises(
        NumericalError, match=r"^Fixed gives no probabilities: it must give \(2, 2\) numbers in \[0, 1\]"
    ):
        found.predict_proba(np.zeros((2, 2)))


def test_zero_and_one_and_nobody_are_probabilities():
    found = Fixed(np.array([[0.0, 1.0], [1.0, 0.0]])).fit(np.zeros((2, 2)), [0, 1], weights=[1, 3])
    assert found.predict_proba(np.zeros((2, 2))).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert found.given_.tolist() == [0.25, 0.75]
    assert Fixed(np.zeros((0, 2))).fit(np.zeros((2, 2)), [0, 1]).predict_proba(np.zeros((0, 2))).shape == (0, 2)
    light = Fixed().fit(np.zeros((2, 2)), [0, 1], weights=[0.25, 0.0])
    assert light.given_.tolist() == [1.0, 0.0]


LOGITS, Y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
WHOLE = [
    (lambda: PlattScaling().fit([[1, 2], [3]], Y), "logits must be an array whose rows are of equal length; got list."),
    (lambda: PlattScaling().fit(LOGITS, [0, 1, 0, 1.5]), "y must hold whole numbers; got fractions or NaN."),
    (lambda: PlattScaling().fit(LOGITS, Y, nodes=[0, 1, 2, 0.5]), "nodes must hold whole numbers; got fractions or NaN."),
    (lambda: PlattScaling().fit(LOGITS, Y, nodes=[0, 1, 2, 4]), "nodes must be a list of rows of logits, 0…3."),
    (lambda: PlattScaling().fit(LOGITS, Y, nodes=[0, 1, 2, -1]), "nodes must be a list of rows of logits, 0…3."),
    (lambda: PlattScaling().fit(LOGITS, Y[:3]), "y must hold one class per calibration node, 4 in all; got shape (3,)."),
    (lambda: PlattScaling().fit(LOGITS, Y + 1), "y must hold classes 0…1, the columns of logits; got [1 2]."),
    (lambda: PlattScaling().fit(LOGITS, Y - 1), "y must hold classes 0…1, the columns of logits; got [-1  0]."),
    (lambda: PlattScaling().fit(LOGITS, Y, weights=[1, 1, 1, None]), "weights must be finite; 1 values are NaN or infinite."),
    (lambda: PlattScaling().fit(LOGITS, Y, weights=[1, 1]), "weights must hold 4 numbers, none negative and not all zero; got shape (2,)."),
    (lambda: PlattScaling().predict_proba(LOGITS), "PlattScaling is not fitted; call fit first."),
    (lambda: CaGCN().fit(LOGITS, Y), "CaGCN looks at the graph; pass graph=."),
    (lambda: CaGCN().fit(LOGITS, Y, graph=GraphInputs(small_graph(2, num_nodes=20))), "logits must have a row for each of the 20 nodes of graph; got 4."),
    (lambda: check_logits(np.zeros(3)), "logits must have shape (nodes, classes) with at least two classes; got (3,)."),
    (lambda: check_logits(np.full((1, 2), -1e31)), "logits must lie within ±1e+30; got 1.0e+31."),
    (lambda: logits_from_probabilities([[0.5, 0.4]]), "probabilities must have shape (nodes, classes), lie in [0, 1], and have rows that sum to one."),
    (lambda: logits_from_probabilities([["a"]]), "probabilities must be an array of numbers; got list of <U1."),
    (lambda: share_weights(np.array([0, 0]), np.array([0.0, 1.0])), "the wanted class shares [0.0, 1.0] give every calibration label weight zero."),
    (lambda: StackScaling().scores(LOGITS[:, None]), "StackScaling is not fitted; call fit first."),
    (lambda: StackScaling().fit(LOGITS, Y), "logits must have shape (nodes, detectors, classes); got (4, 2)."),
    (lambda: StackScaling().fit(np.zeros((4, 2, 1)), Y), "logits must have shape (nodes, detectors, classes); got (4, 2, 1)."),
    (lambda: StackScaling().fit(np.full((4, 1, 2), np.nan), Y), "logits must be finite."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WHOLE)
def test_whole_messages(call, message):
    with pytest.raises((CalirareError, InputError, LabelError, NotFittedError)) as caught:
        call()
    assert str(caught.value) == message


def test_probabilities_at_the_ends_have_finite_logits():
    found = logits_from_probabilities([[0.0, 1.0], [0.25, 0.75]])
    assert found[0].tolist() == pytest.approx([np.log(1e-12), 0.0], abs=1e-9)
    np.testing.assert_allclose(np.exp(found[1]), [0.25, 0.75])
    assert logits_from_probabilities([[0.50004, 0.5]]).shape == (1, 2)
    np.testing.assert_array_equal(target_shares(np.array([0, 0, 2]), 4), [2 / 3, 0, 1 / 3, 0])
    np.testing.assert_array_equal(target_shares(np.array([], dtype=int), 2), [0, 0])
