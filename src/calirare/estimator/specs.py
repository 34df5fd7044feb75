"""A detector's name and parameters as plain data, so that a stored model says how it was made."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from calirare.detectors.base import Detector
from calirare.detectors.registry import detectors
from calirare.errors import ModelFormatError

_MODULE = "a torch.nn.Module"


def describe_detector(detector: Any) -> Any:
    """A name as it is; an object as its name and parameters."""
    if isinstance(detector, nn.Module):
        return {"name": "module", "parameters": {"module": _MODULE}}
    return plain(detector)


def plain(value: Any) -> Any:
    """An argument as JSON can hold it: numbers and arrays of NumPy, devices and detectors too.

    >>> plain((np.int64(3), np.array([1.0, 2.0]), torch.device("cpu"), "gcn", None))
    [3, [1.0, 2.0], 'cpu', 'gcn', None]
    """
    if isinstance(value, Detector):
        return {"name": value.name, "parameters": {k: plain(one) for k, one in value.get_params(deep=False).items()}}
    if isinstance(value, nn.Module):
        return _MODULE
    if isinstance(value, np.ndarray | np.generic | torch.Tensor):
        return value.tolist()
    if isinstance(value, torch.device):
        return str(value)
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def rebuild_detector(said: Any, module: nn.Module | None) -> Any:
    """What `describe_detector` was given. Code is never stored: a user's own module must be passed."""
    if isinstance(said, str):
        return said
    parameters = {}
    for name, value in said["parameters"].items():
        if value == _MODULE:
            if module is None:
                raise ModelFormatError(
                    "this model's network is a module of your own; pass it: cr.load(path, module=…)."
                )
            value = module
        elif isinstance(value, list):
            value = [rebuild_detector(one, module) if isinstance(one, dict | str) else one for one in value]
        elif isinstance(value, dict):
            value = rebuild_detector(value, module)
        parameters[name] = value
    known = detectors()
    if said["name"] not in known:
        raise ModelFormatError(f"there is no detector {said['name']!r}; register it before loading the model.")
    return known[said["name"]](**parameters)
