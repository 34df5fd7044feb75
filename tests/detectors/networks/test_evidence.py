"""What networks say of labels they did not see: one step against real refits, and folds where a step is not believed."""

import copy
import logging
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import roc_auc_score
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import calirare as cr
from calirare.data.around import inputs_around_all
from calirare.data.inputs import GraphInputs
from calirare.detectors import GAT, GCN, GIN, SAGE
from calirare.detectors.base import DetectorInputs, LabelledNodes, gather_blocks
from calirare.detectors.left_out.ranks import same_rank
from calirare.detectors.networks import judging
from calirare.detectors.networks.evidence import FoldEvidence, StepEvidence, restore_evidence, step_logits
from calirare.detectors.networks.fitting import training
from calirare.detectors.networks.fitting.rest import Rest, come_to_rest
from calirare.detectors.networks.fitting.training import Training, train_network
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.influence.model import predict_logits
from calirare.detectors.networks.task import Task
from calirare.errors import ModelFormatError, NumericalError
from calirare.features.copies import find_copies

pytestmark = pytest.mark.refits


def labels_of(graph, nodes, y=None, groups=None):
    y = graph.y[nodes] if y is None else y
    return LabelledNodes(nodes, y, node_weights(y, 2), 2, np.arange(len(nodes)) if groups is None else groups)


@pytest.fixture(scope="module")
def fitted():
    graph = cr.make_transactions(num_nodes=150, rare_share=0.3, seed=0)
    inputs, labels = DetectorInputs(graph), labels_of(graph, np.arange(100))
    return GCN(epochs=60, hidden=4, dropout=0.0, weight_decay=2e-2).fit(inputs, labels), inputs, labels


@pytest.fixture(scope="module")
def in_folds(fitted):
    """A network told that its labels are copies of each other by twos; since it tells them apart, they are left out in folds."""
    _, inputs, labels = fitted
    pairs = labels_of(inputs.graph, labels.nodes, groups=np.arange(100) // 2)
    return GCN(epochs=3, hidden=3, weight_decay=5e-2).fit(inputs, pairs), pairs


def refitted(fitted, row):
    """Logits of all nodes once the network has come to rest again without this label; the others keep their weights."""
    network, inputs, labels = fitted
    weights = labels.weights.copy()
    weights[row] = 0.0
    model = copy.deepcopy(network.model_)
    without = LabelledNodes(labels.nodes, labels.y, weights, 2, labels.groups)
    come_to_rest(Task.of(model, inputs.tensors, without, network.weight_decay_), most_steps=300)
    return predict_logits(model, inputs.tensors).double().numpy()


@pytest.mark.slow
def test_one_step_is_a_refit_without_the_label(fitted):
    network, inputs, labels = fitted
    assert isinstance(network.evidence_, StepEvidence) and network.history_.slope < 0.1
    whole, left_out = network.logits(inputs), network.left_out_logits()
    rows = np.arange(0, 100, 4)
    real = np.stack([np.diff(refitted(fitted, row)[labels.nodes[row]] - whole[labels.nodes[row]]) for row in rows])[
        :, 0
    ]
    engine = fresh_engine(fitted)
    for said in (left_out, step_logits(engine, engine.stepped_logits(np.arange(100)))):
        step = np.diff(said[rows] - whole[labels.nodes[rows]])[:, 0]
        assert np.corrcoef(real, step)[0, 1] > 0.95
        assert 0.8 < (real @ step) / (step @ step) < 1.25
        own_label = np.where(labels.y[rows] == 1, 1, -1)
        assert (step * own_label < 1e-9).all(), "without its label a node is never trusted more"


def fresh_engine(fitted):
    network, inputs, labels = fitted
    given = labels.nodes, labels.y, labels.weights, network.weight_decay_
    return LeaveOneOut(network.model_, inputs.tensors, *given)


def test_where_a_gcn_bends_its_evidence_is_what_it_says_itself_a_step_away(fitted, monkeypatch):
    network, inputs, labels = fitted
    engine, asked = fresh_engine(fitted), copy.copy(network)
    monkeypatch.setattr(judging, "_STRAIGHT", -1.0)
    monkeypatch.setattr(judging, "_FAR", 0.0)
    asked._evidence = asked._solved = None
    moved, wanted = copy.deepcopy(network.model_), []
    for row, step in enumerate(engine.curvature.directions(np.arange(100), "newton")):
        vector_to_parameters(parameters_to_vector(network.model_.parameters()) + step.float(), moved.parameters())
        wanted.append(np.diff(predict_logits(moved, inputs.tensors)[labels.nodes[row]].numpy()).item())
    level = np.diff(engine.level_changes.numpy())[:, 0]
    np.testing.assert_allclose(np.diff(asked.left_out_logits())[:, 0], np.array(wanted) - level, atol=1e-4)
    assert np.abs(asked.left_out_logits() - step_logits(engine)).max() > 1e-3


def test_refits_in_folds_do_not_look_for_rest_that_is_far(fitted, monkeypatch, two_folds):
    _, inputs, labels = fitted
    given = []
    monkeypatch.setattr(training, "come_to_rest", lambda task, gives_up: given.append(gives_up) or Rest(60, 2.0))
    assert isinstance(GCN(epochs=2, hidden=4).fit(inputs, labels).evidence_, FoldEvidence)
    assert given == [False, True, True]


def test_a_step_moves_other_nodes_as_a_refit_does(fitted):
    network, inputs, _ = fitted
    row = int(np.flatnonzero(fitted[2].y == 1)[0])
    ((_, block),) = network.logits_without(inputs, np.array([row]))
    whole = network.logits(inputs)
    real, step = np.diff(refitted(fitted, row) - whole)[:, 0], np.diff(block[:, 0] - whole)[:, 0]
    assert np.corrcoef(real, step)[0, 1] > 0.9
    nodes = np.array([149, 3])
    np.testing.assert_allclose(network.logits_without_at(inputs, np.array([row]), nodes), block[nodes], atol=1e-4)


@pytest.mark.parametrize("kind", [GCN, GAT, pytest.param(SAGE, marks=pytest.mark.slow)])
def test_copies_are_left_out_together_by_one_step(kind):
    """Twins, alike in all that a network reads, one of them mislabelled: what it is told without them knows of neither."""
    graph = cr.make_transactions(num_nodes=100, rare_share=0.3, seed=0)
    x, edges, y = (np.asarray(part) for part in (graph.x, graph.edge_index, graph.y))
    mine = edges[:, edges[0] == 7]
    edges = np.concatenate([edges, np.stack([np.full(mine.shape[1], 100), mine[1]])], axis=1)
    twins = cr.RareGraph(x=np.concatenate([x, x[7:8]]), edge_index=edges, y=np.append(y, 1 - y[7]))
    nodes = np.append(np.arange(70), 100)
    labels = labels_of(twins, nodes, groups=find_copies(twins, nodes))
    network = kind(epochs=20, hidden=4, dropout=0.0, weight_decay=1e-1).fit(DetectorInputs(twins), labels)
    assert labels.groups[7] == labels.groups[70]
    assert isinstance(network.evidence_, StepEvidence)
    np.testing.assert_allclose(network.left_out_logits()[7], network.left_out_logits()[70], atol=1e-5)
    told = gather_blocks(
        network.logits_without(DetectorInputs(twins), np.array([7, 70])), np.array([7, 70]), np.array([7, 100])
    )
    np.testing.assert_allclose(
        told - told.mean(2, keepdims=True), network.left_out_logits()[[7, 7], None].repeat(2, 1), atol=1e-3
    )


def test_what_is_no_copy_to_a_network_is_left_out_by_folds(fitted, in_folds):
    _, inputs, labels = fitted
    network, pairs = in_folds
    assert isinstance(network.evidence_, FoldEvidence)
    assert all(len(np.unique(network.evidence_.fold[pairs.groups == group])) == 1 for group in range(50))
    rows = np.arange(100)
    told = np.full((100, 2), np.nan)
    for some, block in network.logits_without(inputs, rows):
        told[some] = block[labels.nodes[some], np.arange(len(some))]
    np.testing.assert_allclose(told - told.mean(1, keepdims=True), network.left_out_logits(), atol=1e-5)
    asked, nodes = np.array([70, 3, 41, 2]), np.array([149, 3])
    whole = gather_blocks(network.logits_without(inputs, asked), asked, nodes)
    np.testing.assert_allclose(network.logits_without_at(inputs, asked, nodes), whole, atol=1e-5)


def test_folds_are_read_by_their_rank_in_the_words_of_the_network_of_all_labels(fitted, in_folds):
    _, inputs, labels = fitted
    network, _ = in_folds
    refits = iter(copy.deepcopy(network.evidence_.models))

    def louder(rows):
        model = next(refits)
        with torch.no_grad():
            for value in model.output.parameters():
                value.mul_(8.0)
        return model

    again = FoldEvidence.refit(louder, network.model_, inputs.tensors, labels, network.evidence_.fold)
    np.testing.assert_allclose(again.logits, network.left_out_logits(), atol=1e-4)
    others = np.delete(np.arange(inputs.num_nodes), labels.nodes)
    whole = np.diff(network.logits(inputs)[others])[:, 0]
    for row in [int(np.flatnonzero(again.fold == number)[0]) for number in range(2)]:
        ((_, block),) = again.logits_without(network.model_, inputs.tensors, np.array([row]))
        found = np.diff(block[:, 0])[:, 0]
        np.testing.assert_allclose(np.sort(found[others]), np.sort(whole), atol=0.02 * np.ptp(whole))
        said = np.diff(predict_logits(again.models[again.fold[row]], inputs.tensors).numpy())[:, 0]
        assert (np.diff(found[np.argsort(said)]) >= -1e-9).all()


def test_folds_of_a_graph_without_other_nodes_share_their_mean_curve(fitted):
    graph = fitted[1].graph
    inputs, labels = DetectorInputs(graph), labels_of(graph, np.arange(150), groups=np.arange(150) // 2)
    evidence = GCN(epochs=3, hidden=3, weight_decay=5e-2).fit(inputs, labels).evidence_
    assert isinstance(evidence, FoldEvidence)
    np.testing.assert_allclose(evidence.common, evidence.curves.mean(axis=0))
    for number in range(len(evidence.models)):
        found = np.sort(evidence.logits[evidence.fold == number, 1])
        np.testing.assert_allclose(found[[0, -1]], evidence.common[[0, -1], 1], atol=1e-6)


def test_folds_stored_with_a_unit_and_a_level_are_read_as_they_were(in_folds):
    network, _ = in_folds
    evidence = network.evidence_
    rng = np.random.default_rng(0)
    factor, shift = rng.uniform(0.2, 3.0, len(evidence.models)), rng.normal(size=(len(evidence.models), 2))
    old = {name: value for name, value in evidence.state().items() if name not in ("curves", "common")}
    old |= {"factors": factor[evidence.fold], "shifts": shift[evidence.fold]}
    found = restore_evidence(old, network.model_, 2)
    said = rng.normal(scale=8.0, size=(50, 2))
    for number in range(len(evidence.models)):
        read = np.diff(same_rank(said, found.curves[number], found.common))
        np.testing.assert_allclose(read, np.diff(factor[number] * said + shift[number]), atol=1e-9)


def test_stored_folds_that_do_not_fit_are_refused(in_folds):
    network, _ = in_folds
    state = network.evidence_.state()
    for name, change, what in (
        ("curves", lambda v: v[:, ::-1], "must rise"),
        ("common", lambda v: v[::-1], "must rise"),
        ("common", lambda v: v[1:], "must be as long as"),
        ("fold", lambda v: np.full_like(v, v.max()), "out of range"),
    ):
        with pytest.raises(ModelFormatError, match=what):
            restore_evidence(state | {name: change(state[name])}, network.model_, 2)


@pytest.mark.parametrize("kind", [GCN, GAT, GIN, SAGE])
@pytest.mark.parametrize("as_features", [np.asarray, sp.csr_array])
def test_training_on_what_lies_around_labels_is_training_on_the_whole_graph(kind, as_features):
    rng = np.random.default_rng(1)
    x, edges, y = rng.normal(size=(400, 6)), rng.integers(0, 400, (2, 400)), (rng.random(400) < 0.3).astype(int)
    graph = cr.RareGraph(x=as_features(x), edge_index=edges, y=y)
    inputs, labels = DetectorInputs(graph), labels_of(graph, np.arange(20, 60))
    network = kind(epochs=3, dropout=0.0).fit(inputs, labels, training=Training(rests=False))
    read, here = network._read_by(network.model_, labels)
    whole = GraphInputs(graph, dtype=torch.float64)  # Adam goes by signs, and rounding may turn a small slope
    near = inputs_around_all(whole, labels.nodes)
    assert near.num_nodes == read.num_nodes < 300
    model = network.make(6, 2).double()
    ends = []
    for read, kept in ((near, here), (whole, labels)):
        ends.append(copy.deepcopy(model))
        train_network(ends[-1], read, kept, network._schedule(0.01), Training(rests=False), seed=0)
    found, expected = (predict_logits(end, whole) for end in ends)
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-7)
    assert not torch.allclose(found, predict_logits(model, whole), atol=1e-2)


def test_where_every_label_can_be_learned_folds_are_refitted(fitted, caplog, quick_networks):
    inputs = fitted[1]
    with caplog.at_level(logging.INFO):
        evidence = (
            GCN(epochs=5, hidden=8, weight_decay=1e-5).fit(inputs, labels_of(inputs.graph, np.arange(40))).evidence_
        )
    assert isinstance(evidence, FoldEvidence)
    assert "left-out evidence comes from refits in folds" in caplog.text


def test_where_no_step_can_be_taken_folds_are_refitted(two_folds):
    """Hubs whose neighbours a GIN adds up: logits so large that the curvature has lost its digits."""
    rng = np.random.default_rng(0)
    edges = np.stack([rng.integers(0, 2, 1_200), rng.integers(0, 120, 1_200)])
    graph = cr.RareGraph(x=np.full((120, 1), 30.0), edge_index=edges, y=(rng.random(120) < 0.3).astype(int))
    inputs, labels = DetectorInputs(graph), labels_of(graph, np.arange(120))
    network = GIN(epochs=10, weight_decay="left_out").fit(inputs, labels)
    with pytest.raises(NumericalError, match="not positive definite"):
        network._engine()
    assert network.skip() is None  # what the folds say decides
    assert isinstance(network.evidence_, FoldEvidence)
    adopted = GIN(epochs=1).adopt(network.model_, inputs, labels, seed=0)
    assert isinstance(adopted.evidence_, FoldEvidence)


def test_left_out_logits_that_are_no_numbers_are_no_step(fitted, monkeypatch, quick_networks):
    _, inputs, labels = fitted
    network = GCN(epochs=5, hidden=4, weight_decay=0.05).fit(inputs, labels)
    assert network._step() is network._engine()
    engine = LeaveOneOut(network.model_, inputs.tensors, labels.nodes, labels.y, labels.weights, 0.05)
    monkeypatch.setattr(engine.curvature, "own_change", lambda step: torch.full((len(labels), 1), torch.nan).double())
    network._solved = engine
    assert network._step() is None and network.skip() is None and network._present(judged=True).loss == np.inf
    assert isinstance(network.evidence_, FoldEvidence)


@pytest.mark.parametrize(
    ("weight_decay", "size"),
    [(1e-1, 80), pytest.param(1e-1, 200, marks=pytest.mark.slow), pytest.param(5e-4, 200, marks=pytest.mark.slow)],
)
def test_random_labels_are_not_found(weight_decay, size, two_folds):
    """Labels that mean nothing on many dense columns: whatever the network learned, left out it knows nothing."""
    rng = np.random.default_rng(0)
    y = (np.arange(size) % 4 == 0).astype(int)
    graph = cr.RareGraph(
        x=rng.normal(size=(size, min(50, size // 2))),
        edge_index=rng.integers(0, size, (2, size // 2)),
        y=rng.permutation(y),
    )
    network = GCN(epochs=10, hidden=4, weight_decay=weight_decay)
    network.fit(DetectorInputs(graph), labels_of(graph, np.arange(size)))
    assert network.skip() is not None or weight_decay < 1e-2
    assert isinstance(network.evidence_, FoldEvidence)
    assert 0.3 < roc_auc_score(graph.y, np.diff(network.left_out_logits())[:, 0]) < 0.62


def test_too_few_labels_for_folds_are_said(caplog, quick_networks):
    graph = cr.make_transactions(num_nodes=60, rare_share=0.3, seed=0)
    rare, normal = np.flatnonzero(graph.y == 1)[:1], np.flatnonzero(graph.y == 0)[:9]
    labels = labels_of(graph, np.concatenate([rare, normal]))
    network = GCN(epochs=5, hidden=8, weight_decay=1e-5).fit(DetectorInputs(graph), labels)
    assert isinstance(network.evidence_, StepEvidence)
    assert "too few labels to refit in folds" in caplog.text


@pytest.mark.slow
def test_the_decay_is_chosen_by_left_out_labels(fitted):
    """Of two networks the one with the likelier left-out labels is kept, at rest under its own decay."""
    _, inputs, labels = fitted
    network = GCN(epochs=60, hidden=4, weight_decay="left_out").fit(inputs, labels)
    assert network.weight_decay_ in (5e-4, 5e-3) and network.weight_decay == "left_out"


def test_both_kinds_of_evidence_are_stored(fitted, in_folds):
    network, inputs, _ = fitted
    for one in (network, in_folds[0]):
        again = GCN(**one.get_params()).restore(one.state())
        assert type(again.evidence_) is type(one.evidence_) and again.history_ == one.history_
        np.testing.assert_array_equal(again.left_out_logits(), one.left_out_logits())
        rows = np.array([5, 2])
        for (some, block), (others, theirs) in zip(
            again.logits_without(inputs, rows), one.logits_without(inputs, rows), strict=True
        ):
            np.testing.assert_array_equal(some, others)
            np.testing.assert_array_equal(block, theirs)


def test_models_that_left_all_bounds_are_refused_in_one_line(fitted):
    network, inputs, _ = fitted
    known = network.evidence_
    broken = StepEvidence(known.logits, known.rows, np.full_like(known.directions, np.inf), known.shifts)
    words = "the left-out models give NaN or infinite logits; raise weight_decay, or scale the features and the edge weights."
    with pytest.raises(NumericalError, match=f"^{re.escape(words)}"):
        list(broken.logits_without(network.model_, inputs.tensors, np.arange(2)))


@pytest.mark.parametrize("decays", [(0.1, 2e-2), (2e-2, 0.1)])
def test_another_decay_is_taken_where_left_out_labels_are_likelier(fitted, decays, monkeypatch):
    """From one that lets it learn little, and not to it."""
    _, inputs, labels = fitted
    monkeypatch.setattr("calirare.detectors.networks.network._DECAYS", decays)
    network = GCN(epochs=20, hidden=2, dropout=0.0, weight_decay="left_out").fit(inputs, labels)
    assert network.weight_decay_ == 2e-2


@pytest.mark.parametrize("folds", [False, True])
def test_attributes_of_other_sizes_than_any_labelled_are_judged_as_left_out_logits_are(fitted, in_folds, folds):
    """Left-out logits are cut at ±30, and give a network its weight; what it says of all nodes is cut there too."""
    network, inputs, _ = fitted
    network = in_folds[0] if folds else network
    x, far = np.asarray(inputs.graph.x).copy(), [140, 149]
    x[far] *= 1e9
    inputs = DetectorInputs(replace(inputs.graph, x=x))
    raw, said = predict_logits(network.model_, inputs.tensors).double().numpy(), network.logits(inputs)
    near = np.abs(raw - raw.mean(axis=1, keepdims=True)).max(axis=1) <= 30
    assert not near[far].any() and near.sum() > 20
    np.testing.assert_array_equal(said[near], raw[near])
    np.testing.assert_array_equal(said[~near], 30 * np.sign(raw - raw.mean(axis=1, keepdims=True))[~near])
    rows = network.left_out_rows[:2]
    without = gather_blocks(network.logits_without(inputs, rows), rows, np.array(far))
    assert np.abs(without).max() < 100
    np.testing.assert_allclose(network.logits_without_at(inputs, rows, np.array(far)), without, rtol=1e-5)
    for node in far:
        assert network.contributions(inputs, node, 1).logit == pytest.approx(said[node, 1] - said[node, 0])
