"""Property-based tests: how many examples to try, and values of every kind to try them on."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SMALL = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
any_array = st.sampled_from(
    ["f8", "f4", "f2", "i8", "u8", "i1", "?", "c16", "U3", "S2", "M8[s]", "m8[s]", "O"]
).flatmap(lambda kind: hnp.arrays(kind, SMALL, elements=st.none() | st.text(max_size=2) if kind == "O" else None))
anything = st.one_of(
    any_array, st.none(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.integers(-3, 9), max_size=4),
    st.lists(st.lists(st.integers(-3, 9), max_size=3), max_size=4), st.dictionaries(st.text(max_size=1), st.integers()),
)  # fmt: skip

_FEW = 60


def run_property(examples, property, **strategies):
    """Check a property on so many examples; `slow` runs try thousands, others each time. A few are the same every time."""
    few = examples <= _FEW
    wanted = settings(max_examples=examples, deadline=None, derandomize=few, suppress_health_check=list(HealthCheck))
    wanted(given(**strategies)(property))()


def few_or_many(few, many):
    """A test with the argument `examples`: few by default, many in the slow runs."""
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.slow)])
