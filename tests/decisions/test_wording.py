"""Probability, set, action and words tell one story, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.decisions.costs import Costs, decide
from calirare.decisions.wording import Wording, explain_set, sets_beside, share, write_pulls
from calirare.uncertainty.conformal import conformal_sets
from calirare.uncertainty.pulls import Pulls

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


@pytest.mark.parametrize(
    ("p", "thresholds", "said"),
    [
        (0.6, [0.7, 0.98], "P(fraud) is 0.600: normal cannot be ruled out, though fraud is likelier."),
        (0.5, [0.7, 0.98], "P(fraud) is 0.500: fraud cannot be ruled out, though normal is likelier."),
        (0.3, [0.1, np.inf], "P(fraud) is 0.300: with so few labels nothing can be ruled out at 90%."),
    ],
)
def test_whole_sentences_of_open_sets(p, thresholds, said):
    assert explain_set(NAMES, p, np.array([True, True]), np.array(thresholds)) == said


def test_pulls_are_named_by_id_or_by_place():
    found = Pulls(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [0, 1]]), np.array([[0.12, -0.0305], [0.5, 0.25]]))
    assert write_pulls(NAMES, found).tolist() == [
        "training node 1 (fraud) +0.120; training node 0 (normal) -0.030",
        "training node 0 (normal) +0.500; training node 1 (fraud) +0.250",
    ]
    named = Wording(("normal", "fraud"), 1, 0.9, ids=np.array(["a", "b"]))
    assert write_pulls(named, found)[0] == "b (fraud) +0.120; a (normal) -0.030"


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.0, "below 0.001"), (0.001, "0.001"), (0.5, "0.500"), (0.999, "0.999"), (1.0, "above 0.999")],
)
def test_probabilities_are_never_certain(p, said):
    assert share(p) == said


@pytest.mark.parametrize(
    ("names", "column", "said"),
    [
        (("no", "YES"), "is_fraud", "is_fraud = YES"), (("0", "1.5"), "risk", "risk = 1.5"), (("0", "1"), None, "1"),
        (("ok", "mule"), "kind", "mule"), (("f", "T"), "flag", "flag = T"), (("a", "1.5.2"), "release", "1.5.2"),
    ],
)  # fmt: skip
def test_bare_names_take_their_column(names, column, said):
    assert Wording(names, 1, 0.9, label_column=column).rare == said
