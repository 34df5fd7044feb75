"""What a detector or a calibrator does where nobody says otherwise: a change here changes every model of every user."""

from __future__ import annotations

import inspect

import pytest

from calirare import calibration, detectors
from calirare.calibration.stack import StackScaling

NETWORK = {
    "dropout": 0.5,
    "epochs": 200,
    "hidden": 16,
    "lr": 0.01,
    "patience": None,
    "settle": 0.25,
    "weight_decay": 5e-4,
}
DETECTORS = {
    **dict.fromkeys(("GCN", "GAT", "GIN", "SAGE"), NETWORK),
    "Linear": {"hops": "left_out", "penalty": "left_out"},
    "Sparse": {"rate": 0.15, "steps": "left_out"},
    "Forest": {"columns": None, "jobs": None, "leaf": None, "trees": 200},
    "Surroundings": {"alpha": 0.95, "penalty": "left_out", "steps": 24},
    "Spreading": {"alpha": 0.95, "along": "left_out", "by": "left_out", "steps": 24},
    "Boosting": {"jobs": None, "learning_rate": 0.05, "splits": "left_out", "leaves": 8, "rounds": "left_out"},
}
CALIBRATORS = {
    "GATS": {"epochs": 200, "heads": 8, "lr": 0.01, "seed": 0, "train_nodes": None, "weight_decay": 5e-4},
    "CaGCN": {"dropout": 0.5, "epochs": 200, "hidden": 16, "lr": 0.01, "margin": 0.5, "seed": 0, "weight_decay": 5e-3},
}


@pytest.mark.parametrize("name", DETECTORS)
def test_detectors(name: str) -> None:
    assert getattr(detectors, name)().get_params(deep=False) == DETECTORS[name]


@pytest.mark.parametrize("name", CALIBRATORS)
def test_calibrators(name: str) -> None:
    assert getattr(calibration, name)().get_params() == CALIBRATORS[name]


def test_the_stack() -> None:
    assert StackScaling().get_params() == {"shrinkage": 1.0}


@pytest.mark.parametrize("name", [*DETECTORS, *CALIBRATORS])
def test_what_is_given_is_kept(name: str) -> None:
    """Constructors store their arguments untouched."""
    make = getattr(detectors, name, None) or getattr(calibration, name)
    given = {parameter: object() for parameter in inspect.signature(make).parameters}
    assert make(**given).get_params(deep=False) == given
