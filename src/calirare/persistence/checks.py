"""What a model folder must hold to be believed. A file can hold anything, also with a checksum that fits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.errors import ModelFormatError

if TYPE_CHECKING:
    from calirare.calibration import Calibrator
    from calirare.estimator.classifier import RareCategoryClassifier
    from calirare.uncertainty.jackknife import LeftOut

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
    need(_texts(names) and len(set(names)) == len(names) >= 2, "class_names must be two or more different texts")
    need(_whole(header["rare_class"]) and 0 <= header["rare_class"] < len(names), "rare_class must name a class")
    need(_whole(width) and width >= 0, "num_features must be a whole number")
    features = header["feature_names"]
    need(features is None or _texts(features) and len(features) == width, "feature_names must name every feature")
    need(header["schema"] is None or isinstance(header["schema"], dict), "schema must be an object")
    shares = np.asarray(header["shares"], dtype=np.float64)
    need(shares.shape == (len(names),) and bool(np.isfinite(shares).all()), "shares must hold a number for each class")
    history = header["history"]
    for part in ("loss", "validation"):
        need(np.asarray(history[part], dtype=np.float64).ndim == 1, "history must hold lists of numbers")
    need(history["best_epoch"] is None or _whole(history["best_epoch"]), "best_epoch must be a whole number or null")
    need(isinstance(history["stopping_decay"], float), "stopping_decay must be a number")
    arguments = header["arguments"]
    need(isinstance(arguments, dict) and isinstance(arguments["device"], str), "arguments must be those of a model")
    need(arguments["prior"] in ("natural", "balanced"), "prior must be 'natural' or 'balanced'")


def check_size(classifier: RareCategoryClassifier, num_features: int, weights: dict[str, np.ndarray]) -> None:
    """Before a model is built from numbers in a file: the weights must be there for that many."""
    stored = sum(value.size for value in weights.values())
    need(classifier._settings().hidden * max(1, num_features) <= stored or not isinstance(classifier.backbone, str),
         "hidden and num_features do not fit the stored weights")  # fmt: skip


def check_left_out(left_out: LeftOut, num_classes: int, num_parameters: int) -> None:
    """Shapes, ranges and finite numbers of the left-out models."""
    n, kept = len(left_out.nodes), len(left_out.rows)
    for name, shape, kind in (
        ("nodes", (n,), "i"),
        ("y", (n,), "i"),
        ("rows", (kept,), "i"),
        ("logits", (n, num_classes), "f"),
        ("probabilities", (n, num_classes), "f"),
        ("directions", (kept, num_parameters), "f"),
    ):
        array = getattr(left_out, name)
        need(array.shape == shape and array.dtype.kind == kind, f"left_out/{name} has shape {array.shape}")
        need(bool(np.isfinite(array).all()), f"left_out/{name} is not finite")
    need(n > 0 and kept > 0, "there are no left-out models")
    for name, most in (("nodes", np.iinfo(np.int64).max), ("y", num_classes), ("rows", n)):
        array = getattr(left_out, name)
        need(bool(((array >= 0) & (array < most)).all()), f"left_out/{name} is out of range")
    inside = (left_out.probabilities >= 0) & (left_out.probabilities <= 1)
    need(bool(inside.all()), "left_out/probabilities must lie between 0 and 1")


def restore_calibrator(calibrator: Calibrator, state: dict[str, Any], num_classes: int) -> Calibrator:
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
    with np.errstate(all="ignore"):
        tried = restored.predict_proba(logits, graph=chain)
        of_one = restored.predict_class(torch.from_numpy(logits)[:, None], 0, graph=chain)
    good = tried.shape == logits.shape and of_one.shape == (len(logits), 1) and np.isfinite(tried).all()
    need(bool(good), "the calibrator gives no probabilities")
    return restored


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
