"""LightGBM's boosted trees."""

from __future__ import annotations

from typing import Any

from calirare.benchmark.competitors.tabular import tabular
from calirare.errors import MissingDependencyError


def make(seed: int) -> Any:
    """With its own defaults. Source: key `ke2017`."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        raise MissingDependencyError("lightgbm", "trees") from None
    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True)


COMPETITORS = tabular("lightgbm", make, "ke2017", core=("propagated, sigmoid", "recipe, sigmoid"))
