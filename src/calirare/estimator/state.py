"""The fitted state: one frozen type that saving, loading, refitting and checks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.calibration.base import Calibrator
from calirare.calibration.stack import StackScaling
from calirare.data.split import Split
from calirare.detectors.base import Detector, LabelledNodes
from calirare.detectors.registry import make_detector
from calirare.detectors.stack import Stack
from calirare.estimator.checks import (
    check_degree,
    check_header,
    check_held_out,
    check_keys,
    check_labels,
    check_left_out_models,
    need,
    restore_calibrator,
)
from calirare.estimator.methods import get_method
from calirare.features.recipe import ColumnRecipe
from calirare.persistence.folder import Record


@dataclass(frozen=True, eq=False)
class FittedState:
    """Everything that `fit` learned.

    Args:
        class_names: One per class.
        rare_class: The one looked for.
        num_features: Attributes of a node.
        feature_names: Their names, or None.
        schema: How tables became features, or None.
        recipe: How columns are made, or None where no detector read any.
        detector: Fitted.
        calibrator: Fitted, or None.
        shares: `(C,)` class shares that the probabilities are calibrated to.
        labels: The labels that trained the detector.
        left_out: `(n, C)` calibrated probabilities of the labelled nodes without their labels.
        split: As given to `fit`, or as it came with the graph; else None.
        scores: Profiles of the scores of the fit, or None where the model was not saved with its graph.
        degree: `(n,)` how many neighbours each labelled node had; None where an older calirare fitted the model.
        held_out: `(m,)` nodes of the validation labels that were read; None where an older calirare fitted the model.
        num_share_labels: How many labels class shares were counted on; None where an older calirare fitted the model.
        keys: `(n + m,)` of the labelled nodes' ids, then of `held_out` (`calirare.data.node_keys`); None where there are none.
    """

    class_names: tuple[str, ...]
    rare_class: int
    num_features: int
    feature_names: tuple[str, ...] | None
    schema: dict[str, Any] | None
    recipe: ColumnRecipe | None
    detector: Detector
    calibrator: Calibrator | None
    shares: np.ndarray
    labels: LabelledNodes
    left_out: np.ndarray
    split: Split | None
    scores: dict[str, Any] | None = None
    degree: np.ndarray | None = None
    held_out: np.ndarray | None = None
    num_share_labels: int | None = None
    keys: np.ndarray | None = None


def make_calibrator(method: str, detector: Detector) -> Calibrator | None:
    """The calibrator of a method, unfitted; a stack has its own, which chooses among its members too."""
    if isinstance(detector, Stack):
        return StackScaling()
    factory = get_method(method).calibrator
    return None if factory is None else factory()


def to_record(state: FittedState, arguments: dict[str, Any]) -> Record:
    """As named arrays and plain data."""
    header: dict[str, Any] = {
        "arguments": arguments,
        "class_names": list(state.class_names),
        "rare_class": state.rare_class,
        "num_features": state.num_features,
        "feature_names": None if state.feature_names is None else list(state.feature_names),
        "schema": state.schema,
        "shares": state.shares.tolist(),
        "num_share_labels": state.num_share_labels,
        "scores": state.scores,
    }
    record = Record(header, {})
    record.put("detector", state.detector.state())
    record.put("calibrator", None if state.calibrator is None else state.calibrator.state())
    record.put("recipe", None if state.recipe is None else state.recipe.state())
    labels = state.labels
    record.put(
        "labels",
        {"nodes": labels.nodes, "y": labels.y, "weights": labels.weights, "groups": labels.groups,
         "left_out": state.left_out},
    )  # fmt: skip
    # Apart from the labels: an older calirare reads models with them and without.
    record.put("connections", None if state.degree is None else {"degree": state.degree})
    record.put("held_out", None if state.held_out is None else {"nodes": state.held_out})
    record.put("keys", None if state.keys is None else {"nodes": state.keys})
    record.put("split", None if state.split is None else state.split.roles)
    return record


def from_record(record: Record, method: str, detector: Any) -> FittedState:
    """From what `to_record` gave, checked: a file can hold anything, also with a checksum that fits."""
    header = record.header
    check_header(header)
    num_classes = len(header["class_names"])
    said = record.get("labels")
    need(said is not None, "there are no labels")
    left_out = said.pop("left_out")  # type: ignore[union-attr]
    labels = LabelledNodes(num_classes=num_classes, **said)  # type: ignore[arg-type]
    check_labels(labels, left_out)
    fitted = make_detector(detector).restore(record.get("detector") or {})
    check_left_out_models(fitted, len(labels), num_classes)
    calibrator, learned = make_calibrator(method, fitted), record.get("calibrator")
    need((calibrator is None) == (learned is None), f"the calibrator does not fit method {method!r}")
    if calibrator is not None and learned is not None:
        calibrator = restore_calibrator(calibrator, learned, fitted, num_classes)
    recipe, split = record.get("recipe"), record.get("split")
    later = ("connections", "held_out", "keys")
    connections, held_out, keys = (record.get(name) if name in header else None for name in later)
    held_out_nodes = None if held_out is None else check_held_out(held_out)
    names = header["feature_names"]
    return FittedState(
        class_names=tuple(header["class_names"]),
        rare_class=int(header["rare_class"]),
        num_features=int(header["num_features"]),
        feature_names=None if names is None else tuple(names),
        schema=header["schema"],
        recipe=None if recipe is None else ColumnRecipe.restore(recipe),
        detector=fitted,
        calibrator=calibrator,
        shares=np.asarray(header["shares"], dtype=np.float64),
        labels=labels,
        left_out=left_out,
        split=None if split is None else Split(**split),
        scores=header.get("scores"),
        degree=None if connections is None else check_degree(connections, len(labels)),
        held_out=held_out_nodes,
        num_share_labels=header.get("num_share_labels"),
        keys=None if keys is None else check_keys(keys, labels, held_out_nodes),
    )
