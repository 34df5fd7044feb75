"""A pytest plugin for `mutants.py`: mutmut 3.8 asks tests for `_nodeid`, which pytest 9 no longer stores."""

import pytest

if not hasattr(pytest.Item, "_nodeid"):
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
