"""The reliability page speaks of nodes that the model has not learned from, and says which."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

import calirare as cr
from calirare.decisions.wording import Wording
from calirare.metrics import brier_score, negative_log_likelihood
from calirare.metrics.registry import METRICS, headlines
from calirare.review.pages.quality_page import draw_quality
from calirare.review.quality import measure
from calirare.review.snapshot import Scores, Snapshot
from calirare.review.versions import Base


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(num_nodes=400, rare_share=0.2, seed=0)


def snapshot_of(graph, split=None, **options):
    clf = cr.RareCategoryClassifier(detector="linear", **options).fit(graph, split)
    return Snapshot("v", clf, graph, Base(graph.y, split), Scores.of(clf, graph))


def test_on_test_nodes_where_there_are_some(graph):
    split = cr.split_labels(graph, train_fraction=0.4, val_fraction=0.0, test_fraction=0.6, seed=0)
    snapshot = snapshot_of(graph, split)
    found = measure(snapshot)
    assert found.evidence.source == "unread" and found.evidence.nodes.tolist() == sorted(split.test.tolist())
    probabilities = snapshot.clf.predict_proba(graph)[found.evidence.nodes]
    assert found.after["brier_score"].value == pytest.approx(brier_score(graph.y[found.evidence.nodes], probabilities))
    name = "average_precision"
    assert found.before[name].value == pytest.approx(found.after[name].value, abs=1e-9)  # calibration keeps the order
    assert found.evidence.calibrates


def test_else_on_left_out_predictions_of_labels_before_any_decision(graph):
    snapshot = snapshot_of(graph)
    found = measure(snapshot)
    assert found.evidence.source == "left_out"
    expected = negative_log_likelihood(snapshot.clf.labelled_y_, snapshot.clf.predict_left_out())
    assert found.after["negative_log_likelihood"].value == pytest.approx(expected)
    base = graph.y.copy()
    base[:100] = -1  # as if the first hundred labels were decisions
    fewer = measure(replace(snapshot, base=Base(base, None)))
    assert fewer.evidence.y.size == 300


def test_the_page_shows_verdict_and_numbers(graph):
    found = measure(snapshot_of(graph))
    page = str(draw_quality(found, "v", Wording(("no", "yes"), 1, 0.9, label_column="fraud")))
    assert f"fraud = no ({(found.evidence.y_rare == 0).sum():,} nodes)" in page and "not fraud" not in page
    assert found.verdict.words in page and all(warning in page for warning in found.warnings)
    for name in headlines():
        assert METRICS[name].title in page and f"{found.after[name].value:.3f}" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "module"),
    [
        ("dash", "calirare.review.app"),
        ("sqlalchemy", "calirare.review.store.decisions"),
        ("waitress", "calirare.review.app"),
    ],
)
def test_without_a_library_the_install_line_is_shown(missing, module):
    code = f"import sys; sys.modules['{missing}'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "pip install 'calirare[review]'" in done.stderr and "MissingDependencyError" in done.stderr
