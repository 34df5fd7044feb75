"""Checks of what a stored detector holds. A file can hold anything, also with a checksum that fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.data.checks import are_texts, is_whole
from calirare.errors import ModelFormatError


def need(holds: bool, what: str) -> None:
    """Refuse the state unless `holds`.

    >>> need(False, "the number of hops")
    Traceback (most recent call last):
    calirare.errors.ModelFormatError: the stored detector is damaged: the number of hops. Save the model again.
    """
    if not holds:
        raise ModelFormatError(f"the stored detector is damaged: {what}. Save the model again.")


def under(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """A part's state as entries of the whole's.

    >>> under("trees", {"value": 1}), inside("trees", {"trees/value": 1, "leaf": 2})
    ({'trees/value': 1}, {'value': 1})
    """
    return {f"{name}/{key}": value for key, value in state.items()}


def inside(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """The part's state again."""
    return {key.removeprefix(f"{name}/"): value for key, value in state.items() if key.startswith(f"{name}/")}


def numbers(state: dict[str, Any], name: str, ndim: int, *, size: int | None = None, kind: str = "f") -> np.ndarray:
    """The array `state[name]`: finite, with `ndim` axes, the first of length `size`; float64, or int64 with kind "i"."""
    array = state.get(name)
    need(isinstance(array, np.ndarray) and array.ndim == ndim, f"{name!r} must be an array with {ndim} axes")
    assert isinstance(array, np.ndarray)
    need(array.dtype.kind == kind, f"{name!r} must hold {'whole ' if kind == 'i' else ''}numbers")
    need(size is None or len(array) == size, f"{name!r} must have {size} rows")
    need(bool(np.isfinite(array).all()), f"{name!r} is not finite")
    return array.astype(np.float64 if kind == "f" else np.int64)


def network_weights(name: str, state: dict[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of a network's part `name`, finite; a batch norm also counts in whole numbers.

    >>> network_weights("weights", {"weights/seen": np.array(3)})
    {'seen': array(3)}
    """
    found = inside(name, state)
    for key, array in found.items():
        need(isinstance(array, np.ndarray) and array.dtype.kind in "fiub", f"{key!r} must hold numbers")
        need(bool(np.isfinite(array).all()), f"{key!r} is not finite")
    return found


def texts(state: dict[str, Any], name: str) -> tuple[str, ...]:
    """The list of texts `state[name]`."""
    found = state.get(name)
    need(are_texts(found), f"{name!r} must list texts")
    assert are_texts(found)
    return tuple(found)


def whole(state: dict[str, Any], name: str, least: int = 0) -> int:
    """The whole number `state[name]`, at least `least`."""
    found = state.get(name)
    need(is_whole(found) and found >= least, f"{name!r} must be a whole number")
    assert is_whole(found)
    return found
