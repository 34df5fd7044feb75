"""Processes and Ray."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from ray_cluster import SETTINGS

import calirare as cr
from calirare.backends import mapping, spread
from calirare.errors import InputError, MissingDependencyError


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


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "ray"])
def test_folds_in_two_processes_give_the_same_model(backend, monkeypatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    graph = cr.make_transactions(300, labelled_share=0.5, rare_share=0.2, seed=0)
    settings = {"method": "cross_fit", "epochs": 20, "weight_decay": 5e-3, "device": "cpu"}
    want = cr.RareCategoryClassifier(**settings).fit(graph).predict_proba(graph)
    with spread(backend, jobs=2):
        found = cr.RareCategoryClassifier(**settings).fit(graph).predict_proba(graph)
    np.testing.assert_array_equal(found, want)
