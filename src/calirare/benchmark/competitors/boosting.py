"""scikit-learn's boosted trees."""

from __future__ import annotations

from sklearn.ensemble import HistGradientBoostingClassifier

from calirare.benchmark.competitors.columns import COLUMNS
from calirare.benchmark.competitors.tabular import tabular


def make(seed: int) -> HistGradientBoostingClassifier:
    """With its own defaults. Source: key `friedman2001`."""
    return HistGradientBoostingClassifier(random_state=seed)


COMPETITORS = tabular("boosting", make, "friedman2001", slow=tuple(COLUMNS))  # LightGBM's are of the same kind
