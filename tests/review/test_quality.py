"""The reliability page speaks of nodes that the model has not learned from, and says which."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import calirare as cr
from calirare.metrics import brier_score, negative_log_likelihood
from calirare.review.pages.quality_page import reliability_figure, score_figure
from calirare.review.quality import measure
from calirare.review.snapshot import Scores, Snapshot
from calirare.review.versions import Base


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(num_nodes=400, rare_share=0.2, seed=0)


def snapshot_of(graph, split=None, **options):
    clf = cr.RareCategoryClassifier(epochs=80, weight_decay=5e-3, hidden=8, **options).fit(graph, split)
    return Snapshot("v", clf, graph, Base(graph.y, split), Scores.of(clf, graph))


def test_on_test_nodes_where_there_are_some(graph):
    split = cr.split_labels(graph, train_fraction=0.4, val_fraction=0.0, test_fraction=0.6, seed=0)
    snapshot = snapshot_of(graph, split)
    found = measure(snapshot)
    probabilities = snapshot.clf.predict_proba(graph)[split.test]
    assert "test nodes" in found.said and found.y_rare.size == split.test.size
    assert found.metrics["brier_score"][1].value == pytest.approx(brier_score(graph.y[split.test], probabilities))
    before, after = found.metrics["average_precision"]
    assert before.value == pytest.approx(after.value, abs=1e-9)  # calibration keeps the order
    assert not np.allclose(found.before, found.after)


def test_else_on_left_out_predictions_of_labels_before_any_decision(graph):
    snapshot = snapshot_of(graph)
    found = measure(snapshot)
    assert "never saw its label" in found.said
    expected = negative_log_likelihood(snapshot.clf.labelled_y_, snapshot.clf.predict_left_out())
    assert found.metrics["negative_log_likelihood"][1].value == pytest.approx(expected)
    base = graph.y.copy()
    base[:100] = -1  # as if the first hundred labels were decisions
    fewer = measure(replace(snapshot, base=Base(base, None)))
    assert fewer.y_rare.size == 300


def test_labels_that_are_no_random_draw_are_pointed_out(graph):
    assert "so dots lie off the line" in measure(snapshot_of(graph, rare_share=0.02)).said
    assert "so dots lie off the line" not in measure(snapshot_of(graph)).said


def test_the_figures_hold_the_numbers(graph):
    found = measure(snapshot_of(graph))
    figure = reliability_figure(found)
    counts = [np.sum(trace.customdata) for trace in figure.data if trace.customdata is not None]
    assert counts == [found.y_rare.size, found.y_rare.size]
    assert sum(np.sum(bar.y) for bar in score_figure(found).data) == pytest.approx(2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "module"),
    [("dash", "calirare.review.app"), ("sqlalchemy", "calirare.review.store"), ("waitress", "calirare.review.app")],
)
def test_without_a_library_the_install_line_is_shown(missing, module):
    code = f"import sys; sys.modules['{missing}'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "pip install 'calirare[review]'" in done.stderr and "MissingDependencyError" in done.stderr
