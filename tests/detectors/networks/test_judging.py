"""Widths and decays are chosen by what the labels are told without themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from column_cases import dense_graph, inputs_of, labels_of
from scipy.special import log_softmax

from calirare.detectors import GCN
from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks import judging, network
from calirare.detectors.networks.evidence import FoldEvidence, step_logits
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.network import _WIDTHS
from calirare.errors import InputError


@pytest.mark.slow
def test_the_width_is_the_one_whose_left_out_labels_are_likeliest() -> None:
    graph = dense_graph(num_nodes=120, num_columns=6)
    inputs, labels = inputs_of(graph), labels_of(graph, 60)
    losses = {}
    for width in _WIDTHS:
        engine = GCN(hidden=width, epochs=10, weight_decay=0.02).fit(inputs, labels)._engine()
        losses[width] = np.inf if judging.learns_anything(engine) else judging.loss(step_logits(engine), labels)
    wanted = _WIDTHS[0]
    for width in _WIDTHS[1:]:
        if losses[width] < losses[wanted] - 2 / 60:
            wanted = width
    chosen = GCN(hidden="left_out", epochs=10, weight_decay=0.02).fit(inputs, labels)
    assert chosen.units == wanted
    assert chosen.model_.input.weight.shape[0] == wanted  # type: ignore[union-attr]
    again = GCN(hidden="left_out", epochs=10, weight_decay=0.02).restore(chosen.state())
    np.testing.assert_array_equal(again.logits(inputs), chosen.logits(inputs))


class Told:
    """An engine of a network that says nothing as trained; of it nothing but left-out logits and the leverage are asked.

    Moved to the end of a step, the network says `1 + bend` times what its tangent says there.
    """

    may_bend: float | None = None

    def __init__(self, logits: np.ndarray, leverage: float = 0.1, bend: Any = 0.0, apart: bool = False) -> None:
        self.left_out_logits, self.bend, self.tells_copies_apart = torch.from_numpy(logits), bend, apart
        self.logits, self.index = torch.zeros_like(self.left_out_logits), torch.arange(len(logits))
        self.curvature = SimpleNamespace(leverage=torch.full((len(logits), 1, 1), leverage))

    def stepped_logits(self, rows: np.ndarray) -> torch.Tensor:
        bend = torch.as_tensor(self.bend).expand(len(self.index))[rows, None]
        return self.left_out_logits[rows] * (1 + bend) + 7.0  # softmax does not see a constant


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Any:
    def step_logits(engine: Told, said: torch.Tensor | None = None) -> np.ndarray:
        return np.asarray(engine.left_out_logits if said is None else said)

    monkeypatch.setattr(judging, "step_logits", step_logits)
    return Told


def labels_with(y: np.ndarray, weights: np.ndarray) -> LabelledNodes:
    return LabelledNodes(np.arange(len(y)), y, weights, int(y.max()) + 1, np.arange(len(y)))


@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_loss_is_that_of_the_best_temperature_by_a_loop(num_classes: int) -> None:
    rng = np.random.default_rng(num_classes)
    y = np.arange(30) % num_classes
    logits = rng.normal(size=(30, num_classes)) + np.eye(num_classes)[y]
    weights = rng.random(30)
    found = []
    for sharpness in np.geomspace(0.1, 3.0, 18):
        surprise = 0.0
        for node in range(30):
            odds = [np.exp(sharpness * one) for one in logits[node]]
            surprise -= weights[node] * np.log(odds[y[node]] / sum(odds))
        found.append(surprise)
    assert judging.loss(logits, labels_with(y, weights)) == pytest.approx(min(found), rel=1e-12)


def test_what_cannot_be_believed_is_said(told: Any) -> None:
    y = np.arange(40) % 2
    labels = labels_with(y, np.full(40, 1 / 40))
    skilled, noise = told(np.eye(2)[y] + 0.0), told(np.tile([0.5, 0.5], (40, 1)))
    learns = told(np.eye(2)[y], leverage=0.31)

    def dear() -> LeaveOneOut:
        raise AssertionError("an engine is not made to be thrown away")

    assert judging.doubt(lambda: skilled, labels, rests=True, slope=1.5) is None
    assert judging.doubt(lambda: skilled, labels, rests=False, slope=None) is None
    assert judging.doubt(dear, labels, rests=True, slope=1.51) == "training did not come to rest"
    assert judging.doubt(dear, labels, rests=True, slope=None) == "training did not come to rest"
    assert judging.doubt(lambda: None, labels, rests=True, slope=0.1) == (
        "no Newton step can be taken from where training ended"
    )
    for engine, why in (
        (noise, "left-out predictions cannot be told from noise"),
        (told(np.eye(2)[y], apart=True), "the network tells labelled copies apart"),
        (learns, "the network could learn its labels whatever they are"),
    ):
        assert judging.doubt(lambda engine=engine: engine, labels, rests=True, slope=0.1) == why  # type: ignore[misc]
    assert not judging.learns_anything(told(np.eye(2)[y], leverage=0.29))
    turned = told(1 - np.eye(2)[y])
    assert judging.no_skill(turned, labels) == "left-out predictions cannot be told from noise"


@pytest.mark.parametrize(
    ("bend", "asked", "way"),
    [(-0.14, False, "tangent"), (0.16, False, None), (np.nan, False, None), (0.04, True, "tangent"), (-0.06, True, "itself"), (0.51, True, None), (np.nan, True, None)],
)  # fmt: skip
def test_where_a_network_bends_it_is_asked_itself_or_not_believed(
    told: Any, bend: float, asked: bool, way: str | None
) -> None:
    y = np.arange(400) % 2
    engine, labels = told(np.eye(2)[y], bend=bend), labels_with(y, np.full(400, 1 / 400))
    engine.may_bend = 0.5 if asked else None
    found = judging.believed(engine, labels)
    wanted = {"tangent": np.eye(2)[y], "itself": np.eye(2)[y] * (1 + bend) + 7.0}
    assert (found is None) == (way is None)
    if way is not None:
        np.testing.assert_allclose(found, wanted[way])


def test_a_few_bent_labels_among_straight_ones_do_not_mislead(told: Any) -> None:
    y = np.arange(400) % 2
    bend, first = np.zeros(400), judging._some_of_each(y, 16)
    bend[first] = 0.16  # 16 labels of the 64 that are then looked at
    assert judging.believed(told(np.eye(2)[y], bend=bend), labels_with(y, np.full(400, 1 / 400))) is not None


@pytest.mark.parametrize("asked", [True, False])
def test_a_few_nearly_straight_labels_among_bent_ones_do_not_mislead(told: Any, asked: bool) -> None:
    y = np.arange(400) % 2
    bend, first = np.full(400, 0.3), judging._some_of_each(y, 16)
    bend[first] = 0.035
    engine = told(np.eye(2)[y], bend=bend)
    engine.may_bend = 0.5 if asked else None
    found = judging.believed(engine, labels_with(y, np.full(400, 1 / 400)))
    if asked:
        np.testing.assert_allclose(found, np.eye(2)[y] * (1 + bend[:, None]) + 7.0)
    else:
        assert found is None


@pytest.mark.parametrize("near", [slice(0, 200), slice(None)])
def test_a_bent_network_is_not_asked_about_steps_that_lead_nowhere(told: Any, near: slice) -> None:
    y = np.arange(400) % 2
    logits = np.eye(2)[y]
    logits[near] *= 0.03  # 0.015 to either side of the mean
    engine = told(logits, bend=0.3)
    engine.may_bend = 0.5
    wanted = logits * 1.3 + 7.0
    wanted[near] = logits[near]
    np.testing.assert_allclose(judging.believed(engine, labels_with(y, np.full(400, 1 / 400))), wanted)


@pytest.mark.refits
def test_another_decay_is_taken_where_it_is_likelier_and_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = dense_graph(num_nodes=60)
    inputs, labels = inputs_of(graph), labels_of(graph, 30)
    detector = GCN(hidden=2, epochs=3, weight_decay=0.05).fit(inputs, labels)
    detector._fitted = inputs.tensors, labels, detector._fitted[2], 0
    known = detector._present(judged=True)
    for loss, slope, moves in ((known.loss - 1e-9, 1.5, True), (known.loss, 0.1, False), (known.loss - 1, 1.6, False)):
        monkeypatch.setattr(network, "come_to_rest", lambda task, slope=slope: SimpleNamespace(slope=slope))
        monkeypatch.setattr(judging, "loss", lambda logits, labels, loss=loss: loss)
        found = detector._moved(known, 0.2)
        assert (found is not known) == moves
        if moves:
            assert (found.decay, found.history.slope, found.loss) == (0.2, slope, loss)
            assert found.model is not known.model and known.history.slope != slope


def best_surprise(logits: np.ndarray, labels: LabelledNodes) -> float:
    """How unlikely the labels are under logits, weighted, at the best of the temperatures that are tried."""
    sharpness = np.geomspace(0.1, 3.0, 18)[:, None, None]
    said = log_softmax(sharpness * logits, axis=2)[:, np.arange(len(labels)), labels.y]
    return float((-labels.weights * said).sum(axis=1).min())


@pytest.mark.refits
def test_where_a_step_for_every_label_is_too_dear_folds_are_refitted(
    monkeypatch: pytest.MonkeyPatch, two_folds: None
) -> None:
    graph = dense_graph(num_nodes=150, num_columns=6)
    inputs, labels = inputs_of(graph), labels_of(graph, 100)
    monkeypatch.setattr("calirare.detectors.networks.influence.leave_one_out._LARGEST_DENSE", 20)
    decays = (0.05, 0.2)
    monkeypatch.setattr(network, "_DECAYS", decays)
    detector = GCN(hidden=4, epochs=10, weight_decay="left_out").fit(inputs, labels, seed=3)
    evidence = detector.evidence_
    assert isinstance(evidence, FoldEvidence) and detector.skip() is None
    monkeypatch.undo()

    def refit(decay: float, fold: int) -> np.ndarray:
        kept = labels.take(evidence.fold != fold)
        return GCN(hidden=4, epochs=10, weight_decay=decay).fit(inputs, kept, seed=3).logits(inputs)

    for y in (0, 1):  # both folds have half of each class
        assert abs(np.bincount(evidence.fold[labels.y == y], minlength=2) @ [1, -1]) <= 1
    first = evidence.fold == 0
    losses = [best_surprise(refit(decay, 0)[labels.nodes[first]], labels.take(first)) for decay in decays]
    assert detector.weight_decay_ == decays[int(np.argmin(losses))]
    others, shares = np.delete(np.arange(graph.num_nodes), labels.nodes), np.linspace(0, 1, 101)
    own = np.diff(detector.logits(inputs))[:, 0]
    for fold in (0, 1):
        found, left = np.diff(refit(detector.weight_decay_, fold))[:, 0], evidence.fold == fold
        curve, common, said = (
            np.quantile(found[others], shares),
            np.quantile(own[others], shares),
            found[labels.nodes[left]],
        )
        there = np.interp(said, curve, common)
        beyond = np.minimum(said - curve[0], 0) + np.maximum(said - curve[-1], 0)
        there += beyond * (common[90] - common[10]) / (curve[90] - curve[10])
        np.testing.assert_allclose(np.diff(evidence.logits[left])[:, 0], there, atol=1e-4)


def test_another_word_is_refused() -> None:
    graph = dense_graph(num_nodes=40)
    with pytest.raises(InputError, match="hidden"):
        GCN(hidden="best").fit(inputs_of(graph), labels_of(graph, 20))  # type: ignore[arg-type]
