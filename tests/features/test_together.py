"""Rows of one patient are left out together where patients were labelled as a whole."""

from __future__ import annotations

import logging

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss

import calirare as cr
from calirare.features.copies import find_copies
from calirare.features.together import find_groups

PATIENTS, VISITS = 200, 4


def visits(by_patient, seed=0):
    """What is looked for is drawn per patient, and nothing tells it; each patient's visits look alike."""
    rng = np.random.default_rng(seed)
    rare = rng.random(PATIENTS) < 0.2
    patient = np.repeat(np.arange(PATIENTS), VISITS)
    known = rng.random(PATIENTS)[patient] < 0.4 if by_patient else rng.random(len(patient)) < 0.4
    values = rng.normal(size=(PATIENTS, 3))[patient] + 0.1 * rng.normal(size=(len(patient), 3))
    nodes = pl.DataFrame(
        {
            "visit": [f"v{k}" for k in range(len(patient))],
            "patient_id": [f"p{one}" for one in patient],
            **{f"value {k}": values[:, k] for k in range(3)},
            "ill": [("yes" if r else "no") if k else None for r, k in zip(rare[patient], known, strict=True)],
        }
    )
    ends = rng.integers(0, len(patient), (2, 400))
    edges = {"from": [f"v{k}" for k in ends[0]], "to": [f"v{k}" for k in ends[1]]}
    return cr.read_tables(nodes, edges, label="ill", rare="yes"), patient, rare[patient]


def test_those_of_one_patient_are_one_group_where_patients_were_labelled(caplog):
    graph, patient, _ = visits(by_patient=True)
    nodes = np.flatnonzero(graph.y >= 0)
    assert graph.schema["nodes"]["same"] == ["patient_id"]
    with caplog.at_level(logging.WARNING):
        groups = find_groups(graph, nodes)
    assert "labels come patient_id by patient_id" in caplog.text
    together = groups[:, None] == groups[None, :]
    np.testing.assert_array_equal(together, patient[nodes][:, None] == patient[nodes][None, :])


@pytest.mark.parametrize("what", ["labels at random", "everybody is labelled", "no column joins"])
def test_elsewhere_only_copies_are(what):
    graph, patient, _ = visits(by_patient=what != "labels at random")
    nodes = np.arange(len(patient)) if what == "everybody is labelled" else np.flatnonzero(graph.y >= 0)
    if what == "no column joins":
        graph = cr.RareGraph(graph.x, graph.edge_index, graph.y)
    np.testing.assert_array_equal(find_groups(graph, nodes), find_copies(graph, nodes))


@pytest.mark.parametrize("detector", ["linear", "sparse", "forest", "boosting", "spreading", "auto"])
def test_left_out_evidence_is_what_new_patients_get(detector):
    """Nothing can be known of a new patient here: left-out labels say so, as new patients do."""
    graph, patient, ill = visits(by_patient=True)
    classifier = cr.RareCategoryClassifier(detector, device="cpu", seed=0).fit(graph)
    nodes, p = np.flatnonzero(graph.y >= 0), classifier.predict_proba(graph)[:, 1]
    new = np.flatnonzero(graph.y[: len(patient)] < 0)
    base = log_loss(ill[new], np.full(len(new), ill[nodes].mean()))
    assert log_loss(ill[new], p[new]) < 1.08 * base
    left_out = classifier.predict_left_out()[:, 1]
    assert log_loss(ill[nodes], left_out) > 0.9 * log_loss(ill[nodes], np.full(len(nodes), ill[nodes].mean()))
