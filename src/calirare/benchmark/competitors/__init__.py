"""Who takes part in the leaderboard: each competitor in one file behind one contract, reading the same labels.

A module of this package that has a `COMPETITORS` is a file of competitors; `competitors` finds them by itself.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from calirare.benchmark.competitors.base import Answer, Competitor, Problem

__all__ = ["Answer", "Competitor", "Problem", "competitors"]


@cache
def competitors() -> dict[str, Competitor]:
    """Every competitor by name, in the order of its file.

    >>> "auto" in competitors() and "forest, propagated, sigmoid" in competitors()
    True
    """
    found: dict[str, Competitor] = {}
    for module in pkgutil.iter_modules(__path__):
        for one in getattr(import_module(f"{__name__}.{module.name}"), "COMPETITORS", ()):
            if one.name in found:
                raise ValueError(f"two competitors are called {one.name!r}")
            found[one.name] = one
    return found
