"""The detectors by name."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import clone
from torch import nn

from calirare.detectors.base import Detector
from calirare.errors import InputError, first_line, nearest

_REGISTRY: dict[str, type[Detector]] = {}
Kind = TypeVar("Kind", bound=type[Detector])


def register(detector: Kind) -> Kind:
    """Add a detector under its name; a class decorator."""
    _REGISTRY[detector.name] = detector
    return detector


def detectors() -> dict[str, type[Detector]]:
    """Every detector by name."""
    return dict(_REGISTRY)


def make_detector(detector: Any) -> Detector:
    """An unfitted detector from a name, a detector (copied, never changed), or a torch module."""
    if isinstance(detector, nn.Module):
        detector = _REGISTRY["module"](detector)
    if isinstance(detector, Detector):
        try:
            copy: Detector = clone(detector)
        except RuntimeError as error:  # torch copies no tensor that a computation made
            raise InputError(
                f"the module must be one that copy.deepcopy can copy; it says: {first_line(error)} "
                "Where forward keeps a tensor (self.h = h), let it keep h.detach()."
            ) from error
        return copy
    if isinstance(detector, type):
        raise InputError(
            f"detector must be an object, not a class; got {detector.__name__}. Make one: {detector.__name__}(…)."
        )
    if not isinstance(detector, str) or detector not in _REGISTRY:
        raise InputError(
            f"detector must be one of {sorted(_REGISTRY)}, a calirare detector or a torch.nn.Module; got {detector!r}: "
            + nearest(str(detector), _REGISTRY)
        )
    if detector == "module":
        raise InputError("detector 'module' needs a module of your own: give the torch.nn.Module itself, or Module(…).")
    return _REGISTRY[detector]()
