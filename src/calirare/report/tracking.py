"""A fitted model in MLflow: what was asked for, how good it is, and the model folder with its card."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.sources.addresses import hide_passwords
from calirare.errors import DataError, first_line, optional
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.evaluation import evaluate
from calirare.metrics.registry import headlines
from calirare.persistence.folder import fingerprint_of

_LONGEST = 500
"""Characters of a parameter that every MLflow server takes."""


def log_to_mlflow(
    clf: RareCategoryClassifier, graph: RareGraph, folder: str | Path, *, experiment: str, address: str | None = None
) -> str:
    """Log a saved model as a run of an MLflow experiment; the id of the run.

    Parameters are the estimator's arguments; metrics the headline metrics on left-out or unread labels, with the ends of their
    intervals; tags the fingerprints of model and data; the folder itself is an artifact, loaded again with `calirare.load`.

    Args:
        clf: Fitted.
        graph: The graph it was fitted on.
        folder: Where it was saved.
        experiment: Made where there is none of this name.
        address: Of the tracking server; default: what MLFLOW_TRACKING_URI says.
    """
    mlflow = optional("mlflow", "mlflow", "mlflow-skinny")
    found = evaluate(clf, graph, only=headlines())
    metrics: dict[str, float] = {}
    for name, one in found.after.items():
        ends = {name: one.value, f"{name}_lower": one.lower, f"{name}_upper": one.upper}
        metrics |= {key: float(value) for key, value in ends.items() if np.isfinite(value)}
    prints = fingerprint_of(folder)
    try:
        if address is not None:
            mlflow.set_tracking_uri(address)
        mlflow.set_experiment(experiment)
        with mlflow.start_run() as run:
            mlflow.log_params({name: str(value)[:_LONGEST] for name, value in clf.get_params(deep=False).items()})
            mlflow.log_metrics(metrics)
            mlflow.set_tags(
                {
                    "calirare.model": prints.model,
                    "calirare.data": prints.data or "",
                    "calirare.verdict": found.verdict.level,
                }
            )
            for file in _files(Path(folder)):
                mlflow.log_artifact(str(file), "model")
            return str(run.info.run_id)
    except ImportError as error:  # a database as a store, which is its choice where no server is named
        raise DataError(
            f"MLflow cannot write to {hide_passwords(mlflow.get_tracking_uri())} without {error.name}; set "
            "MLFLOW_TRACKING_URI to a tracking server (http://…), or install the whole of it: pip install mlflow."
        ) from error
    except (mlflow.exceptions.MlflowException, OSError) as error:
        raise DataError(f"MLflow did not take the model: {first_line(error)}.") from error


def _files(folder: Path) -> list[Path]:
    """The model and its card; decisions and earlier versions stay at home."""
    names = [*folder.glob("model.json"), *folder.glob("*.md"), *folder.glob("arrays-*"), *folder.glob("graph-*")]
    return [path for path in names if path.is_file()]
