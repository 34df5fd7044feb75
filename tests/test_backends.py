"""Processes and Ray."""

from __future__ import annotations

import sys

import pytest

from calirare.backends import mapping
from calirare.errors import InputError, MissingDependencyError


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"backend": "dask"}, "backend must be one of"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": -3}, "jobs must be"),
        ({"address": "auto"}, "--backend ray"),
    ],
)
def test_mistakes(arguments, says):
    with pytest.raises(InputError, match=says), mapping(**arguments):
        pass


def test_without_ray_the_install_line_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"calirare\[ray\]"), mapping("ray"):
        pass
