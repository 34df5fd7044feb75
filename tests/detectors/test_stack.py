"""Several detectors side by side: who is left out and why, and what is said together is what is said alone."""

import copy
import logging
from dataclasses import replace

import numpy as np
import pytest

import calirare as cr
from calirare.detectors import GCN, Boosting, Forest, Linear, Stack
from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.detectors.registry import make_detector
from calirare.errors import CalirareError, InputError, LabelError, NumericalError


class Failing(Linear):
    name = "failing"

    def fit(self, inputs, labels, *, seed=0, progress=None):
        raise NumericalError("its numbers overflow.")


class Doubtful(Linear):
    name = "doubtful"

    def skip(self):
        return "it cannot help"


class Broken(Linear):
    name = "broken"

    def fit(self, inputs, labels, *, seed=0, progress=None):
        raise ZeroDivisionError("a mistake in the program")


@pytest.fixture(scope="module")
def case():
    graph = cr.make_transactions(num_nodes=120, rare_share=0.25, seed=0, with_payments=False)
    nodes = np.arange(80)
    return DetectorInputs(graph), LabelledNodes(nodes, graph.y[nodes], np.full(80, 1 / 80), 2, nodes)


@pytest.fixture(scope="module")
def fitted(case):
    return Stack(["linear", Forest(trees=10), Linear(penalty=30.0)]).fit(*case)


def test_members_that_fail_or_cannot_help_are_left_out_with_a_word(case, caplog):
    with caplog.at_level(logging.INFO):
        stack = Stack([Failing(), Linear(), Doubtful()]).fit(*case)
    assert stack.names == ("linear",)
    assert stack.left_out_reasons_ == {"failing": "its numbers overflow.", "doubtful": "it cannot help"}
    assert "failing is left out: its numbers overflow." in caplog.text
    assert "doubtful is left out: it cannot help" in caplog.text


@pytest.mark.refits
def test_boosted_trees_are_heard_beside_others_from_fifteen_labels_of_each_class_on(case):
    inputs, labels = case
    rare, others = np.flatnonzero(labels.y == 1), np.flatnonzero(labels.y == 0)
    for count, heard in ((14, ("linear",)), (15, ("linear", "boosting"))):
        stack = Stack(["linear", Boosting(rounds=2)]).fit(inputs, labels.take(np.sort(np.append(others, rare[:count]))))
        assert stack.names == heard
    with_copies = replace(labels, groups=np.where(np.isin(np.arange(80), rare[:2]), rare[0], labels.groups))
    few = with_copies.take(np.sort(np.append(others, rare[:15])))
    stack = Stack(["linear", "boosting"]).fit(inputs, few)
    assert stack.left_out_reasons_ == {"boosting": "it needs 15 labels of each class beside others; there are 14"}
    assert Stack([Boosting(rounds=2)]).fit(inputs, few).names == ("boosting",)


def test_mistakes_of_the_program_are_not_hidden(case):
    with pytest.raises(ZeroDivisionError):
        Stack([Linear(), Broken()]).fit(*case)


def test_who_stands_alone_is_not_asked_whether_it_helps(case):
    assert Stack([Doubtful()]).fit(*case).names == ("doubtful",)


def test_no_member_left_is_an_error_that_says_why(case):
    with pytest.raises(LabelError, match="no detector could be fitted. failing: its numbers overflow"):
        Stack([Failing(), Doubtful()]).fit(*case)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([], "at least one; got"),
        ("linear", "a list of detectors .* got 'linear'"),
        (["linear", "auto"], "is a stack itself"),
    ],
)
def test_members_that_make_no_stack_are_refused(case, members, said):
    with pytest.raises(InputError, match=said):
        Stack(members).fit(*case)


def test_a_network_without_attributes_is_left_out():
    plain = cr.make_transactions(num_nodes=120, rare_share=0.25, seed=0, with_payments=False)
    graph = cr.RareGraph(x=np.empty((120, 0)), edge_index=plain.edge_index, y=plain.y)
    clf = cr.RareCategoryClassifier(Stack([Linear(), GCN(epochs=5)]), device="cpu").fit(graph)
    assert set(clf.weights_) == {"linear"}
    reason = clf.detector_.left_out_reasons_["gcn"]
    assert reason == "'gcn' needs node attributes, and the graph has none; 'auto' does without them."


def test_names_are_numbered_where_they_stand_twice(fitted):
    assert fitted.names == ("linear 1", "forest", "linear 2")


@pytest.mark.refits
def test_together_they_say_what_each_says_alone(case, fitted):
    inputs, labels = case
    alone = [make_detector(member).fit(*case) for member in ("linear", Forest(trees=10), Linear(penalty=30.0))]
    np.testing.assert_array_equal(fitted.logits(inputs), np.stack([m.logits(inputs) for m in alone], axis=1))
    np.testing.assert_array_equal(fitted.left_out_logits(), np.stack([m.left_out_logits() for m in alone], axis=1))
    rows = np.array([40, 3, 11])
    for some, block in fitted.logits_without(inputs, rows):
        assert block.shape == (120, len(some), 3, 2)
        for place, row in enumerate(some):
            for k, member in enumerate(alone):
                ((_, own),) = member.logits_without(inputs, np.array([row]))
                np.testing.assert_allclose(block[:, place, k], own[:, 0], atol=1e-9)
    at = fitted.logits_without_at(inputs, rows, np.array([7, 2]))
    for place, row in enumerate(rows):
        ((_, own),) = fitted.logits_without(inputs, np.array([row]))
        np.testing.assert_allclose(at[:, place], own[[7, 2], 0], rtol=1e-5, atol=1e-6)


def test_members_that_weigh_nothing_are_not_asked_without_labels(case, fitted):
    inputs, _ = case
    rows, nodes = np.array([40, 3]), np.array([7, 2])
    every = fitted.logits_without_at(inputs, rows, nodes)
    some = fitted.logits_without_at(inputs, rows, nodes, np.array([0.5, 0.0, 2.0]))
    np.testing.assert_array_equal(some[:, :, [0, 2]], every[:, :, [0, 2]])
    assert (some[:, :, 1] == 0).all()
    leaning = copy.copy(fitted)
    mixture = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # the forest speaks for the first
    leaning.silence_ = replace(fitted.silence_, mixture=mixture)
    leant_on = leaning.logits_without_at(inputs, rows, nodes, np.array([1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(leant_on[:, :, 1], every[:, :, 1])
    assert (leant_on[:, :, 2] == 0).all()


def test_contributions_are_the_members_weighted(case, fitted):
    inputs, _ = case
    weights = np.array([0.5, 0.0, 2.0])
    nodes = np.array([5, 2, 5])
    every = list(fitted.weighted_contributions(inputs, nodes, 1, weights))
    for found, logits in zip(every, fitted.logits(inputs)[nodes], strict=True):
        assert found.logit == pytest.approx(weights @ (logits[:, 1] - logits[:, 0]))
        assert len(set(found.names)) == len(found.names) == len(found.groups) == len(found.shares)
    by_name = dict(zip(every[0].names, every[0].shares, strict=True))
    parts = [fitted.members_[k].contributions(inputs, 5, 1) for k in (0, 2)]
    told = [dict(zip(one.names, one.shares, strict=True)) for one in parts]
    assert by_name == pytest.approx({name: 0.5 * told[0].get(name, 0) + 2 * told[1].get(name, 0) for name in by_name})


def test_state_restores_the_same_answers(case, fitted):
    inputs, _ = case
    again = Stack(["linear", Forest(trees=10), Linear(penalty=30.0)]).restore(fitted.state())
    assert not np.allclose(fitted.logits(inputs)[:, 0], fitted.logits(inputs)[:, 2]), "the two linear ones differ"
    assert again.names == fitted.names
    np.testing.assert_array_equal(again.logits(inputs), fitted.logits(inputs))
    np.testing.assert_array_equal(again.left_out_logits(), fitted.left_out_logits())
    state = fitted.state()
    for wrong in ({}, state | {"places": [0, 1, 1]}, state | {"places": [2, 1, 9]}, state | {"members": ["gcn"] * 3}):
        with pytest.raises(CalirareError):
            Stack(["linear", Forest(trees=10), Linear(penalty=30.0)]).restore(wrong)


def test_progress_runs_from_member_to_member(case):
    seen = []
    Stack([GCN(epochs=3, weight_decay=0.05), Linear()]).fit(*case, progress=lambda *told: seen.append(told))
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and seen[0][1].startswith("gcn: ") and 0 < shares[0] < 0.5
