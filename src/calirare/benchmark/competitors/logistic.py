"""scikit-learn's logistic regression, its penalty chosen in folds."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calirare.benchmark.competitors.tabular import tabular


def make(seed: int) -> Any:
    """Standardised columns; four penalties, by left-out likelihood. Source: key `cox1958`."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, tol=1e-3, random_state=seed))
    penalties = {"logisticregression__C": (1e-3, 1e-2, 1e-1, 1.0)}
    return GridSearchCV(model, penalties, scoring="neg_log_loss", cv=3)


COMPETITORS = tabular(
    "logistic", make, "cox1958", calibrations=("raw",), core=("propagated, raw",)
)  # its loss calibrates it
