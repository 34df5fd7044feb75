"""What every calibrator promises."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.calibration.base import Calibrator
from calirare.data.inputs import GraphInputs
from calirare.data.synthetic import make_transactions
from calirare.testing.promises import (
    attempt,
    fresh,
    global_randomness_untouched,
    require,
    require_plain,
    require_probabilities,
    require_refusal,
    through_a_file,
)

_NUM_NODES = 80
_NUM_LABELS = 50


def check_calibrator(calibrator: Calibrator) -> None:
    """Raise `ContractError`, with the promise that was broken, unless the calibrator keeps all of them.

    Rows of probabilities that sum to one; a refusal before `fit`; `fit` returns the calibrator and leaves its arguments
    alone; only the labels of the calibration nodes count; the same again gives the same bytes; and what it learned can
    be stored without pickle and restored.

    Args:
        calibrator: With its parameters; a copy is checked, yours stays as it is.
    """
    require(isinstance(calibrator, Calibrator), calibrator, "it inherits calirare.calibration.base.Calibrator")
    for num_classes in (2, 3):
        _check(calibrator, num_classes)


def _check(calibrator: Calibrator, num_classes: int) -> None:
    logits, y, nodes, graph = _case(num_classes)
    shape = logits.shape
    require_refusal(lambda: fresh(calibrator).predict_proba(logits, graph=graph), calibrator, "it refuses before fit")

    def fit(some_logits: np.ndarray = logits) -> Calibrator:
        return fresh(calibrator).fit(some_logits, y, nodes=nodes, graph=graph)

    given = [array.copy() for array in (logits, y, nodes)]
    with global_randomness_untouched(calibrator):
        first = fresh(calibrator)
        require(first.fit(logits, y, nodes=nodes, graph=graph) is first, calibrator, "fit returns self")
        answer = first.predict_proba(logits, graph=graph)
    require_probabilities(answer, shape, calibrator)
    alone = all(np.array_equal(old, new) for old, new in zip(given, (logits, y, nodes), strict=True))
    require(alone, calibrator, "it leaves its arguments as they were")
    again = fit().predict_proba(logits, graph=graph)
    require(again.tobytes() == answer.tobytes(), calibrator, "the same fit gives the same bytes")
    if not calibrator.needs_graph:
        other = logits.copy()
        other[np.setdiff1d(np.arange(len(logits)), nodes)] = 50.0
        require(
            fit(other).predict_proba(logits).tobytes() == answer.tobytes(),
            calibrator,
            "it learns from the calibration nodes alone",
        )
    _check_state(calibrator, first, answer, logits, graph)


def _check_state(calibrator: Calibrator, fitted: Any, answer: np.ndarray, logits: np.ndarray, graph: Any) -> None:
    state = fitted.state()
    require(bool(state) and all(name.endswith("_") for name in state), calibrator, "fit learns names that end in _")
    require_plain(state, calibrator)
    promise = "restored from its state it gives the same bytes"
    restored = attempt(lambda: fresh(calibrator).restore(through_a_file(state)), calibrator, promise)
    repeated = attempt(lambda: restored.predict_proba(logits, graph=graph), calibrator, promise)
    require(repeated.tobytes() == answer.tobytes(), calibrator, promise)


def _case(num_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, GraphInputs]:
    """(logits of every node, labels of the calibration nodes, these nodes, the graph)."""
    graph = make_transactions(num_nodes=_NUM_NODES, rare_share=0.3, seed=num_classes)
    generator = np.random.default_rng(num_classes)
    y = generator.permutation(np.arange(_NUM_NODES) % num_classes)
    logits = generator.normal(size=(_NUM_NODES, num_classes)) + 1.5 * np.eye(num_classes)[y]
    nodes = np.arange(_NUM_LABELS)
    return logits, y[nodes], nodes, GraphInputs(graph)
