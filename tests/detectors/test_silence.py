"""Networks at nodes without edges: when they are heard, and what they are taken to say where they are not."""

import numpy as np
import pytest

import calirare as cr
from calirare.detectors.base import DetectorInputs, LabelledNodes, gather_blocks
from calirare.detectors.silence import Silence
from calirare.detectors.stack import Stack

NETWORKS = np.array([False, True, False])
NOBODY = np.full((3, 2), np.nan)
LAST = np.array([[np.nan, np.nan], [np.nan, np.nan], [0.35, -0.35]])
"""What each says where it has nothing to say; NaN: it always speaks."""


def labels_of(y):
    nodes = np.arange(len(y))
    return LabelledNodes(nodes, y, np.full(len(y), 1 / len(y)), int(y.max()) + 1, nodes)


def two(margins):
    return np.stack([-margins / 2, margins / 2], axis=-1)


@pytest.fixture
def case():
    """Margins (n, 3), the network's in the middle, labels, and who has no edges."""
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.3).astype(np.int64)
    own = (2.0 * y - 1)[:, None] + rng.normal(size=(400, 2))
    alone = np.arange(400) % 10 == 0
    return np.column_stack([own[:, 0], 0.5 * own[:, 0] + 2.0 * own[:, 1] + 1.0, own[:, 1]]), y, alone


def test_a_silent_network_is_taken_to_say_what_the_others_let_one_expect(case):
    margins, y, alone = case
    margins[alone, 1] = np.random.default_rng(1).normal(scale=9, size=alone.sum())
    silence = Silence.learn(two(margins), labels_of(y), alone, NETWORKS, NOBODY)
    np.testing.assert_allclose(silence.mixture, [[1, 0, 0], [0.5, 0, 2.0], [0, 0, 1]], atol=1e-9)
    np.testing.assert_allclose(silence.shift, [[0, 0], [-0.5, 0.5], [0, 0]], atol=1e-9)
    assert silence.silent.tolist() == [False, True, False]
    said = silence(two(margins), alone)
    np.testing.assert_allclose(said[alone, 1, 1] * 2, 0.5 * margins[alone, 0] + 2 * margins[alone, 2] + 1)
    assert (said[~alone] == two(margins)[~alone]).all() and (said[:, [0, 2]] == two(margins)[:, [0, 2]]).all()
    np.testing.assert_allclose(
        silence.weights(np.array([1.0, 10.0, 3.0]), silence.unheard(said, alone)[:2]), [[6, 0, 23], [1, 10, 3]]
    )


def test_slopes_are_never_below_zero(case):
    margins, y, alone = case
    margins[:, 1] = margins[:, 0] - margins[:, 2]
    margins[alone, 1] = 0.0
    mixture = Silence.learn(two(margins), labels_of(y), alone, NETWORKS, NOBODY).mixture
    assert mixture[1, 0] > 0 and mixture[1, 2] == 0


@pytest.mark.parametrize("num_classes", [2, 3])
def test_a_network_is_heard_where_labels_without_edges_speak_for_it(case, num_classes):
    (_, y, alone), nobody = case, np.full((3, num_classes), np.nan)
    rng = np.random.default_rng(2)
    if num_classes == 3:
        y = rng.integers(0, 3, len(y))
    logits = np.eye(num_classes)[y][:, None] * np.array([1.0, 3.0, 1.0])[:, None] + rng.normal(
        size=(len(y), 3, num_classes)
    )
    assert not Silence.learn(logits, labels_of(y), alone, NETWORKS, nobody).silent.any()
    logits[alone, 1] = rng.normal(size=(alone.sum(), num_classes))
    assert Silence.learn(logits, labels_of(y), alone, NETWORKS, nobody).silent.tolist() == [False, True, False]


def test_who_learned_from_nodes_without_edges_is_heard_on_them(case):
    margins, y, alone = case
    margins[~alone, 1] = np.random.default_rng(1).normal(scale=9, size=(~alone).sum())
    assert not Silence.learn(two(margins), labels_of(y), ~alone, NETWORKS, NOBODY).silent.any()


def test_networks_alone_are_heard(case):
    margins, y, alone = case
    silence = Silence.learn(two(margins), labels_of(y), alone, np.ones(3, dtype=bool), NOBODY)
    assert (silence(two(margins), alone) == two(margins)).all() and not silence.silent.any()


def test_who_says_nothing_of_a_node_is_taken_to_say_what_the_others_let_one_expect(case):
    """The network in the middle is silent without edges, the last member wherever it says the shares alone."""
    margins, y, alone = case
    margins[:, 2] = 3.0 * margins[:, 0] - 1.0
    nothing = np.arange(400) % 7 == 0
    margins[nothing, 2] = -0.7
    silence = Silence.learn(two(margins), labels_of(y), alone, NETWORKS, LAST)
    np.testing.assert_allclose(silence.mixture[2], [3.0, 0, 0])
    assert (silence.mixture[1, 1:] == 0).all() and silence.silent.tolist() == [False, True, True]
    said = silence(two(margins), alone)
    np.testing.assert_allclose(said[nothing, 2, 1] * 2, 3.0 * margins[nothing, 0] - 1.0)
    assert (said[~nothing, 2] == two(margins)[~nothing, 2]).all()
    np.testing.assert_array_equal(
        silence.unheard(two(margins), alone), np.column_stack([alone & False, alone, nothing])
    )
    many = np.repeat(two(margins)[:, None], 2, axis=1)
    np.testing.assert_allclose(silence(many, alone)[:, 1], said)


def test_networks_are_asked_about_who_says_nothing_where_nobody_else_is(case):
    margins, y, alone = case
    networks = np.array([True, True, False])
    silence = Silence.learn(two(margins), labels_of(y), alone, networks, LAST)
    assert silence.silent.tolist() == [False, False, True] and silence.mixture[2, :2].any()
    only = Silence.learn(two(margins)[:, 2:], labels_of(y), alone, networks[2:], LAST[2:])
    assert not only.silent.any()


@pytest.fixture(scope="module")
def stripped():
    """A network, some of whose nodes have lost their edges, and a stack that was fitted to it."""
    graph = cr.make_transactions(num_nodes=300, rare_share=0.25, seed=0)
    cut = np.isin(graph.edge_index, np.arange(0, 300, 10)).any(axis=0)
    graph = cr.RareGraph(graph.x, graph.edge_index[:, ~cut], graph.y, feature_names=graph.feature_names)
    inputs, nodes = DetectorInputs(graph), np.arange(200)
    labels = LabelledNodes(nodes, graph.y[nodes], np.full(200, 1 / 200), 2, nodes)
    return inputs, Stack(["linear", cr.detectors.GCN(epochs=20, weight_decay=5e-2)]).fit(inputs, labels)


def test_a_stack_says_the_same_of_a_lonely_node_in_every_way(stripped):
    inputs, stack = stripped
    assert stack.silence_.silent.tolist() == [False, True] and inputs.alone[[0, 10]].all() and not inputs.alone[1]
    own, slope = stack.members_[0].logits(inputs), stack.silence_.mixture[1, 0]
    expected = slope * own + stack.silence_.shift[1]
    logits = stack.logits(inputs)
    np.testing.assert_allclose(logits[inputs.alone, 1], expected[inputs.alone])
    assert np.abs(logits[~inputs.alone, 1] - expected[~inputs.alone]).max() > 0.1
    left_out = stack.members_[0].left_out_logits()[::10]
    np.testing.assert_allclose(stack.left_out_logits()[::10, 1], slope * left_out + stack.silence_.shift[1])
    rows = stack.left_out_rows[:5]
    without = stack.logits_without_at(inputs, rows, np.array([10]))[0]
    np.testing.assert_allclose(
        gather_blocks(stack.logits_without(inputs, rows), rows, np.array([10]))[0], without, atol=1e-6
    )
    np.testing.assert_allclose(without[:, 1], slope * without[:, 0] + stack.silence_.shift[1])


def test_reasons_of_a_lonely_node_are_those_of_who_is_heard(stripped):
    inputs, stack = stripped
    weights = np.array([0.7, 0.4])
    lonely, joined = stack.weighted_contributions(inputs, np.array([10, 11]), 1, weights)
    alone = stack.members_[0].contributions(inputs, 10, 1)
    heard = 0.7 + 0.4 * stack.silence_.mixture[1, 0]
    np.testing.assert_allclose(lonely.shares[: len(alone.shares)], heard * alone.shares)
    assert not lonely.shares[len(alone.shares) :].any()
    for given, share in ((weights, heard), (np.array([0.0, 0.4]), 0.4 * stack.silence_.mixture[1, 0])):
        (told,) = stack.weighted_contributions(inputs, np.array([10]), 1, given, told=np.array([True, False]))
        np.testing.assert_allclose(told.shares, share * alone.shares)
    parts = [member.contributions(inputs, 11, 1) for member in stack.members_]
    assert joined.logit == pytest.approx(weights @ [part.logit for part in parts], abs=1e-4)


def test_it_is_stored_and_damaged_ones_are_refused(stripped):
    inputs, stack = stripped
    state = stack.state()
    again = Stack(["linear", cr.detectors.GCN(epochs=20, weight_decay=5e-2)]).restore(state)
    assert (again.logits(inputs) == stack.logits(inputs)).all()
    assert (again.left_out_logits() == stack.left_out_logits()).all()
    for name, value in (
        ("silence/mixture", np.eye(3)),
        ("silence/shift", np.zeros((2, 3))),
        ("alone", np.zeros(3, int)),
    ):
        with pytest.raises(cr.errors.CalirareError):
            Stack(["linear", cr.detectors.GCN(epochs=20, weight_decay=5e-2)]).restore(state | {name: value})
