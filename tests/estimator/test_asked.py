"""The same question costs once, and its answer belongs to whoever asked."""

from __future__ import annotations

import numpy as np
import pytest

import calirare as cr
from calirare.estimator import asked


@pytest.fixture(scope="module")
def graphs():
    return [
        cr.make_transactions(num_nodes=80, rare_share=0.3, labelled_share=0.7, seed=seed, with_payments=False)
        for seed in range(2)
    ]


class Counting(cr.detectors.Linear):
    """Counts how often it is asked."""

    name = "counting"

    def logits(self, inputs):
        self.times = getattr(self, "times", 0) + 1
        return super().logits(inputs)


def fitted(graph):
    return cr.RareCategoryClassifier(Counting()).fit(graph)


def test_a_detector_is_asked_once_about_a_graph(graphs):
    clf = fitted(graphs[0])
    first, second = clf.predict_proba(graphs[0]), clf.predict_proba(graphs[0])
    clf.predict_uncalibrated(graphs[0])
    assert clf.detector_.times == 1 and np.array_equal(first, second)
    clf.predict_proba(graphs[1])
    np.testing.assert_array_equal(clf.predict_proba(graphs[0]), first)
    assert clf.detector_.times == 3  # one graph is kept


def test_answers_are_the_callers_own(graphs):
    clf = fitted(graphs[0])
    rows, table = clf.left_out_table(graphs[0])
    before, p = table.copy(), clf.predict_proba(graphs[0])
    table[:], rows[:] = 7, -1
    clf._logits(graphs[0])[:] = 7
    np.testing.assert_array_equal(clf.left_out_table(graphs[0])[1], before)
    np.testing.assert_array_equal(clf.predict_proba(graphs[0]), p)


def test_a_new_fit_forgets(graphs):
    clf = fitted(graphs[0])
    before = clf.predict_proba(graphs[0])
    clf.set_params(class_costs=(1.0, 9.0), detector=Counting(penalty=100.0)).fit(graphs[0])
    assert not np.allclose(clf.predict_proba(graphs[0]), before)


def test_what_is_large_is_not_kept(graphs, monkeypatch):
    monkeypatch.setattr(asked, "MOST_KEPT", 100)
    clf = fitted(graphs[0])
    clf.predict_proba(graphs[0])
    clf.predict_proba(graphs[0])
    assert clf.detector_.times == 1, "two numbers of each node are little beside the graph"
    monkeypatch.setattr(asked, "KEPT_PER_NODE", 15)
    clf = fitted(graphs[0])
    assert np.array_equal(clf.predict_proba(graphs[0]), clf.predict_proba(graphs[0])) and clf.detector_.times == 2


def test_both_classes_of_two_are_told_by_one_table(graphs):
    """As each would be by its own."""
    clf = fitted(graphs[0])
    rows, rare = clf.left_out_table(graphs[0], of_class=1)
    again, other = clf.left_out_table(graphs[0], of_class=0)
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_allclose(other, clf._table(clf.inputs(graphs[0]), 0)[1], atol=1e-6)
    np.testing.assert_allclose(rare + other, 1, atol=1e-6)
