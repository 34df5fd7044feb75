"""What a graph may be made of: checked once, and turned into the types that everything else reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calirare.data.arrays import UNKNOWN, all_below, as_array, as_features, as_indices
from calirare.data.checks import is_whole
from calirare.data.edge_table import EdgeTable
from calirare.data.merging import merge_edges
from calirare.data.split import Split
from calirare.errors import InputError, LabelError


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a `RareGraph` that are changed on their way in.

    Raises:
        InputError: One of them breaks a rule; the message says which.
    """
    x = as_features(given["x"])
    num_nodes = x.shape[0]
    found: dict[str, Any] = {"x": x, **_names(given, x.shape[1])}
    found["y"] = _labels(given["y"], num_nodes, len(found["class_names"]))
    for name in ("original_y", "true_probability"):
        found[name] = _numbers(given[name], name, num_nodes)
    truth = found["true_probability"]
    if truth is not None and not ((truth >= 0) & (truth <= 1)).all():
        raise InputError("true_probability must lie between 0 and 1.")
    _check_split(given["public_split"], num_nodes)
    ids = given["node_ids"]
    if ids is not None and as_array(ids, "node_ids").shape != (num_nodes,):
        raise InputError(f"node_ids must name all {num_nodes} nodes; got shape {np.shape(ids)}.")
    found["edge_index"], found["edge_weight"] = merge_edges(given["edge_index"], given["edge_weight"], num_nodes)
    for name, kind in (("edges", EdgeTable), ("schema", Mapping)):
        if given[name] is not None and not isinstance(given[name], kind):
            raise InputError(f"{name} must be of type {kind.__name__}, or None; got {type(given[name]).__name__}.")
    if given["edges"] is not None:
        given["edges"].check_nodes(num_nodes)
    return found | _kinds(given, num_nodes) | {"node_time": _moments(given["node_time"], num_nodes)}


def _names(given: Mapping[str, Any], num_features: int) -> dict[str, Any]:
    """Names of classes and features, and the rare class among them."""
    classes = _texts(given["class_names"], "class_names")
    if len(set(classes)) < max(2, len(classes)):
        raise LabelError(f"class_names must name at least two classes, each once; got {classes}.")
    rare = given["rare_class"]
    if not is_whole(rare) or not 0 <= rare < len(classes):
        raise InputError(f"rare_class must be one of 0…{len(classes) - 1}; got {rare!r}.")
    features = given["feature_names"]
    if features is not None:
        features = _texts(features, "feature_names")
        if len(features) != num_features:
            raise InputError(f"feature_names must name all {num_features} features; got {len(features)}.")
    return {"class_names": classes, "rare_class": int(rare), "feature_names": features}


def _texts(given: Any, name: str) -> tuple[str, ...]:
    if as_array(given, name).ndim != 1:
        raise InputError(f"{name} must be a tuple of names; got {given!r}.")
    return tuple(str(one) for one in given)


def _labels(given: Any, num_nodes: int, num_classes: int) -> np.ndarray:
    y = as_array(given, "y")
    if y.shape != (num_nodes,) or y.dtype.kind not in "iu":
        raise InputError(f"y must hold one integer per node, shape ({num_nodes},); got {y.dtype} of shape {y.shape}.")
    if y.size and (y.min() < UNKNOWN or y.max() >= num_classes):
        raise InputError(f"y must lie in -1…{num_classes - 1} (-1: unknown); got {int(y.min())}…{int(y.max())}.")
    return y.astype(np.int64)


def _numbers(given: Any, name: str, num_nodes: int) -> np.ndarray | None:
    if given is None:
        return None
    value = as_array(given, name)
    if value.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers; got {value.dtype}.")
    if value.shape != (num_nodes,):
        raise InputError(f"{name} must hold one value per node, shape ({num_nodes},); got {value.shape}.")
    return value


def _check_split(given: Any, num_nodes: int) -> None:
    if given is None:
        return
    if not isinstance(given, Split):
        raise InputError(f"public_split must be a Split; got {type(given).__name__}.")
    named = np.concatenate([given.train, given.val, given.test])
    if named.size and named.max() >= num_nodes:
        raise InputError(f"public_split must name nodes 0…{num_nodes - 1}; got {int(named.max())}.")


def _kinds(given: Mapping[str, Any], num_nodes: int) -> dict[str, Any]:
    names, codes = tuple(str(name) for name in given["node_type_names"]), given["node_type"]
    if codes is not None:
        codes, most = as_indices(codes, "node_type"), len(names)
        if codes.shape != (num_nodes,) or not all_below(codes, most):
            raise InputError(f"node_type must hold one of 0…{most - 1} for each of the {num_nodes} nodes.")
    return {"node_type_names": names, "node_type": codes}


def _moments(given: Any, num_nodes: int) -> np.ndarray | None:
    if given is None:
        return None
    moments = as_array(given, "node_time")
    if moments.dtype.kind == "M":
        moments = np.where(np.isnat(moments), np.nan, moments.astype("datetime64[us]").astype(np.float64) / 1e6)
    try:
        moments = moments.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"node_time must hold numbers or datetimes; got {moments.dtype}.") from None
    if moments.shape != (num_nodes,):
        raise InputError(f"node_time must hold one moment per node, shape ({num_nodes},); got {moments.shape}.")
    return moments
