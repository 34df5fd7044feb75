"""Processes and Ray."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from ray_cluster import SETTINGS

import calirare as cr
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.errors import InputError, MissingDependencyError
from calirare.scoring.backends import mapping, spread


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


def fit_and_leave_out(graph):
    """What five retrainings calibrate, and left-out answers solved by iteration."""
    detector = cr.detectors.GCN(epochs=20, weight_decay=5e-3)
    folds = cr.RareCategoryClassifier(detector, method="cross_fit", device="cpu").fit(graph)
    trained = cr.RareCategoryClassifier(detector, device="cpu").fit_detector(graph)
    labels = trained.labels
    model, inputs = trained.detector.model_, trained.inputs.tensors
    engine = LeaveOneOut(model, inputs, labels.nodes, labels.y, labels.weights, 5e-3, solver="iterative")
    directions = engine.curvature.directions(np.arange(40), "newton")
    return folds.predict_proba(graph), engine.left_out_logits.numpy(), directions.numpy()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "ray"])
def test_two_processes_give_the_numbers_of_one(backend, monkeypatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    graph = cr.make_transactions(300, labelled_share=0.5, rare_share=0.2, seed=0)
    want = fit_and_leave_out(graph)
    with spread(backend, jobs=2):
        found = fit_and_leave_out(graph)
    np.testing.assert_array_equal(found[0], want[0])
    for mine, theirs in zip(found[1:], want[1:], strict=True):  # threads of a worker may sum in another order
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
