"""A detector's name and parameters as plain data, so that a stored model says how it was made."""

from __future__ import annotations

from typing import Any

from torch import nn

from calirare.detectors.base import Detector
from calirare.detectors.registry import detectors
from calirare.errors import ModelFormatError

_MODULE = "a torch.nn.Module"


def describe_detector(detector: Any) -> Any:
    """A name as it is; an object as its name and parameters."""
    if isinstance(detector, nn.Module):
        return {"name": "module", "parameters": {"module": _MODULE}}
    if not isinstance(detector, Detector):
        return detector
    return {
        "name": detector.name,
        "parameters": {name: _plain(value) for name, value in detector.get_params(deep=False).items()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, nn.Module):
        return _MODULE
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return describe_detector(value)


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
