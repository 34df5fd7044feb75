"""Probability, set, action and words tell one story, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.decisions.costs import Costs, decide
from calirare.decisions.wording import Wording, explain_set, sets_beside
from calirare.uncertainty.conformal import conformal_sets

NAMES = Wording(("normal", "fraud"), 1, 0.9)
chance = st.floats(0.0, 1.0)


@given(p=chance, low=chance, high=chance, miss=st.floats(0.1, 1000), alarm=st.floats(0.1, 1000))
def test_nothing_contradicts_the_probability_or_the_action(p, low, high, miss, alarm):
    """The likelier class is always in the set; what is done is never ruled out; the sentence speaks of the same set."""
    thresholds = np.array([high, 1 - low])
    member = conformal_sets([[1 - p, p]], thresholds)
    action = decide(np.array([p]), Costs(miss, alarm, 1.0)).action
    shown = sets_beside(member, action, 1)[0]
    assert shown[1] or p <= 0.5
    assert shown[0] or p >= 0.5
    assert not (action[0] == "clear" and shown.tolist() == [False, True])
    assert not (action[0] == "alert" and shown.tolist() == [True, False])
    sentence = explain_set(NAMES, p, shown, thresholds)
    assert ("fraud is ruled out" in sentence and "all but" not in sentence) == (shown.tolist() == [True, False])
    assert ("all but fraud is ruled out" in sentence) == (shown.tolist() == [False, True])


@pytest.mark.parametrize(("p", "said"), [(0.01, True), (0.7, False)])
def test_the_sentence_holds_the_cut_it_names(p, said):
    """Cuts at 0.02 and 0.06: 90% of the labelled rare nodes score above the first, 90% of the others below the second."""
    sentence = explain_set(NAMES, p, np.array([said, not said]), np.array([0.06, 0.98]))
    assert ("0.020" in sentence) == said and ("0.060" in sentence) != said


def test_too_few_labels_rule_nothing_out():
    assert "nothing can be ruled out" in explain_set(NAMES, 0.3, np.array([True, True]), np.array([0.1, np.inf]))
