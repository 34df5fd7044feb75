"""Left-out logits: three solvers against brute force, against real retraining, and at the edges."""

import logging

import joblib
import numpy as np
import pytest
import torch
from graph_cases import exact_inputs, random_weights, small_graph
from leave_one_out import centred, changes, jacobian, parameter_steps, retrain_without
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks.backbones.gat import GATBackbone
from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.backbones.gin import GINBackbone
from calirare.detectors.networks.backbones.sage import SAGEBackbone
from calirare.detectors.networks.influence import jacobian as jacobians
from calirare.detectors.networks.influence.curvature import LEAST_LEFT_OVER, _bounded
from calirare.detectors.networks.influence.iterative import IterativeCurvature
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut, choose_solver
from calirare.detectors.networks.module import ModuleNetwork
from calirare.detectors.networks.objectives.calirare import left_out_changes
from calirare.detectors.networks.task import Task
from calirare.errors import InputError

NODES = np.array([3, 0, 7, 11, 29, 5, 20, 14, 2, 9, 17, 25])
SOLVERS = ["dual", "primal", "iterative"]


class _Own(nn.Module):
    """A user's module: dense layers around one mean over neighbours, and a buffer."""

    def __init__(self, num_classes):
        super().__init__()
        self.first, self.second = nn.Linear(7, 4), nn.Linear(4, num_classes)
        self.register_buffer("scale", torch.tensor(2.0, dtype=torch.float64))

    def forward(self, x, edge_index):
        hidden = torch.tanh(self.first(x)) * self.scale
        total = torch.zeros_like(hidden).index_add(0, edge_index[1], hidden[edge_index[0]])
        return self.second(nn.functional.dropout(hidden + total, 0.5, self.training))


MODELS = {
    "gcn": lambda c: GCNBackbone(7, c, hidden=5),
    "gat": lambda c: GATBackbone(7, c, hidden=3, heads=2),
    "gin": lambda c: GINBackbone(7, c, hidden=4),
    "sage": lambda c: SAGEBackbone(7, c, hidden=4),
    "own": lambda c: ModuleNetwork(_Own(c), c),
}


def _case(name, num_classes, *, nodes=NODES, sparse=True, weighted=False):
    graph = small_graph(num_classes, sparse=sparse and name != "own", weighted=weighted)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, len(nodes))
    return (
        random_weights(MODELS[name](num_classes)),
        exact_inputs(graph),
        nodes,
        graph.y[nodes],
        weights / weights.sum(),
    )


def _own(engine):
    """Change of each labelled node's logits by the removal of its own label."""
    return centred(engine.left_out_logits - engine.logits[engine.nodes])


@pytest.mark.parametrize(
    ("name", "step"),
    [*((name, "newton") for name in MODELS), *((name, "influence") for name in ("gcn", "own"))],  # with any Jacobian
)
@pytest.mark.parametrize("num_classes", [2, 3])
def test_dual_and_primal_equal_brute_force(name, num_classes, step):
    nodes = NODES if name == "gcn" else NODES[:6]
    case = _case(name, num_classes, nodes=nodes)
    expected, rows = centred(changes(*case, 1e-2, step=step)), np.arange(len(nodes))
    directions = parameter_steps(*case, 1e-2, step=step)
    for solver in ("dual", "primal"):
        engine = LeaveOneOut(*case, 1e-2, step=step, solver=solver)
        torch.testing.assert_close(_own(engine), expected[nodes, rows], atol=1e-8, rtol=0)
        torch.testing.assert_close(centred(engine.changes_among_labelled()), expected[nodes], atol=1e-8, rtol=0)
        everywhere = torch.cat([block for _, block in engine.changes()], dim=1)
        torch.testing.assert_close(centred(everywhere), expected, atol=1e-8, rtol=0)
        torch.testing.assert_close(engine.curvature.directions(rows, step), directions, atol=1e-8, rtol=0)


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_copies_leave_together_as_by_brute_force(solver, num_classes):
    """Copies are to a model what a node is that stands several times among the labels, be they the same or not."""
    nodes, groups = NODES[[0, 1, 2, 1, 3, 0, 1]], np.array([5, 0, 2, 0, 3, 5, 0])
    case = _case("gcn", num_classes, nodes=nodes)
    case[3][[1, 3]] = [0, 1]  # labels that contradict each other
    engine, rows = LeaveOneOut(*case, 1e-2, solver=solver, groups=groups), np.arange(len(nodes))
    expected = centred(changes(*case, 1e-2, groups=groups))
    torch.testing.assert_close(_own(engine), expected[nodes, rows], atol=1e-8, rtol=1e-9)
    torch.testing.assert_close(centred(engine.changes_among_labelled()), expected[nodes], atol=1e-8, rtol=1e-9)
    torch.testing.assert_close(
        torch.cat([block for _, block in engine.changes()], dim=1), expected, atol=1e-8, rtol=1e-9
    )
    others = [np.unique(nodes[groups != group]) for group in groups]
    level = torch.stack([expected[some, row].mean(dim=0) for row, some in enumerate(others)])
    torch.testing.assert_close(centred(engine.level_changes), level, atol=1e-8, rtol=1e-9)
    assert not engine.tells_copies_apart
    assert LeaveOneOut(*case, 1e-2, solver=solver, groups=np.arange(7) // 2).tells_copies_apart


@pytest.mark.parametrize(("name", "num_classes"), [("gcn", 2), *((name, 2 if name == "gat" else 3) for name in MODELS)])
def test_iteration_equals_brute_force(name, num_classes):
    nodes = NODES if name == "gcn" else NODES[:3]  # each iteration goes through the model once per label and class
    case = _case(name, num_classes, nodes=nodes)
    engine = LeaveOneOut(*case, 1e-2, solver="iterative")
    expected, rows = centred(changes(*case, 1e-2)), np.arange(len(nodes))
    torch.testing.assert_close(_own(engine), expected[nodes, rows], atol=1e-8, rtol=1e-9)
    everywhere = torch.cat([block for _, block in engine.changes()], dim=1)
    torch.testing.assert_close(centred(everywhere), expected, atol=1e-8, rtol=1e-9)
    plain = centred(changes(*case, 1e-2, step="influence"))[nodes, rows]
    found = engine.curvature.own_change("influence") @ engine.basis.T
    torch.testing.assert_close(found, plain, atol=1e-8, rtol=1e-9)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_edge_weights_and_dense_features(sparse, solver):
    case = _case("gcn", 3, sparse=sparse, weighted=True)
    expected = centred(changes(*case, 1e-3))
    engine = LeaveOneOut(*case, 1e-3, solver=solver)
    torch.testing.assert_close(centred(engine.changes_among_labelled()), expected[NODES], atol=1e-8, rtol=0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_some_rows_and_some_targets(solver):
    engine = LeaveOneOut(*_case("gcn", 3), 1e-2, solver=solver)
    (_, whole), rows, targets = next(engine.changes()), np.array([5, 1, 8]), np.array([2, 29])
    found_rows, found = zip(*engine.changes(rows, targets), strict=True)
    np.testing.assert_array_equal(np.concatenate(found_rows), rows)
    torch.testing.assert_close(torch.cat(found, dim=1), whole[targets][:, rows], atol=1e-11, rtol=0)


@pytest.mark.parametrize("name", ["gcn", "sage"])
def test_blocks_do_not_change_the_answer(monkeypatch, name):
    monkeypatch.setattr("calirare.detectors.networks.influence.leave_one_out._PUSH_BYTES", 1)
    monkeypatch.setattr("calirare.detectors.networks.gcn_jacobian._BLOCK_BYTES", 1)
    monkeypatch.setattr("calirare.detectors.networks.influence.jacobian._BLOCK_BYTES", 1)
    case = _case(name, 3, nodes=NODES[:4])
    expected = centred(changes(*case, 1e-2))
    for solver in SOLVERS if name == "gcn" else SOLVERS[:2]:
        blocks = list(LeaveOneOut(*case, 1e-2, solver=solver).changes())
        assert len(blocks) == 4
        torch.testing.assert_close(torch.cat([b for _, b in blocks], dim=1), expected, atol=1e-8, rtol=0)


@pytest.mark.parametrize("largest", [0, 2_896], ids=["large", "small"])
def test_directions_can_wait(monkeypatch, largest):
    monkeypatch.setattr("calirare.detectors.networks.influence.curvature._LARGEST_HELD", largest)
    case, rows = _case("gcn", 3), np.array([5, 1, 8])
    expected = parameter_steps(*case, 1e-2)[rows]
    waiting = {solver: LeaveOneOut(*case, 1e-2, solver=solver).curvature.later(rows, "newton") for solver in SOLVERS}
    assert [solver for solver, later in waiting.items() if later] == (["dual", "primal"] if largest else ["dual"])
    for later in filter(None, waiting.values()):
        found = torch.cat([later(slice(0, 2)), later(slice(2, 3))])
        torch.testing.assert_close(found, expected, atol=1e-8, rtol=0)


def test_workers_share_the_labels_and_change_nothing():
    rows = np.arange(5)
    curvature = LeaveOneOut(*_case("gcn", 2, nodes=NODES[:5]), 1e-2, solver="iterative").curvature
    given = curvature.jacobian, curvature.nodes, curvature.terms, curvature.damping
    one = IterativeCurvature(*given, block=2)
    with joblib.parallel_config("threading", n_jobs=4):
        many = IterativeCurvature(*given, block=2)
        found = many.directions(rows, "newton")
    torch.testing.assert_close(many.left_over, one.left_over, atol=1e-12, rtol=0)
    torch.testing.assert_close(found, one.directions(rows, "newton"), atol=1e-12, rtol=0)


def test_a_block_stays_within_its_memory(monkeypatch):
    engine = LeaveOneOut(*_case("gcn", 3), 1e-2)
    per_label = 8 * engine.logits.shape[0] * engine.jacobian.push_width
    monkeypatch.setattr("calirare.detectors.networks.influence.leave_one_out._PUSH_BYTES", 4 * per_label + 1)
    assert [len(rows) for rows, _ in engine.changes(np.arange(10))] == [4, 4, 2]


@pytest.mark.parametrize(("left", "said"), [(1e-12, True), (1e-6, False)])
def test_labels_that_stand_alone_are_counted(left, said, caplog):
    engine = LeaveOneOut(*_case("gcn", 3), 1e-2)
    engine.curvature.leverage = torch.zeros(7, 2, 2, dtype=torch.float64)
    engine.curvature.leverage[3] = torch.diag(torch.tensor([0.5, 1 - left], dtype=torch.float64))
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        engine._say_if_unstable()
    assert ("1 of 7 labels hold the model up alone" in caplog.text) == said


def test_what_is_left_over_is_bounded_from_below():
    rotation = torch.linalg.qr(torch.randn(2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    low = rotation @ torch.diag(torch.tensor([0.5, -1e-13], dtype=torch.float64)) @ rotation.T
    fine = 0.5 * torch.eye(2, dtype=torch.float64)
    found = _bounded(torch.stack([fine, low, fine]))
    torch.testing.assert_close(found[[0, 2]], torch.stack([fine, fine]), atol=0, rtol=0)
    values = torch.linalg.eigvalsh(found[1])
    torch.testing.assert_close(values, torch.tensor([LEAST_LEFT_OVER, 0.5], dtype=torch.float64), atol=1e-14, rtol=0)
    assert float(_bounded(low[:1, :1].reshape(1, 1, 1) * 0)) == LEAST_LEFT_OVER


@pytest.mark.parametrize("around", [0, 1_000], ids=["the nodes around", "the whole graph"])
@pytest.mark.parametrize("name", MODELS)
def test_stepped_logits_are_those_of_the_moved_network(name, around, monkeypatch):
    size = lambda _, nodes: np.full(len(nodes), around)  # noqa: E731
    monkeypatch.setattr("calirare.detectors.networks.influence.leave_one_out.size_around", size)
    monkeypatch.setattr(jacobians, "MOST_KEPT", 0)  # so that steps are pulled through the network
    model, *rest = case = _case(name, 2, nodes=NODES[:4])
    found = LeaveOneOut(*case, 1e-2).stepped_logits(np.array([3, 1]))
    before = parameters_to_vector(model.parameters()).detach()
    model.eval()
    for place, row in enumerate((3, 1)):
        vector_to_parameters(before + parameter_steps(*case, 1e-2)[row], model.parameters())
        torch.testing.assert_close(found[place], model(rest[0])[NODES[row]].detach(), atol=1e-8, rtol=0)
        vector_to_parameters(before, model.parameters())


def test_the_model_is_left_as_it_was():
    model, *rest = _case("gat", 2)
    model.train()
    before = [value.detach().clone() for value in model.parameters()]
    engine = LeaveOneOut(model, *rest, 1e-2)
    engine.left_out_logits, list(engine.changes()), engine.stepped_logits(np.arange(2))
    assert model.training
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(value.grad is None for value in model.parameters())


@pytest.mark.parametrize("damping", [1.0, 1e-3])
@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_saturated_everywhere(solver, num_classes, damping):
    """Softmax without curvature: Λ = 0, H = λI, and a removal moves its node by J_i J_iᵀ ρ_i / λ exactly."""
    model, inputs, nodes, _, weights = _case("gcn", num_classes)
    with torch.no_grad():
        model.output.bias[0] += 90.0
    y = np.arange(len(nodes)) % 2
    engine = LeaveOneOut(model, inputs, nodes, y, weights, damping, solver=solver)
    full, logits = jacobian(model, inputs)
    residual = logits[nodes].softmax(1) - torch.eye(num_classes, dtype=torch.float64)[y]
    own = full[nodes]
    limit = torch.einsum("icp,idp,id,i->ic", own, own, residual, torch.from_numpy(weights)) / damping
    torch.testing.assert_close(_own(engine), centred(limit), rtol=1e-6, atol=1e-9)
    assert _own(engine)[y == 0].abs().max() < 1e-9 < 1e-2 < _own(engine)[y == 1].abs().min()
    among = engine.changes_among_labelled()[np.arange(len(y)), np.arange(len(y))]
    torch.testing.assert_close(centred(among), centred(limit), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_saturated_in_places(solver, num_classes):
    model, inputs, nodes, _, weights = _case("gcn", num_classes)
    with torch.no_grad():
        model.output.weight *= {2: 150.0, 4: 400.0}[num_classes]
    logits = model(inputs).detach()[nodes]
    first, second = logits.topk(2, dim=1).values.T
    assert (first - second).max() > 38 and (first - second).min() < 20, (
        "some nodes saturated to the last digit, some not"
    )
    y = logits.argmax(dim=1).numpy()
    y[::2] = (y[::2] + 1) % num_classes
    engine = LeaveOneOut(model, inputs, nodes, y, weights, 1.0, solver=solver)
    expected = centred(changes(model, inputs, nodes, y, weights, 1.0))[nodes, np.arange(len(nodes))]
    torch.testing.assert_close(_own(engine), expected, rtol=1e-5, atol=1e-5)


class _Logistic(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 2)

    def forward(self, x, edge_index):
        return self.linear(x)


@pytest.mark.refits
def test_newton_follows_real_retraining_better_than_plain_influence():
    """Logistic regression with as few labels as one may have: every label matters, and the truth can be had."""
    graph = small_graph(2, sparse=False, num_nodes=60)
    inputs, nodes = exact_inputs(graph), np.arange(24)
    y, weights, decay = graph.y[nodes], np.full(24, 1 / 24), 1e-2
    model = ModuleNetwork(_Logistic(), 2).double()
    trained, theta = retrain_without(model, inputs, nodes, y, weights, decay, row=None)
    with torch.no_grad():
        nn.utils.vector_to_parameters(theta, model.parameters())
    left = np.arange(0, 24, 4)
    without = [retrain_without(model, inputs, nodes, y, weights, decay, row)[0] for row in left]
    real = centred(torch.stack(without, dim=1) - trained[:, None])[..., 1]
    relative = {}
    for step in ("newton", "influence"):
        engine = LeaveOneOut(model, inputs, nodes, y, weights, decay, step=step)
        own, truth = _own(engine)[left, 1], real[nodes[left], np.arange(len(left))]
        everywhere = centred(torch.cat([block for _, block in engine.changes(left)], dim=1))[..., 1]
        correlations = [
            float(torch.corrcoef(torch.stack(pair))[0, 1])
            for pair in ((own, truth), (everywhere.flatten(), real.flatten()))
        ]
        relative[step] = float((own - truth).norm() / truth.norm())
        if step == "newton":
            assert min(correlations) > 0.99
            assert relative[step] < 0.1
    assert relative["newton"] < 0.5 * relative["influence"]


def test_removing_a_label_moves_its_node_away_from_it():
    """The paper's text has the sign of the step reversed."""
    for solver in SOLVERS:
        engine = LeaveOneOut(*_case("gcn", 3), 1e-2, solver=solver)
        change = _own(engine)
        y = torch.from_numpy(engine.y)
        assert (change[torch.arange(len(y)), y] < 0).all()


def test_left_out_changes_of_a_task_are_the_engines():
    model, inputs, nodes, y, weights = _case("gcn", 3)
    task = Task.of(model, inputs, LabelledNodes(nodes, y, weights, 3, nodes), 1e-2)
    expected = LeaveOneOut(model, inputs, nodes, y, weights, 1e-2).changes_among_labelled()
    torch.testing.assert_close(left_out_changes(task), expected, atol=0, rtol=0)


def test_little_weight_decay_is_raised_and_said(caplog):
    with caplog.at_level(logging.WARNING):
        engine = LeaveOneOut(*_case("gcn", 2), 0.0)
    assert engine.damping == 1e-6 and "too small for leave-one-out" in caplog.text
    assert torch.isfinite(engine.left_out_logits).all()


def test_solver_is_chosen_by_size(monkeypatch, caplog):
    with caplog.at_level(logging.WARNING):
        assert LeaveOneOut(*_case("gcn", 2), 1e-2).solver == "dual"
    assert not caplog.text
    assert choose_solver(100, 1, 60) == "primal"
    assert choose_solver(4_000, 3, 9_000) == "iterative" and choose_solver(4_000, 2, 9_000) == "dual"
    assert choose_solver(8_192, 1, 9_000) == "dual" and choose_solver(8_193, 1, 9_000) == "iterative"
    monkeypatch.setattr("calirare.detectors.networks.influence.leave_one_out._LARGEST_DENSE", 5)
    with caplog.at_level(logging.WARNING):
        assert LeaveOneOut(*_case("gcn", 2), 1e-2).solver == "iterative"
    assert "solving by iteration" in caplog.text


@pytest.mark.parametrize(("argument", "words"), [("step", "'newton' or 'influence'"), ("solver", "'dual'")])
def test_unknown_choices_are_refused(argument, words):
    with pytest.raises(InputError, match=words):
        LeaveOneOut(*_case("gcn", 2), 1e-2, **{argument: "exact"})


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_mean_change_of_the_others(solver, num_classes):
    case = _case("gcn", num_classes)
    engine = LeaveOneOut(*case, 1e-2, solver=solver)
    changes = engine.changes_among_labelled()
    for i in range(len(NODES)):
        others = np.delete(np.arange(len(NODES)), i)
        torch.testing.assert_close(engine.level_changes[i], changes[others, i].mean(dim=0), atol=1e-8, rtol=0)
