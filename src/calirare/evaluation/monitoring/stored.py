"""What a row of the series must look like. Who can write the database can put anything into it."""

from __future__ import annotations

import sys
from typing import Any

from calirare.errors import DataError

Shape = Any
"""`float` (finite), `int` (from 0 on), `str`, `object` (anything); `[shape]` any number of them; `(shape, …)` one each; `{name: shape}` at least
these names; `{str: shape}` any names."""
_LARGEST = 2**53


def fits(value: Any, shape: Shape) -> bool:
    """Whether plain data has this shape.

    >>> fits({"a": [1, 2.5], "b": 0}, {"a": [float]}), fits([1, 2], (float,)), fits(float("nan"), float), fits(True, int)
    (True, False, False, False)
    """
    if isinstance(shape, list):
        return isinstance(value, list | tuple) and all(fits(one, shape[0]) for one in value)
    if isinstance(shape, tuple):
        return isinstance(value, list | tuple) and len(value) == len(shape) and all(map(fits, value, shape))
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return False
        if str in shape:
            return all(fits(one, shape[str]) for one in value.values())
        return all(name in value and fits(value[name], inner) for name, inner in shape.items())
    if shape in (str, object):
        return isinstance(value, shape)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= _LARGEST and value == int(value) if shape is int else abs(value) <= sys.float_info.max


def need(holds: bool, what: str) -> None:
    """Refuse the series unless `holds`."""
    if not holds:
        raise DataError(f"the series holds {what} that calirare did not write; start a new one with another --db.")
