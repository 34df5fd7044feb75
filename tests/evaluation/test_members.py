"""What each detector of a stack says alone."""

from __future__ import annotations

import numpy as np
import pytest

import calirare as cr
from calirare.evaluation.members import judge_members, loss_at_shares
from calirare.metrics import negative_log_likelihood


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(num_nodes=300, labelled_share=0.5, rare_share=0.2, seed=0, with_payments=False)


def test_one_member_alone_is_the_whole(graph):
    """A stack of one is its Platt map, so both must have the same left-out loss."""
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear"])).fit(graph)
    (member,) = judge_members(clf)
    whole = loss_at_shares(clf.predict_left_out(), clf.labelled_y_, clf.shares_)
    assert (member.name, member.weight) == ("linear", 1.0)
    assert member.loss == pytest.approx(whole, rel=1e-6)


def test_at_the_labels_own_shares_it_is_the_plain_score(graph):
    clf = cr.RareCategoryClassifier("linear").fit(graph)
    found = loss_at_shares(clf.predict_left_out(), clf.labelled_y_, clf.shares_)
    assert found == pytest.approx(negative_log_likelihood(clf.labelled_y_, clf.predict_left_out()))
    assert judge_members(clf) == []


def test_a_member_that_was_left_out_says_why(graph):
    from dataclasses import replace

    bare = replace(graph, x=np.zeros((graph.num_nodes, 0), dtype=np.float32), feature_names=None, schema=None)
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", "gcn"])).fit(bare)
    kept, left = judge_members(clf)
    assert kept.name == "linear" and kept.weight == 1.0
    assert (left.name, left.weight, left.loss) == ("gcn", None, None) and "needs node attributes" in left.reason
