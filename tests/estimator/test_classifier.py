import copy

import numpy as np
import pytest
import torch
from leave_one_out import change_by_engine, change_by_retraining
from scipy.special import softmax
from sklearn.base import clone
from torch_geometric.nn import GCNConv

import calirare as cr
from calirare.calibration import PlattScaling, share_weights
from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.weights import node_weights
from calirare.errors import InputError, LabelError
from calirare.influence.leave_one_out import LeaveOneOut

QUICK = {"epochs": 40, "hidden": 6, "weight_decay": 1e-2, "device": "cpu"}


@pytest.fixture(scope="module")
def graph() -> cr.RareGraph:
    return cr.make_transactions(num_nodes=500, rare_share=0.2, seed=1)


@pytest.fixture(scope="module")
def split(graph) -> cr.Split:
    return cr.split_labels(graph, train_fraction=0.3, val_fraction=0.2, test_fraction=0.5, seed=0)


class Network(torch.nn.Module):
    """A PyG model as a user would write it."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(num_features, 8), GCNConv(8, 2)

    def forward(self, x, edge_index, edge_weight=None):
        return self.second(torch.relu(self.first(x, edge_index, edge_weight)), edge_index, edge_weight)


def test_scikit_learn_manners(graph, split):
    clf = cr.RareCategoryClassifier(method="platt", rare_share=0.1, **QUICK)
    parameters = clf.get_params()
    assert clone(clf).get_params() == parameters
    assert clf.fit(graph, split) is clf
    assert clf.get_params() == parameters
    assert clf.set_params(epochs=3).epochs == 3
    assert not [name for name in vars(clone(clf)) if name.endswith("_")]


def test_fit_changes_neither_graph_nor_split(graph, split):
    before = copy.deepcopy(graph), copy.deepcopy(split)
    cr.RareCategoryClassifier(**QUICK).fit(graph, split)
    np.testing.assert_array_equal(graph.y, before[0].y)
    np.testing.assert_array_equal(graph.x, before[0].x)
    np.testing.assert_array_equal(split.train, before[1].train)


def test_same_seed_same_bytes_and_global_state_untouched(graph, split):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = cr.RareCategoryClassifier(seed=4, **QUICK).fit(graph, split).predict_proba(graph)
    assert torch.equal(torch.rand(3), expected)
    second = cr.RareCategoryClassifier(seed=4, **QUICK).fit(graph, split).predict_proba(graph)
    other = cr.RareCategoryClassifier(seed=5, **QUICK).fit(graph, split).predict_proba(graph)
    assert first.tobytes() == second.tobytes()
    assert not np.allclose(first, other)


def test_jackknife_is_platt_on_left_out_logits(graph, split):
    """The method spelled out: train on all labels, leave each out, fit scale and shift, apply."""
    clf = cr.RareCategoryClassifier(method="jackknife", **QUICK).fit(graph, split)
    nodes, y = split.labelled, graph.y[split.labelled]
    np.testing.assert_array_equal(clf.labelled_nodes_, nodes)
    engine = LeaveOneOut(
        clf.model_, GraphInputs(graph), nodes, y, node_weights(y, 2), clf.weight_decay + clf.history_.stopping_decay
    )
    left_out = engine.left_out_logits.numpy()
    shares = np.bincount(graph.y[split.val], minlength=2) / len(split.val)
    by_hand = PlattScaling().fit(left_out, y, weights=share_weights(y, shares))
    np.testing.assert_allclose(clf.predict_proba(graph), by_hand.predict_proba(engine.logits.numpy()), atol=1e-6)
    np.testing.assert_allclose(clf.predict_left_out(), by_hand.predict_proba(left_out), atol=1e-6)


def test_intervals_equal_a_loop_over_left_out_models(graph, split):
    clf = cr.RareCategoryClassifier(method="uncalibrated", **QUICK).fit(graph, split)
    y, decay = graph.y[split.train], clf.weight_decay + clf.history_.stopping_decay
    engine = LeaveOneOut(clf.model_, GraphInputs(graph), split.train, y, node_weights(y, 2), decay)
    changes = torch.cat([block for _, block in engine.changes()], dim=1).double()
    table = softmax((engine.logits[:, None] + changes).numpy(), axis=2)[:, :, 1]
    own = softmax(engine.left_out_logits.numpy(), axis=1)[:, 1]
    residuals = np.abs(y - own)
    lower = np.quantile(table - residuals, 0.05, axis=1).clip(0, 1)
    upper = np.quantile(table + residuals, 0.95, axis=1).clip(0, 1)
    found = clf.predict_interval(graph, coverage=0.9)
    np.testing.assert_allclose(found.lower, lower, atol=1e-4)
    np.testing.assert_allclose(found.upper, upper, atol=1e-4)


def test_explanation_equals_the_left_out_table(graph, split):
    clf = cr.RareCategoryClassifier(**QUICK).fit(graph, split)
    rows, table = clf.left_out_table(graph)
    explained = clf.explain(graph, 11)
    pull = clf.predict_proba(graph)[11, 1] - table[11]
    by_node = dict(zip(clf.labelled_nodes_[rows], pull, strict=True))
    np.testing.assert_allclose(explained.pull, [by_node[node] for node in explained.labelled_node], atol=1e-5)
    assert (np.diff(np.abs(explained.pull)) <= 1e-12).all()
    np.testing.assert_array_equal(explained.label, graph.y[explained.labelled_node])


def test_deviation_is_the_jackknife_standard_error(graph, split):
    clf = cr.RareCategoryClassifier(**QUICK).fit(graph, split)
    _, table = clf.left_out_table(graph)
    n = table.shape[1]
    squares = ((table - clf.predict_proba(graph)[:, [1]]) ** 2).sum(axis=1)
    np.testing.assert_allclose(clf.predict_deviation(graph), np.sqrt(squares * (n - 1) / n), rtol=1e-4)


def test_without_a_split_every_known_label_is_used(graph):
    hidden = graph.y.copy()
    hidden[100:] = -1
    clf = cr.RareCategoryClassifier(**QUICK).fit(graph.with_labels(hidden))
    np.testing.assert_array_equal(clf.labelled_nodes_, np.arange(100))


def test_without_a_split_held_out_methods_set_labels_aside(graph):
    clf = cr.RareCategoryClassifier(method="temperature", **QUICK).fit(graph)
    assert 0.7 * graph.num_nodes < len(clf.labelled_nodes_) < 0.8 * graph.num_nodes


def test_from_trained_leaves_the_module_alone(graph, split):
    torch.manual_seed(0)
    module = Network(graph.num_features)
    before = copy.deepcopy(module.state_dict())
    clf = cr.RareCategoryClassifier.from_trained(module, graph, split, method="jackknife", weight_decay=1e-2)
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    np.testing.assert_array_equal(clf.labelled_nodes_, split.train)
    assert clf.predict_proba(graph).shape == (graph.num_nodes, 2)
    corrupted = graph.y.copy()
    others = np.setdiff1d(np.arange(graph.num_nodes), split.train)
    corrupted[others] = 1 - corrupted[others]
    again = cr.RareCategoryClassifier.from_trained(module, graph.with_labels(corrupted), split, weight_decay=1e-2)
    np.testing.assert_array_equal(again.predict_proba(graph), clf.predict_proba(graph))


def test_a_users_module_as_backbone(graph, split, tmp_path):
    module = Network(graph.num_features)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.Module(module, epochs=10), device="cpu").fit(graph, split)
    clf.save(tmp_path / "model")
    with pytest.raises(OSError, match="module=module"):
        cr.load(tmp_path / "model")
    loaded = cr.load(tmp_path / "model", backbone=Network(graph.num_features))
    np.testing.assert_array_equal(loaded.predict_proba(graph), clf.predict_proba(graph))


@pytest.mark.parametrize("backbone", ["gcn", "gat", "gin", "sage"])
def test_every_backbone_fits_and_scores_new_nodes(backbone):
    graph = cr.make_transactions(num_nodes=100, rare_share=0.2, labelled_share=0.5, seed=0)
    clf = cr.RareCategoryClassifier(detector=backbone, **QUICK).fit(graph)
    other = cr.make_transactions(num_nodes=120, rare_share=0.2, seed=9)
    assert clf.predict_proba(other).shape == (120, 2)
    assert clf.predict_interval(other).upper.shape == (120,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epochs": 0}, "epochs"),
        ({"dropout": 1.0}, "dropout"),
        ({"settle": 1.5}, "settle"),
        ({"lr": -1}, "lr"),
        ({"weight_decay": -1e-4}, "weight_decay"),
        ({"prior": "flat"}, "prior"),
        ({"rare_share": 1.5}, "rare_share"),
        ({"backbone": "gnc"}, "did you mean"),
        ({"class_costs": (1.0,)}, "class_costs"),
        ({"device": "tpu9"}, "device"),
    ],
)
def test_bad_arguments_are_named(arguments, message, graph, split):
    with pytest.raises(InputError, match=message):
        cr.RareCategoryClassifier(**{**QUICK, **arguments}).fit(graph, split)


def test_labels_that_do_not_allow_a_fit(graph):
    with pytest.raises(LabelError, match="no known label"):
        cr.RareCategoryClassifier(**QUICK).fit(graph.with_labels(np.full(500, -1)))
    with pytest.raises(LabelError, match="fraud"):
        cr.RareCategoryClassifier(**QUICK).fit(graph.with_labels(np.zeros(500, dtype=int)))
    unknown = graph.y.copy()
    unknown[3] = -1
    with pytest.raises(LabelError, match="without a label"):
        cr.RareCategoryClassifier(**QUICK).fit(graph.with_labels(unknown), cr.Split(train=np.arange(50)))


def test_other_features_are_refused(graph, split):
    clf = cr.RareCategoryClassifier(**QUICK).fit(graph, split)
    with pytest.raises(InputError, match="features"):
        clf.predict_proba(cr.make_transactions(num_nodes=50, num_features=20, seed=0))


def test_extreme_inputs_stay_finite():
    """Separable data without weight decay saturate the softmax; everything must stay a probability."""
    rng = np.random.default_rng(0)
    y = (np.arange(200) < 10).astype(int)
    x = rng.normal(size=(200, 3)) * 0.01 + 30.0 * y[:, None]
    graph = cr.RareGraph(x=x, edge_index=np.empty((2, 0), dtype=int), y=y)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(weight_decay=0.0, epochs=100), device="cpu").fit(graph)
    probabilities, interval = clf.predict_proba(graph), clf.predict_interval(graph)
    assert np.isfinite(probabilities).all() and np.isfinite(interval.lower).all() and np.isfinite(interval.upper).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)


def test_a_module_trained_too_shortly_is_pointed_out(graph, split, caplog):
    """How far a user's training went is not known, so only the weight decay enters the left-out logits."""
    torch.manual_seed(0)
    module = cr.RareCategoryClassifier(
        detector=cr.detectors.Module(Network(graph.num_features), epochs=20), device="cpu"
    ).fit(graph, split)
    assert "far from its optimum" not in caplog.text  # our own training is accounted for
    cr.RareCategoryClassifier.from_trained(module.model_.module, graph, split, weight_decay=1e-5)
    assert "far from its optimum" in caplog.text


def test_a_network_that_knows_its_labels_by_heart_is_pointed_out(caplog):
    """Forty labels that mean nothing and sixty columns: every label can be learned, none can be foretold."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=40)
    graph = cr.RareGraph(x=5 * rng.normal(size=(40, 60)), edge_index=np.empty((2, 0), dtype=int), y=y)
    cr.RareCategoryClassifier(detector=cr.detectors.GCN(weight_decay=0.1, epochs=60), device="cpu").fit(graph)
    assert "certain of all its labels" not in caplog.text
    cr.RareCategoryClassifier(detector=cr.detectors.GCN(weight_decay=1e-5, epochs=60), device="cpu").fit(graph)
    assert "certain of all its labels" in caplog.text


@pytest.mark.slow
def test_left_out_logits_follow_retraining_where_training_stops_early():
    """On dense columns 200 epochs are short; weight decay alone would exaggerate what a rare label does."""
    graph = cr.make_transactions(num_nodes=1_500, labelled_share=0.3, seed=0)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(dropout=0.0), device="cpu")
    trained = clf.fit_detector(graph)
    labels = trained.labels
    rare = np.flatnonzero(labels.train_y == 1)[:10]
    without_stopping = LeaveOneOut(
        trained.model, trained.inputs, labels.train_nodes, labels.train_y, trained.weights, clf.weight_decay
    )
    change = change_by_retraining(trained, rare)
    short, long = (change_by_engine(engine, rare) for engine in (trained.leave_one_out(), without_stopping))
    assert np.abs(short - change).sum() < 0.6 * np.abs(long - change).sum()
    assert 0.5 < change.sum() / short.sum() < 1.5


@pytest.mark.slow
@pytest.mark.datasets
def test_left_out_logits_are_those_of_retraining_where_training_settles(data_folder, monkeypatch):
    """200 epochs, the last 50 without dropout, and again from the same seed without each of twelve rare labels."""
    monkeypatch.setenv("CALIRARE_DATA", str(data_folder))
    graph = cr.load_benchmark("cora")
    split = cr.split_labels(graph, labels_per_class=20, seed=0)
    trained = cr.RareCategoryClassifier(device="cpu").fit_detector(graph, split)
    rare = np.flatnonzero(trained.labels.train_y == 1)[::7]
    real, predicted = change_by_retraining(trained, rare), change_by_engine(trained.leave_one_out(), rare)
    assert len(rare) >= 10
    assert np.corrcoef(real, predicted)[0, 1] > 0.97
    assert 0.9 < (real @ predicted) / (predicted @ predicted) < 1.15


@pytest.mark.parametrize("device", ["meta", "mps", "abacus", "cuda:99"])
def test_devices_that_cannot_be_used(device):
    with pytest.raises(InputError, match="device"):
        cr.RareCategoryClassifier(device=device).fit(cr.make_transactions(num_nodes=60, seed=0))
