"""scikit-learn's random forest."""

from __future__ import annotations

from sklearn.ensemble import RandomForestClassifier

from calirare.benchmark.competitors.tabular import tabular


def make(seed: int) -> RandomForestClassifier:
    """Two hundred trees, leaves of two. Source: key `breiman2001`."""
    return RandomForestClassifier(200, min_samples_leaf=2, random_state=seed, n_jobs=1)


COMPETITORS = tabular(
    "forest",
    make,
    "breiman2001",
    spelled=True,
    core=("propagated, raw", "propagated, sigmoid", "recipe, sigmoid"),
    slow=("attributes",),
)
