"""Numbers at their limits: probabilities that are probabilities, intervals that are finite, or a stated refusal."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import calirare as cr
from calirare.detectors.networks.influence.curvature import LEAST_LEFT_OVER, PrimalCurvature
from calirare.detectors.networks.influence.label_terms import label_terms
from calirare.errors import NumericalError
from calirare.metrics import negative_log_likelihood

pytestmark = pytest.mark.usefixtures("few_draws", "two_folds")


def check(clf, graph):
    """Everything that a fitted model says about a graph is a number that can be used."""
    p = clf.predict_proba(graph)
    assert p.dtype == np.float64 and np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    for interval in (clf.predict_interval(graph), clf.jackknife_interval(graph)):
        assert np.isfinite(interval.lower).all() and np.isfinite(interval.upper).all()
        assert ((interval.lower >= 0) & (interval.lower <= interval.upper) & (interval.upper <= 1)).all()
    for numbers in (clf.predict_deviation(graph), clf.individual_calibration_error(graph), clf.predict_left_out()):
        assert np.isfinite(numbers).all()
    assert clf.predict_set(graph).shape == p.shape
    return p


def rare_graph(num_nodes, num_rare, *, gap=1.0, num_features=4, copies=1, seed=0):
    """Random edges, the rare nodes shifted by `gap` standard deviations, every node `copies` times."""
    rng = np.random.default_rng(seed)
    y = (np.arange(num_nodes) < num_rare).astype(int)
    x = rng.normal(size=(num_nodes, num_features)) + gap * y[:, None]
    edges = rng.integers(0, num_nodes, (2, 3 * num_nodes))
    return cr.RareGraph(
        x=np.tile(x, (copies, 1)),
        edge_index=np.concatenate([edges + k * num_nodes for k in range(copies)], axis=1),
        y=np.tile(y, copies),
    )


@pytest.mark.slow
def test_ten_rare_nodes_in_a_hundred_thousand():
    graph = rare_graph(100_000, 10, gap=3.0)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=40, weight_decay=5e-3), device="cpu").fit(graph)
    p = check(clf, graph)[:, 1]
    assert p.sum() == pytest.approx(10, rel=0.5)  # natural probabilities: as many as there are
    assert roc_auc_score(graph.y, p) > 0.9  # the shift of three deviations is averaged with six neighbours' noise


@pytest.mark.parametrize("method", ["jackknife", "isotonic", "temperature", "calirare"])
def test_ten_rare_nodes_in_five_hundred(method, quick_networks):
    graph = rare_graph(500, 10, gap=3.0)
    clf = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=15, hidden=4, weight_decay=5e-3), method=method, device="cpu"
    ).fit(graph)
    check(clf, graph)


@pytest.mark.parametrize(("gap", "weight_decay"), [(30.0, 5e-3), (1e4, 0.0)])
def test_perfectly_separable(gap, weight_decay):
    graph = rare_graph(120, 12, gap=gap)
    clf = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=40, lr=0.05, hidden=4, weight_decay=weight_decay), device="cpu"
    ).fit(graph)
    check(clf, graph)


def test_no_weight_decay_is_said(caplog, quick_networks):
    graph = rare_graph(120, 12)
    module = torch.nn.Linear(4, 2)
    clf = cr.RareCategoryClassifier.from_trained(Rows(module), graph, weight_decay=0.0, device="cpu")
    check(clf, graph)
    assert "weight_decay 0 is too small for leave-one-out" in caplog.text


@pytest.mark.refits
@pytest.mark.parametrize("detector", ["linear", cr.detectors.GCN(epochs=30, hidden=4, dropout=0.0, weight_decay=1e-2)])
def test_the_same_nodes_ten_times_say_the_same(detector):
    once, often = rare_graph(60, 12), rare_graph(60, 12, copies=10)
    clf, copied = (cr.RareCategoryClassifier(detector, device="cpu").fit(graph) for graph in (once, often))
    p, q = check(clf, once), check(copied, often)
    np.testing.assert_allclose(q, np.tile(q[:60], (10, 1)), atol=1e-6)  # a copy is told the same
    # Nine copies of a label hold it up when one is left out, so the map trusts the logits more, never less.
    assert negative_log_likelihood(once.y, q[:60]) <= negative_log_likelihood(once.y, p) + 1e-9


class Rows(torch.nn.Module):
    """A module of a user's that reads the features alone."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, edge_index, edge_weight=None):
        return self.inner(x)


@pytest.mark.parametrize(
    ("method", "scale"),
    [
        *(("jackknife", scale) for scale in (1e2, 1e8)),
        *((method, 1e8) for method in ("temperature", "vector", "isotonic", "uncalibrated")),
    ],
)
def test_saturated_logits(method, scale, request):
    if method != "jackknife":  # which has refitted folds to their end
        request.getfixturevalue("quick_networks")
    graph = rare_graph(100, 20)
    module = torch.nn.Linear(4, 2)
    with torch.no_grad():
        module.weight.copy_(scale * torch.tensor([[-1.0] * 4, [1.0] * 4]))
    try:
        clf = cr.RareCategoryClassifier.from_trained(
            Rows(module), graph, method=method, weight_decay=5e-3, device="cpu"
        )
        check(clf, graph)
    except NumericalError as error:
        assert "weight_decay" in str(error) or "scale" in str(error)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_a_module_without_finite_logits_is_refused(value):
    graph = rare_graph(50, 10)
    module = torch.nn.Linear(4, 2)
    with torch.no_grad():
        module.weight[0] = value
        module.weight[1] = -value if value < 1e31 else value
    broken = torch.nn.Sequential(module, torch.nn.Linear(2, 2), Square())
    with pytest.raises(NumericalError, match="NaN or infinite logits for"):
        cr.RareCategoryClassifier.from_trained(Rows(broken), graph, weight_decay=5e-3, device="cpu")


class Square(torch.nn.Module):
    def forward(self, x):
        return x * x


def test_features_beyond_what_can_be_squared_are_refused():
    graph = rare_graph(50, 10)
    huge = cr.RareGraph(x=graph.x * 1e30, edge_index=graph.edge_index, y=graph.y)
    with pytest.raises(NumericalError, match="scale the features"):
        cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=3, hidden=4), device="cpu").fit(huge)


def test_labels_that_hold_the_model_up_alone_are_counted(caplog):
    """Each node has a feature of its own, so large that nothing else tells its parameter: leverage one but for rounding."""
    graph = cr.RareGraph(x=1e6 * np.eye(6), edge_index=np.empty((2, 0)), y=np.array([0, 0, 0, 1, 1, 1]))
    module = torch.nn.Linear(6, 2)
    torch.nn.init.zeros_(module.weight)
    clf = cr.RareCategoryClassifier.from_trained(Rows(module), graph, weight_decay=1e-6, device="cpu")
    assert "the curvature is unstable: 6 of 6 labels hold the model up alone" in caplog.text
    p = check(clf, graph)
    assert (
        clf.predict_left_out()[:3, 0] <= p[:3, 0] + 1e-9
    ).all()  # without its label a node is trusted less, not more


class TwoRows:
    """A Jacobian of two nodes with one parameter each; the second one's leverage is one but for rounding."""

    num_parameters, parts = 2, 1

    def __init__(self, size):
        self.matrix = torch.tensor([[[1.0, 0.0]], [[0.0, size]]], dtype=torch.float64)

    def rows(self, nodes):
        yield self.matrix[torch.from_numpy(nodes)]


@pytest.mark.parametrize("size", [1e3, 1e8, 1e12, 1e100])
def test_a_leverage_of_one_never_turns_a_step_over(size):
    terms = label_terms(torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([0.5, 0.5]))
    found = PrimalCurvature(TwoRows(size), np.arange(2), terms, 1e-6)
    change = found.own_change("newton")[:, 0]
    assert change.isfinite().all() and change[0] > 0 > change[1]  # away from each node's own label
    assert float(found.leverage.max()) > 1 - 1e5 * LEAST_LEFT_OVER or size < 1e4


FIT = """
import json, sys
import numpy as np, torch
import calirare as cr
torch.set_num_threads(int(sys.argv[1]))
graph = cr.make_transactions(int(sys.argv[2]), labelled_share=0.3, rare_share=0.1, seed=0)
detector = cr.detectors.make_detector(sys.argv[3])
if "epochs" in detector.get_params():
    detector.set_params(epochs=int(sys.argv[4]), weight_decay=5e-3)
clf = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
interval = clf.predict_interval(graph)
json.dump([clf.predict_proba(graph)[:, 1].tolist(), interval.lower.tolist(), interval.upper.tolist(), clf.predict_left_out()[:, 1].tolist()], sys.stdout)
"""


def fit_in_a_process(threads, num_nodes, detector="gcn", epochs=60):
    words = [sys.executable, "-c", FIT, str(threads), str(num_nodes), detector, str(epochs)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("detector", "num_nodes", "epochs"),
    [
        ("gcn", 6_000, 100),
        ("gcn", 500, 200),
        ("sage", 3_000, 30),
        ("gin", 3_000, 30),
        ("gat", 800, 30),
        ("linear", 1_500, 0),
        ("forest", 800, 0),
        ("boosting", 800, 0),
        ("sparse", 800, 0),
        ("auto", 400, 0),
    ],
)
def test_one_thread_and_two_agree(detector, num_nodes, epochs):
    one, two = (fit_in_a_process(threads, num_nodes, detector, epochs) for threads in (1, 2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-6, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize(("num_nodes", "epochs"), [(1_000, 60), (40_000, 5)])
def test_two_processes_with_the_same_seed_agree_to_the_last_digit(num_nodes, epochs):
    first, second = (fit_in_a_process(2, num_nodes, epochs=epochs) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "detector", ["linear", cr.detectors.Stack(["linear", "spreading", cr.detectors.Forest(trees=20)])]
)
def test_the_individual_error_of_some_nodes_is_theirs_among_all(detector):
    graph = cr.make_transactions(num_nodes=200, rare_share=0.2, labelled_share=0.5, seed=0, with_payments=False)
    clf = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
    some = np.array([5, 17, 80, 199])
    every = clf.individual_calibration_error(graph)
    for nodes in (some, some.tolist(), np.isin(np.arange(200), some)):
        np.testing.assert_allclose(clf.individual_calibration_error(graph, nodes=nodes), every[some], atol=1e-5)
