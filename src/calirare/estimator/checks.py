"""What a stored model must hold to be believed. A file can hold anything, also with a checksum that fits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

from calirare.calibration.base import Calibrator
from calirare.data.arrays import UNKNOWN, all_below
from calirare.data.checks import are_texts, is_whole
from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.data.tables.schema.profile import check_profile
from calirare.detectors.base import Detector, LabelledNodes
from calirare.detectors.stack import Stack
from calirare.errors import ModelFormatError
from calirare.estimator.methods import PRIORS

_LEARNED = re.compile(r"[a-z]\w*_")
"""Names of what `fit` learned; a file may set these and nothing else of an object."""
_LARGEST_LEARNED = 1e15
"""Of a calibrator: beyond any that a fit gives, and small enough that its products with logits stay finite."""


def need(holds: bool, what: str) -> None:
    """Refuse the folder unless `holds`."""
    if not holds:
        raise ModelFormatError(f"the model folder was edited or is incomplete: {what}. Save the model again.")


def check_header(header: dict[str, Any]) -> None:
    """Types and sizes of what the JSON says about the fitted model."""
    names, width = header["class_names"], header["num_features"]
    need(are_texts(names) and len(set(names)) == len(names) >= 2, "class_names must be two or more different texts")
    need(is_whole(header["rare_class"]) and 0 <= header["rare_class"] < len(names), "rare_class must name a class")
    need(is_whole(width) and width >= 0, "num_features must be a whole number")
    features = header["feature_names"]
    need(features is None or are_texts(features) and len(features) == width, "feature_names must name every feature")
    need(header["schema"] is None or isinstance(header["schema"], dict), "schema must be an object")
    scores = header.get("scores")
    need(scores is None or check_profile({"nodes": scores, "edges": {}}), "scores must be profiles of the fit's scores")
    shares = np.asarray(header["shares"], dtype=np.float64)
    need(shares.shape == (len(names),) and bool(np.isfinite(shares).all()), "shares must hold a number for each class")
    counted = header.get("num_share_labels")
    need(counted is None or is_whole(counted) and counted > 0, "num_share_labels must be a whole number above 0")
    arguments = header["arguments"]
    need(isinstance(arguments, dict) and isinstance(arguments["device"], str), "arguments must be those of a model")
    need(arguments["prior"] in PRIORS, f"prior must be one of {list(PRIORS)}")


def check_labels(labels: LabelledNodes, left_out: np.ndarray) -> None:
    """Shapes, ranges and finite numbers of the labels and what was said of them."""
    n, num_classes = len(labels.nodes), labels.num_classes
    for name, array, shape, kind in (
        ("nodes", labels.nodes, (n,), "i"),
        ("y", labels.y, (n,), "i"),
        ("weights", labels.weights, (n,), "f"),
        ("groups", labels.groups, (n,), "i"),
        ("left_out", left_out, (n, num_classes), "f"),
    ):
        need(array.shape == shape and array.dtype.kind == kind, f"labels/{name} has shape {array.shape}")
        need(bool(np.isfinite(array).all()), f"labels/{name} is not finite")
    need(n > 0, "there are no labels")
    need(bool((labels.nodes >= 0).all()), "labels/nodes is out of range")
    need(bool(((labels.y >= 0) & (labels.y < num_classes)).all()), "labels/y is out of range")
    need(bool(((left_out >= 0) & (left_out <= 1)).all()), "labels/left_out must lie between 0 and 1")


def check_degree(connections: dict[str, Any], num_labels: int) -> np.ndarray:
    """How many neighbours each labelled node had: a whole number for each."""
    degree = connections.get("degree")
    degree = np.empty(0) if degree is None else np.asarray(degree)
    good = degree.shape == (num_labels,) and degree.dtype.kind == "i" and bool((degree >= 0).all())
    need(good, "connections/degree must hold a number of neighbours for each label")
    return degree


def check_held_out(held_out: dict[str, Any]) -> np.ndarray:
    """The nodes of the validation labels: indices."""
    nodes = np.asarray(held_out.get("nodes"))
    good = nodes.ndim == 1 and nodes.dtype.kind == "i" and bool((nodes >= 0).all())
    need(good, "held_out/nodes must hold node indices")
    return nodes


def check_keys(keys: dict[str, Any], labels: LabelledNodes, held_out: np.ndarray | None) -> np.ndarray:
    """By which the nodes of the labels that were read are known again: a number for each."""
    found = np.asarray(keys.get("nodes"))
    size = len(labels) + (0 if held_out is None else len(held_out))
    need(
        found.shape == (size,) and found.dtype == np.int64, "keys/nodes must hold a number for each label that was read"
    )
    return found


def check_left_out_models(detector: Detector, num_labels: int, num_classes: int) -> None:
    """That what the detector kept of its left-out models is of as many labels as there are."""
    shape, rows = detector.left_out_logits().shape, detector.left_out_rows
    need((shape[0], shape[-1]) == (num_labels, num_classes), "the detector's left-out logits are of other labels")
    need(rows.size > 0 and all_below(rows, num_labels), "the detector's labels are out of range")


def restore_calibrator(
    calibrator: Calibrator, state: dict[str, Any], detector: Detector, num_classes: int
) -> Calibrator:
    """The calibrator with this state, once it has shown that it can answer."""
    for name, value in state.items():
        need(_LEARNED.fullmatch(name) is not None, f"a calibrator has no {name!r}")
        inside = np.abs(np.asarray(value, dtype=np.float64)) <= _LARGEST_LEARNED
        need(bool(inside.all()), f"the calibrator's {name!r} is NaN or out of range")
    restored = calibrator.restore(state)
    need(restored.num_classes_ == num_classes, "the calibrator is for other classes")
    logits, chain = np.vstack([np.zeros(num_classes), np.eye(num_classes)]), None
    if restored.needs_graph:
        ends = np.arange(len(logits))
        chain = GraphInputs(RareGraph(logits, np.stack([ends[:-1], ends[1:]]), np.full(len(logits), UNKNOWN)))
    tried = logits
    if isinstance(detector, Stack):
        tried = np.repeat(logits[:, None], len(detector.members_), axis=1)
    with np.errstate(all="ignore"):
        found = restored.predict_proba(tried, graph=chain)
        of_one = restored.predict_class(torch.from_numpy(tried)[:, None], 0, graph=chain)
    good = found.shape == logits.shape and of_one.shape == (len(logits), 1) and np.isfinite(found).all()
    need(bool(good), "the calibrator gives no probabilities")
    return restored
