"""What every detector promises."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax

from calirare.data.graph import RareGraph
from calirare.data.synthetic import make_transactions
from calirare.detectors.base import Detector, DetectorInputs, LabelledNodes, gather_blocks
from calirare.features.recipe import ColumnRecipe
from calirare.metrics import roc_auc
from calirare.testing.promises import (
    attempt,
    fresh,
    global_randomness_untouched,
    require,
    require_logits,
    require_plain,
    require_refusal,
    through_a_file,
)

_NUM_NODES = 240
_NUM_LABELS = 160
_LARGEST_CHANCE_AUC = 0.68
"""Random labels, 160 of them, reach more by luck once in ten thousand times; a flatterer reaches 0.9 and more."""


def check_detector(detector: Detector) -> None:
    """Raise `ContractError`, with the promise that was broken, unless the detector keeps all of them.

    Finite logits for every node and left-out logits for every label; a refusal before `fit`; only the labels it is given
    count; left-out logits know nothing of their own label (random labels are not found); contributions add up to the
    logit; the same seed gives the same bytes; and what it learned can be stored without pickle and restored.

    Args:
        detector: With its parameters; a copy is checked, yours stays as it is.
    """
    require(isinstance(detector, Detector), detector, "it inherits calirare.detectors.base.Detector")
    graph, labels = _case()
    inputs = _inputs(graph)
    require_refusal(lambda: fresh(detector).logits(inputs), detector, "it refuses before fit")
    with global_randomness_untouched(detector):
        fitted = fresh(detector)
        before = fitted.get_params()
        require(fitted.fit(inputs, labels, seed=0) is fitted, detector, "fit returns self")
        logits, left_out = fitted.logits(inputs), fitted.left_out_logits()
    require_logits(logits, (_NUM_NODES, 2), detector, "logits")
    require_logits(left_out, (len(labels), 2), detector, "left_out_logits")
    require(before == fitted.get_params(), detector, "fit changes none of its parameters")
    _check_repeats(detector, graph, labels, logits, left_out)
    _check_left_out_models(detector, fitted, inputs, len(labels))
    _check_contributions(detector, fitted, inputs, logits)
    _check_state(detector, fitted, inputs, logits, left_out)
    _check_honesty(detector, inputs, labels)


def _check_repeats(
    detector: Detector, graph: RareGraph, labels: LabelledNodes, logits: np.ndarray, left_out: np.ndarray
) -> None:
    """Fitted again on a graph whose other labels are wrong, it says the same to the last byte."""
    y = 1 - graph.y
    y[labels.nodes] = labels.y
    other = _inputs(graph.with_labels(y))
    again = fresh(detector).fit(other, labels, seed=0)
    same = again.logits(other).tobytes() == logits.tobytes() and again.left_out_logits().tobytes() == left_out.tobytes()
    require(same, detector, "the same seed and labels give the same bytes, whatever other labels the graph holds")


def _check_left_out_models(detector: Detector, fitted: Any, inputs: DetectorInputs, num_labels: int) -> None:
    rows = np.array([0, 3, num_labels - 1])
    seen = []
    for some, block in fitted.logits_without(inputs, rows):
        block = np.asarray(block, dtype=np.float64)  # float32 will do: there are many
        require_logits(block, (inputs.num_nodes, len(some), 2), detector, "a block of logits_without")
        seen += np.asarray(some).tolist()
    require(sorted(seen) == rows.tolist(), detector, "logits_without gives every row that was asked for, once")
    nodes = np.array([inputs.num_nodes // 2, 0, inputs.num_nodes - 1])
    whole = gather_blocks(fitted.logits_without(inputs, rows), rows, nodes)
    at = np.asarray(fitted.logits_without_at(inputs, rows, nodes))
    same = at.shape == whole.shape and bool(np.allclose(at, whole, rtol=1e-3, atol=1e-3))
    require(same, detector, "logits_without_at says of a few nodes what logits_without does")


def _check_contributions(detector: Detector, fitted: Any, inputs: DetectorInputs, logits: np.ndarray) -> None:
    for node in (0, inputs.num_nodes - 1):
        found = fitted.contributions(inputs, node, 1)
        told = len(found.names) == len(found.groups) == len(found.shares)
        require(told, detector, "contributions have a name and a group for each share")
        chance = log_softmax(logits[node])
        close = abs(found.logit - (chance[1] - chance[0])) < 1e-3 * max(1.0, abs(found.logit))
        require(bool(close), detector, "contributions add up to the logit of the rare class against the other")


def _check_state(
    detector: Detector, fitted: Any, inputs: DetectorInputs, logits: np.ndarray, left_out: np.ndarray
) -> None:
    state = fitted.state()
    require_plain(state, detector)
    promise = "restored from its state it gives the same bytes"
    restored = attempt(lambda: fresh(detector).restore(through_a_file(state)), detector, promise)
    again = attempt(lambda: (restored.logits(inputs), restored.left_out_logits()), detector, promise)
    same = again[0].tobytes() == logits.tobytes() and again[1].tobytes() == left_out.tobytes()
    require(same, detector, promise)
    require_refusal(lambda: fresh(detector).restore({}), detector, "it refuses to restore what is no state of its own")


def _check_honesty(detector: Detector, inputs: DetectorInputs, labels: LabelledNodes) -> None:
    """Labels that nothing explains must not be found by what the detector says of each without it."""
    random = np.random.default_rng(1).permutation(labels.y)
    shuffled = LabelledNodes(labels.nodes, random, labels.weights, 2, labels.groups)
    left_out = fresh(detector).fit(inputs, shuffled, seed=0).left_out_logits()
    found = roc_auc(random == 1, left_out[:, 1] - left_out[:, 0])
    require(
        found < _LARGEST_CHANCE_AUC,
        detector,
        f"left-out logits know nothing of their label; ROC-AUC {found:.2f} on random labels",
    )


def _inputs(graph: RareGraph) -> DetectorInputs:
    return DetectorInputs(graph, ColumnRecipe.learn(graph))


def _case() -> tuple[RareGraph, LabelledNodes]:
    graph = make_transactions(num_nodes=_NUM_NODES, rare_share=0.3, seed=0)
    nodes = np.sort(np.random.default_rng(0).permutation(_NUM_NODES)[:_NUM_LABELS])
    weights = np.full(nodes.size, 1 / nodes.size)
    return graph, LabelledNodes(nodes, graph.y[nodes], weights, 2, np.arange(nodes.size))
