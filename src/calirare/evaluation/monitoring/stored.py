"""What a row of the series must look like. Who can write the database can put anything into it."""

from __future__ import annotations

import sys
from typing import Any, get_args

from calirare.errors import DataError

Shape = Any
"""As fields are annotated: `float` (finite), `int` (from 0 on), `str`, `object` (anything), lists, tuples and mappings of these; `{name: shape}` at
least these names."""
_LARGEST = 2**53


def fits(value: Any, shape: Shape) -> bool:
    """Whether plain data has this shape.

    >>> fits({"a": [1, 2.5], "b": 0}, {"a": list[float]}), fits([1, 2], tuple[float]), fits(float("nan"), float), fits(True, int)
    (True, False, False, False)
    """
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(name in value and fits(value[name], one) for name, one in shape.items())
    kind, inner = getattr(shape, "__origin__", shape), get_args(shape)
    if kind is list:
        return isinstance(value, list | tuple) and all(fits(one, inner[0]) for one in value)
    if kind is tuple:
        return isinstance(value, list | tuple) and len(value) == len(inner) and all(map(fits, value, inner))
    if kind is dict:
        return isinstance(value, dict) and all(fits(one, inner[1]) for one in value.values())
    if kind in (str, object):
        return isinstance(value, kind)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= _LARGEST and value == int(value) if kind is int else abs(value) <= sys.float_info.max


def need(holds: bool, what: str) -> None:
    """Refuse the series unless `holds`."""
    if not holds:
        raise DataError(f"the series holds {what} that calirare did not write; start a new one with another --db.")
