import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from leave_one_out import change_by_refitting
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from torch_geometric.nn import GCNConv

import calirare as cr
from calirare.calibration import share_weights
from calirare.calibration.scaling import SoftPlattScaling
from calirare.data.inputs import GraphInputs
from calirare.detectors import GCN, Module, Stack
from calirare.detectors.base import DetectorInputs
from calirare.detectors.left_out.folds import fold_numbers
from calirare.detectors.networks.fitting import training
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.registry import make_detector
from calirare.errors import InputError, LabelError
from calirare.estimator.fitting import TrainedDetector

NETWORK = GCN(epochs=40, hidden=6, weight_decay=1e-2)
QUICK = {"detector": NETWORK, "device": "cpu"}
LINEAR = {"detector": "linear", "device": "cpu"}
pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module")
def graph() -> cr.RareGraph:
    return cr.make_transactions(num_nodes=300, rare_share=0.25, seed=1, with_payments=False)


@pytest.fixture(scope="module")
def split(graph) -> cr.Split:
    return cr.split_labels(graph, train_fraction=0.3, val_fraction=0.2, test_fraction=0.5, seed=0)


@pytest.fixture(scope="module")
def linear(graph, split) -> cr.RareCategoryClassifier:
    """Fitted once for all who only ask."""
    return cr.RareCategoryClassifier(**LINEAR).fit(graph, split)


@pytest.fixture(scope="module")
def network(graph, split) -> cr.RareCategoryClassifier:
    """Fitted once for all who only ask."""
    return cr.RareCategoryClassifier(**QUICK).fit(graph, split)


class Network(torch.nn.Module):
    """A PyG model as a user would write it."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(num_features, 8), GCNConv(8, 2)

    def forward(self, x, edge_index, edge_weight=None):
        return self.second(torch.relu(self.first(x, edge_index, edge_weight)), edge_index, edge_weight)


def test_scikit_learn_manners(graph, split, quick_networks):
    clf = cr.RareCategoryClassifier(clone(NETWORK), method="platt", rare_share=0.1, device="cpu")
    parameters = clf.get_params(deep=False)
    assert repr(clone(clf)) == repr(clf)
    assert clf.fit(graph, split) is clf
    assert clf.get_params(deep=False) == parameters
    check_is_fitted(clf)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(clf))
    assert clf.set_params(detector__epochs=3).detector.epochs == 3
    assert not hasattr(clone(clf), "state_") and set(vars(clone(clf))) == set(parameters)
    assert not hasattr(NETWORK, "model_"), "a detector that is passed is copied, never fitted"


def test_fit_changes_neither_graph_nor_split(graph, split, quick_networks):
    before = copy.deepcopy(graph), copy.deepcopy(split)
    cr.RareCategoryClassifier(**QUICK).fit(graph, split)
    np.testing.assert_array_equal(graph.y, before[0].y)
    np.testing.assert_array_equal(graph.x, before[0].x)
    np.testing.assert_array_equal(split.train, before[1].train)


@pytest.mark.refits
def test_same_seed_same_bytes_and_global_state_untouched(graph, split, quick_networks):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = cr.RareCategoryClassifier(seed=4, **QUICK).fit(graph, split).predict_proba(graph)
    assert torch.equal(torch.rand(3), expected)
    second = cr.RareCategoryClassifier(seed=4, **QUICK).fit(graph, split).predict_proba(graph)
    other = cr.RareCategoryClassifier(seed=5, **QUICK).fit(graph, split).predict_proba(graph)
    assert first.tobytes() == second.tobytes()
    assert not np.allclose(first, other)


def engine_of(clf, graph):
    """One Newton step from the fitted network, as the estimator should have taken it."""
    nodes, y, network = clf.labelled_nodes_, clf.labelled_y_, clf.detector_
    return LeaveOneOut(network.model_, GraphInputs(graph), nodes, y, node_weights(y, 2), network.weight_decay_)


def test_jackknife_is_platt_on_left_out_logits(graph, split, network):
    """The method spelled out: train on all labels, leave each out, fit scale and shift, apply, draw to the base rate."""
    nodes, y = split.labelled, graph.y[split.labelled]
    np.testing.assert_array_equal(network.labelled_nodes_, nodes)
    engine = engine_of(network, graph)
    left_out = (engine.left_out_logits - engine.level_changes).numpy()
    shares = np.bincount(graph.y[split.val], minlength=2) / len(split.val)
    by_hand = SoftPlattScaling().fit(left_out, y, weights=share_weights(y, shares))
    drawn = shares + network.skill().keep * (by_hand.predict_proba(engine.logits.numpy()) - shares)
    np.testing.assert_allclose(network.predict_proba(graph), drawn, atol=1e-6)
    np.testing.assert_allclose(softmax(left_out, axis=1), network.left_out_uncalibrated(), atol=1e-9)


def test_left_out_probabilities_are_cross_fitted(linear):
    """Of a label's left-out probability neither the detector nor the map knows the label."""
    logits, y, shares, p = (
        linear.detector_.left_out_logits(),
        linear.labelled_y_,
        linear.shares_,
        linear.predict_left_out(),
    )
    fold = fold_numbers(linear.state_.labels, seed=0, num_folds=10)
    assert fold.max() == 9
    for number in (0, 7):
        kept = fold != number
        by_hand = SoftPlattScaling().fit(logits[kept], y[kept], weights=share_weights(y[kept], shares))
        drawn = shares + linear.skill().keep * (by_hand.predict_proba(logits[~kept]) - shares)
        np.testing.assert_allclose(p[~kept], drawn, atol=1e-12)
    seen = linear.calibrator_.predict_proba(logits)
    assert 1e-5 < np.abs(seen - p).max() < 0.2


def test_jackknife_intervals_equal_a_loop_over_left_out_models(graph, split, network):
    plain = cr.RareCategoryClassifier(method="uncalibrated", **QUICK)
    clf = plain.calibrate(
        TrainedDetector(network.detector_, DetectorInputs(graph), network.state_.labels), graph, split
    )
    y, engine = clf.labelled_y_, engine_of(clf, graph)
    changes = torch.cat([block for _, block in engine.changes()], dim=1).double()
    table = softmax((engine.logits[:, None] + changes - engine.level_changes).numpy(), axis=2)[:, :, 1]
    own = softmax((engine.left_out_logits - engine.level_changes).numpy(), axis=1)[:, 1]
    residuals = np.abs(y - own)
    lower = np.quantile(table - residuals, 0.05, axis=1).clip(0, 1)
    upper = np.quantile(table + residuals, 0.95, axis=1).clip(0, 1)
    found = clf.jackknife_interval(graph, coverage=0.9)
    np.testing.assert_allclose(found.lower, lower, atol=1e-4)
    np.testing.assert_allclose(found.upper, upper, atol=1e-4)


def test_intervals_are_those_of_the_calibration_draws(graph, linear):
    p, interval = linear.predict_proba(graph)[:, 1], linear.predict_interval(graph, coverage=0.8)
    by_hand = linear.calibration_draws().interval(p, 0.8, degree=graph.degree)
    np.testing.assert_array_equal(interval.lower, by_hand.lower)
    np.testing.assert_array_equal(interval.upper, by_hand.upper)
    assert ((interval.lower <= p) & (p <= interval.upper)).all()
    assert (linear.predict_interval(graph, coverage=0.95).width >= interval.width).all()


@pytest.mark.parametrize("name", ["network", "linear"])
def test_explanation_equals_the_left_out_table(name, graph, request):
    clf = request.getfixturevalue(name)
    rows, table = clf.left_out_table(graph)
    explained = clf.explain(graph, 11)
    pull = clf.predict_proba(graph)[11, 1] - table[11]
    by_node = dict(zip(clf.labelled_nodes_[rows], pull, strict=True))
    np.testing.assert_allclose(explained.pull, [by_node[node] for node in explained.labelled_node], atol=1e-5)
    assert (np.diff(np.abs(explained.pull)) <= 1e-12).all() and (np.diff(np.abs(explained.share)) <= 1e-12).all()
    np.testing.assert_array_equal(explained.label, graph.y[explained.labelled_node])


@pytest.mark.parametrize("method", ["jackknife", "temperature", "isotonic", "uncalibrated"])
def test_the_shares_of_a_linear_detector_are_what_moving_a_column_does(method, graph, split, linear):
    """The calibrated logit is linear in the columns, so that base and shares are no convention: they are its terms."""
    clf = linear if method == "jackknife" else cr.RareCategoryClassifier(method=method, **LINEAR).fit(graph, split)
    p = clf.predict_proba(graph)
    logits = np.log(p[:, 1] / p[:, 0])
    told = [clf.explain(graph, node) for node in (3, 4, 5, int(p[:, 1].argmax()))]
    for explained in told:
        assert explained.logit == pytest.approx(logits[explained.node])
        assert explained.base + explained.share.sum() == pytest.approx(explained.logit)
    # What holds where no column speaks is one number, whatever the map from the detector's logits to these.
    assert np.ptp([explained.base for explained in told]) < 1e-4
    assert told[-1].share.sum() > 0.1  # also on a step of isotonic regression


def test_what_a_stack_says_where_no_column_speaks_is_one_number_however_little_skill_is_shown():
    graph = cr.make_transactions(num_nodes=400, rare_share=0.05, labelled_share=0.3, seed=0, with_payments=False)
    clf = cr.RareCategoryClassifier(
        cr.detectors.Stack([cr.detectors.Linear(penalty=0.01), cr.detectors.Forest(trees=20)])
    ).fit(graph)
    assert 0.1 < clf.calibrator_.keep_ < 0.95, "the whole skill is shown: nothing is tested"
    p = clf.predict_proba(graph)[:, 1]
    told = [clf.explain(graph, int(node)) for node in np.argsort(p)[[0, 1, 200, 398, 399]]]
    for explained in told:
        assert explained.base + explained.share.sum() == pytest.approx(
            np.log(p[explained.node] / (1 - p[explained.node]))
        )
    assert np.ptp([explained.logit for explained in told]) > 1
    assert np.ptp([explained.base for explained in told]) < 1e-6


def test_explain_by_id():
    ids = np.array([f"account {k}" for k in range(200)])
    plain = cr.make_transactions(num_nodes=200, rare_share=0.2, seed=0, with_payments=False)
    graph = cr.RareGraph(x=plain.x, edge_index=plain.edge_index, y=plain.y, node_ids=ids)
    clf = cr.RareCategoryClassifier(**LINEAR).fit(graph)
    by_id, by_index = clf.explain(graph, "account 17"), clf.explain(graph, 17)
    assert by_id.node == 17 and by_id.logit == by_index.logit
    np.testing.assert_array_equal(by_id.share, by_index.share)
    for node in ("account 200", -1, 200):
        with pytest.raises(InputError, match="node"):
            clf.explain(graph, node)


def test_score_ignores_unknown_labels(graph, linear):
    right = linear.predict(graph) == graph.y
    assert linear.score(graph) == right.mean()
    hidden = graph.y.copy()
    hidden[::3] = -1
    assert linear.score(graph.with_labels(hidden)) == linear.score(graph, hidden) == right[hidden >= 0].mean()
    weights = np.arange(float(graph.num_nodes))
    assert linear.score(graph, sample_weight=weights) == pytest.approx((right * weights).sum() / weights.sum())
    with pytest.raises(InputError, match="at least one known label"):
        linear.score(graph, np.full(graph.num_nodes, -1))
    with pytest.raises(InputError, match="one class per node, a whole number, 300 in all"):
        linear.score(graph, [0, 1])


def test_the_split_that_came_with_the_graph_is_used(graph, split, linear):
    public = copy.copy(graph)
    object.__setattr__(public, "public_split", split)
    own = cr.RareCategoryClassifier(**LINEAR).fit(public)
    np.testing.assert_array_equal(own.labelled_nodes_, split.labelled)
    np.testing.assert_array_equal(own.predict_proba(graph), linear.predict_proba(graph))


def test_deviation_is_the_jackknife_standard_error(graph, network):
    _, table = network.left_out_table(graph)
    n = table.shape[1]
    squares = ((table - network.predict_proba(graph)[:, [1]]) ** 2).sum(axis=1)
    np.testing.assert_allclose(network.predict_deviation(graph), np.sqrt(squares * (n - 1) / n), rtol=1e-4)


def test_without_a_split_every_known_label_is_used(graph, quick_networks):
    hidden = graph.y.copy()
    hidden[100:] = -1
    clf = cr.RareCategoryClassifier(**LINEAR).fit(graph.with_labels(hidden))
    np.testing.assert_array_equal(clf.labelled_nodes_, np.arange(100))


def test_without_a_split_held_out_methods_set_labels_aside(graph, quick_networks):
    clf = cr.RareCategoryClassifier(method="temperature", **LINEAR).fit(graph)
    assert 0.7 * graph.num_nodes < len(clf.labelled_nodes_) < 0.8 * graph.num_nodes


@pytest.mark.slow
def test_from_trained_leaves_the_module_alone(graph, split):
    module = cr.RareCategoryClassifier(
        Module(Network(graph.num_features), epochs=30, weight_decay=1e-2), class_costs=None, device="cpu"
    )
    module = module.fit(graph, cr.Split(train=split.train)).detector_.model_.module  # trained by whatever means
    before = copy.deepcopy(module.state_dict())
    clf = cr.RareCategoryClassifier.from_trained(module, graph, split, method="jackknife", weight_decay=1e-2)
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    np.testing.assert_array_equal(clf.labelled_nodes_, split.train)
    came_with = replace(graph, public_split=split)
    same = cr.RareCategoryClassifier.from_trained(module, came_with, weight_decay=1e-2)
    np.testing.assert_array_equal(same.labelled_nodes_, split.train)
    assert clf.predict_proba(graph).shape == (graph.num_nodes, 2)
    corrupted = graph.y.copy()
    others = np.setdiff1d(np.arange(graph.num_nodes), split.train)
    corrupted[others] = 1 - corrupted[others]
    again = cr.RareCategoryClassifier.from_trained(module, graph.with_labels(corrupted), split, weight_decay=1e-2)
    np.testing.assert_array_equal(again.predict_proba(graph), clf.predict_proba(graph))


def test_a_module_that_ends_in_softmax_is_refused(graph):
    ended = torch.nn.Sequential(torch.nn.Linear(graph.num_features, 2), torch.nn.Softmax(dim=1))

    class Ended(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = ended

        def forward(self, x, edge_index):
            return self.inner(x)

    with pytest.raises(InputError, match="returns probabilities .* without softmax"):
        cr.RareCategoryClassifier.from_trained(Ended(), graph, weight_decay=1e-2)
    with pytest.raises(InputError, match="returns probabilities .* without softmax"):
        cr.RareCategoryClassifier(Module(Ended(), epochs=2), device="cpu").fit(graph)


def test_from_trained_does_not_retrain(graph, split):
    with pytest.raises(InputError, match="'cross_fit' retrains"):
        cr.RareCategoryClassifier.from_trained(Network(graph.num_features), graph, split, method="cross_fit")


def test_a_users_module_as_detector(graph, split, tmp_path, quick_networks):
    module = Network(graph.num_features)
    before = copy.deepcopy(module.state_dict())
    clf = cr.RareCategoryClassifier(Module(module, epochs=10, weight_decay=1e-2), device="cpu").fit(graph, split)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    clf.save(tmp_path / "model")
    with pytest.raises(OSError, match="module=…"):
        cr.load(tmp_path / "model")
    with pytest.raises(InputError, match="module must be the one that was fitted"):
        cr.load(tmp_path / "model", module=Network(graph.num_features + 1))
    loaded = cr.load(tmp_path / "model", module=Network(graph.num_features))
    np.testing.assert_array_equal(loaded.predict_proba(graph), clf.predict_proba(graph))
    np.testing.assert_array_equal(loaded.explain(graph, 3).pull, clf.explain(graph, 3).pull)


@pytest.mark.parametrize("name", ["gcn", "gat", "gin", "sage", "linear", "forest"])
def test_every_detector_fits_and_scores_new_nodes(name, tmp_path, quick_networks):
    graph = cr.make_transactions(num_nodes=100, rare_share=0.2, labelled_share=0.5, seed=0, with_payments=False)
    detector = make_detector(name)
    quick = {"epochs": 10, "hidden": 2, "trees": 20, "weight_decay": 5e-2}
    detector.set_params(**{key: value for key, value in quick.items() if key in detector.get_params()})
    clf = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
    other = cr.make_transactions(num_nodes=120, rare_share=0.2, seed=9, with_payments=False)
    assert clf.weights_ == {name: 1.0}
    p, interval = clf.predict_proba(other), clf.predict_interval(other)
    assert p.shape == (120, 2) and interval.upper.shape == clf.jackknife_interval(other).upper.shape == (120,)
    clf.save(tmp_path / "model")  # and from a file, on another graph than it was fitted on
    loaded = cr.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(other), p)
    np.testing.assert_array_equal(loaded.predict_interval(other).upper, interval.upper)
    np.testing.assert_array_equal(loaded.explain(other, 5).share, clf.explain(other, 5).share)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"detector": GCN(epochs=0)}, "epochs"),
        ({"detector": GCN(dropout=1.0)}, "dropout"),
        ({"detector": GCN(settle=1.5)}, "settle"),
        ({"detector": GCN(lr=-1)}, "lr"),
        ({"detector": GCN(weight_decay=-1e-4)}, "weight_decay"),
        ({"detector": GCN(patience=0)}, "patience"),
        ({"prior": "flat"}, "prior"),
        ({"rare_share": 1.5}, "rare_share"),
        ({"detector": "gnc"}, "did you mean"),
        ({"seed": -1}, "seed"),
        ({"class_costs": (1.0,)}, "class_costs"),
        ({"device": "tpu9"}, "device"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_trained(arguments, message, graph, split, monkeypatch):
    monkeypatch.setattr(training, "train", lambda *_, **__: pytest.fail("it was trained"))
    with pytest.raises(InputError, match=message):
        cr.RareCategoryClassifier(**{**QUICK, **arguments}).fit(graph, split)


def test_labels_that_do_not_allow_a_fit(graph):
    with pytest.raises(LabelError, match="no known label"):
        cr.RareCategoryClassifier(**LINEAR).fit(graph.with_labels(np.full(graph.num_nodes, -1)))
    with pytest.raises(LabelError, match="fraud"):
        cr.RareCategoryClassifier(**LINEAR).fit(graph.with_labels(np.zeros(graph.num_nodes, dtype=int)))
    unknown = graph.y.copy()
    unknown[3] = -1
    with pytest.raises(LabelError, match="without a label"):
        cr.RareCategoryClassifier(**LINEAR).fit(graph.with_labels(unknown), cr.Split(train=np.arange(50)))


def test_other_features_are_refused(linear):
    with pytest.raises(InputError, match="features"):
        linear.predict_proba(cr.make_transactions(num_nodes=50, num_features=20, seed=0))


def test_extreme_inputs_stay_finite(two_folds):
    """Separable data without weight decay saturate the softmax; everything must stay a probability."""
    rng = np.random.default_rng(0)
    y = (np.arange(200) < 10).astype(int)
    x = rng.normal(size=(200, 3)) * 0.01 + 30.0 * y[:, None]
    graph = cr.RareGraph(x=x, edge_index=np.empty((2, 0), dtype=int), y=y)
    clf = cr.RareCategoryClassifier(GCN(weight_decay=0.0, epochs=60, hidden=4), device="cpu").fit(graph)
    probabilities, interval = clf.predict_proba(graph), clf.predict_interval(graph)
    assert np.isfinite(probabilities).all() and np.isfinite(interval.lower).all() and np.isfinite(interval.upper).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)


@pytest.mark.slow
@pytest.mark.datasets
@pytest.mark.parametrize("name", ["cora", "pubmed"])
def test_left_out_logits_are_those_of_refitting_from_where_training_came_to_rest(name, data_folder, monkeypatch):
    """Words and dense columns: each of ten rare labels taken out, and the network brought to rest again without it."""
    monkeypatch.setenv("CALIRARE_DATA", str(data_folder))
    graph = cr.load_benchmark(name)
    split = cr.split_labels(graph, labels_per_class=20, seed=0)
    trained = cr.RareCategoryClassifier(GCN(), device="cpu").fit_detector(graph, split)
    rare = np.flatnonzero(trained.labels.y == 1)[::7][:10]
    real, predicted = change_by_refitting(trained, rare)
    assert np.corrcoef(real, predicted)[0, 1] > 0.95
    assert 0.8 < (real @ predicted) / (predicted @ predicted) < 1.25


@pytest.mark.slow
def test_the_default_weighs_several_detectors(tmp_path, quick_networks):
    graph = cr.make_transactions(num_nodes=400, rare_share=0.2, labelled_share=0.5, seed=0)
    clf = cr.RareCategoryClassifier(device="cpu").fit(graph)
    assert {"linear", "forest"} <= set(clf.weights_) and all(weight >= 0 for weight in clf.weights_.values())
    p, explained = clf.predict_proba(graph), clf.explain(graph, 9)
    assert explained.logit == pytest.approx(np.log(p[9, 1] / p[9, 0]))
    assert explained.base + explained.share.sum() == pytest.approx(explained.logit)
    assert cr.RareCategoryClassifier(device="cpu").fit(graph).predict_proba(graph).tobytes() == p.tobytes()
    clf.save(tmp_path / "model")
    other = cr.make_transactions(num_nodes=90, rare_share=0.2, seed=8)
    loaded = cr.load(tmp_path / "model")
    assert loaded.weights_ == clf.weights_
    np.testing.assert_array_equal(loaded.predict_proba(other), clf.predict_proba(other))
    np.testing.assert_array_equal(loaded.predict_interval(other).lower, clf.predict_interval(other).lower)


def test_a_stack_of_one_is_that_one(graph, split, linear):
    stacked = cr.RareCategoryClassifier(Stack(["linear"]), device="cpu").fit(graph, split)
    np.testing.assert_allclose(stacked.predict_proba(graph), linear.predict_proba(graph), atol=1e-9)
    np.testing.assert_allclose(stacked.predict_left_out(), linear.predict_left_out(), atol=1e-9)
    assert stacked.weights_ == {"linear": 1.0}


def test_reasons_of_a_stack_add_up_for_several_classes(quick_networks):
    """One logit, that of the rare class against the others, also where there are more than two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    graph = cr.RareGraph(
        x=rng.normal(size=(150, 5)) + y[:, None], edge_index=rng.integers(0, 150, (2, 300)), y=y,
        class_names=("a", "b", "c"), rare_class=2,
    )  # fmt: skip
    clf = cr.RareCategoryClassifier(Stack(["linear", GCN(epochs=10, hidden=4, weight_decay=2e-2)]), device="cpu").fit(
        graph
    )
    explained, p = clf.explain(graph, 4), clf.predict_proba(graph)[4, 2]
    assert explained.probability == pytest.approx(p) and explained.logit == pytest.approx(np.log(p / (1 - p)))
    assert explained.base + explained.share.sum() == pytest.approx(explained.logit)


@pytest.mark.parametrize("device", ["meta", "mps", "abacus", "cuda:99"])
def test_devices_that_cannot_be_used(device):
    with pytest.raises(InputError, match="device"):
        cr.RareCategoryClassifier("linear", device=device).fit(cr.make_transactions(num_nodes=60, seed=0))
