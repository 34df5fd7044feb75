"""The checks pass on every member, and each catches the object that breaks its promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calirare import calibration, detectors
from calirare.calibration.base import Calibrator
from calirare.calibration.scaling import TemperatureScaling
from calirare.calibration.stack import StackScaling
from calirare.detectors.base import Contributions, Detector
from calirare.errors import ContractError, InputError, NotFittedError, NumericalError
from calirare.testing import check_calibrator, check_detector, members


class Rows(torch.nn.Module):
    """A user's module that reads the attributes alone."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(12, 2)

    def forward(self, x, edge_index):
        return self.linear(x)


def quick(make):
    """With few epochs, where it learns by them."""
    member = make(Rows()) if make is detectors.Module else make()
    return member.set_params(epochs=20) if "epochs" in member.get_params() else member


# Several detectors side by side have an axis more; tests/calibration/test_stack.py and tests/detectors/test_stack.py.
CALIBRATORS = [make for make in members(calibration, Calibrator) if make is not StackScaling]
DETECTORS = [make for make in members(detectors, Detector) if make is not detectors.Stack]


@pytest.mark.refits
@pytest.mark.parametrize("make", CALIBRATORS, ids=lambda make: make.__name__)
def test_every_calibrator_keeps_its_promises(make):
    check_calibrator(quick(make))


@pytest.mark.slow
@pytest.mark.parametrize("make", DETECTORS, ids=lambda make: make.__name__)
def test_every_detector_keeps_its_promises(make):
    check_detector(quick(make))


class Shares(Calibrator):
    """The smallest valid calibrator: the class shares of the calibration labels, for everybody."""

    def _fit(self, logits, y, weights):
        self.shares_ = np.bincount(y, weights, minlength=logits.shape[1])

    def _predict(self, logits):
        return np.tile(self.shares_, (len(logits), 1))


class NotNormalised(Shares):
    def _predict(self, logits):
        return 1.1 * super()._predict(logits)


class Careless(Shares):
    def _fit(self, logits, y, weights):
        super()._fit(logits, y, np.random.default_rng().dirichlet(np.ones(len(y))))


class Forgets(Shares):
    def state(self):
        return {"num_classes_": self.num_classes_}


class Peeping(TemperatureScaling):
    """Looks at logits beyond the calibration nodes."""

    def fit(self, logits, y, *, weights=None, nodes=None, graph=None):
        return super().fit(logits / (1 + np.abs(logits).mean()), y, weights=weights, nodes=nodes, graph=graph)


def test_a_small_valid_calibrator_passes():
    check_calibrator(Shares())


@pytest.mark.parametrize(
    ("calibrator", "words"),
    [(Careless(), "same bytes"), (Forgets(), "restored from its state"), (Peeping(), "calibration nodes alone")],
)
def test_broken_calibrators_are_caught(calibrator, words):
    with pytest.raises(ContractError, match=words):
        check_calibrator(calibrator)


def test_what_is_no_probability_is_refused_at_run_time():
    logits, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(NumericalError, match="NotNormalised gives no probabilities"):
        NotNormalised().fit(logits, y).predict_proba(logits)


class Nearest(Detector):
    """The smallest valid detector: the class shares of all other labels, moved by the node's first column."""

    name = "nearest"

    def __init__(self, strength: float = 0.1) -> None:
        self.strength = strength

    def fit(self, inputs, labels, *, seed=0, progress=None):
        counts = np.bincount(labels.y, minlength=labels.num_classes) + 1.0
        without = counts - np.eye(labels.num_classes)[labels.y]
        self.base_ = np.log(counts)
        column = inputs.columns.values[labels.nodes, :1].astype(np.float64)
        self.left_out_ = np.log(without.mean(axis=0)) + self.strength * column * [0.0, 1.0]
        return self

    def logits(self, inputs):
        if not hasattr(self, "base_"):
            raise NotFittedError("Nearest is not fitted; call fit first.")
        return self.base_ + self.strength * inputs.columns.values[:, :1].astype(np.float64) * [0.0, 1.0]

    def logits_without(self, inputs, rows):
        for row in rows:
            yield np.array([row]), self.logits(inputs)[:, None]

    def contributions(self, inputs, node, rare_class):
        columns = inputs.columns
        shares = np.zeros(len(columns.names))
        shares[0] = self.strength * float(columns.values[node, 0])
        return Contributions(float(self.base_[1] - self.base_[0]), columns.names, columns.groups, shares)

    def state(self):
        return {"base": self.base_, "left_out": self.left_out_}

    def restore(self, state):
        if set(state) != {"base", "left_out"}:
            raise InputError("this is no state of Nearest.")
        self.base_, self.left_out_ = state["base"], state["left_out"]
        return self


class Flatterer(Nearest):
    """Left-out logits that know their label."""

    def fit(self, inputs, labels, *, seed=0, progress=None):
        super().fit(inputs, labels)
        self.left_out_ = np.eye(2)[labels.y]
        return self


class Nosy(Nearest):
    """Reads labels that it was not given."""

    def fit(self, inputs, labels, *, seed=0, progress=None):
        super().fit(inputs, labels)
        self.base_ = np.log(np.bincount(inputs.graph.y, minlength=2))
        return self


class Pickled(Nearest):
    def state(self):
        return {**super().state(), "helper": np.array([self], dtype=object)}


class Forgetful(Nearest):
    def restore(self, state):
        return self


class Vague(Nearest):
    def contributions(self, inputs, node, rare_class):
        found = super().contributions(inputs, node, rare_class)
        return Contributions(found.base + 1, found.names, found.groups, found.shares)


class Hasty(Nearest):
    """A short way to a few nodes that forgets their columns."""

    def logits_without_at(self, inputs, rows, nodes):
        return np.tile(self.base_, (len(nodes), len(rows), 1))


@pytest.mark.refits
def test_a_small_valid_detector_passes():
    check_detector(Nearest())


@pytest.mark.refits
@pytest.mark.parametrize(
    ("detector", "words"),
    [
        (Flatterer(), "know nothing of their label"),
        (Nosy(), "whatever other labels"),
        (Pickled(), "without pickle"),
        (Forgetful(), "restored from its state"),
        (Vague(), "add up to the logit"),
        (Hasty(), "what logits_without does"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_broken_detectors_are_caught(detector, words):
    with pytest.raises(ContractError, match=words):
        check_detector(detector)
