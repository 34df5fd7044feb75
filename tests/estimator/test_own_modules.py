"""Modules as users write them: batch norm, other types of number, edge weights that must be given, frozen weights."""

import copy

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch_geometric.nn import GCNConv

import calirare as cr
from calirare.detectors.base import DetectorInputs
from calirare.errors import InputError

pytestmark = pytest.mark.usefixtures("quick_networks")


class Normed(torch.nn.Module):
    """Two layers with batch norm and dropout."""

    def __init__(self, num_features):
        super().__init__()
        self.first, self.norm, self.second = GCNConv(num_features, 8), torch.nn.BatchNorm1d(8), GCNConv(8, 2)

    def forward(self, x, edge_index):
        h = torch.nn.functional.dropout(self.norm(self.first(x, edge_index)).relu(), 0.5, self.training)
        return self.second(h, edge_index)


class Weighing(torch.nn.Module):
    """A layer that must be told what the edges weigh, and looks at it."""

    def __init__(self, num_features):
        super().__init__()
        self.layer = GCNConv(num_features, 2)

    def forward(self, x, edge_index, edge_weight):
        return self.layer(x, edge_index, edge_weight.view(-1))


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(num_nodes=100, rare_share=0.2, seed=0)


def calibrated(module, graph):
    return cr.RareCategoryClassifier.from_trained(module, graph, device="cpu")


def test_a_module_that_was_hardly_trained_is_not_judged_by_refits_that_were(caplog):
    """Refits without the labels would show a skill that the module does not have."""
    rng = np.random.default_rng(0)
    y = (rng.random(160) < 0.3).astype(np.int64)
    x, ends = rng.normal(size=(160, 5)) + 2 * y[:, None], np.empty((2, 0), dtype=np.int64)
    known, hidden = np.arange(100), np.arange(100, 160)
    graph = cr.RareGraph(x=x, edge_index=ends, y=np.where(np.arange(160) < 100, y, -1))
    wrong = Weighing(5)
    with torch.no_grad():
        wrong.layer.lin.weight[:] = torch.tensor([[1.0], [-1.0]])  # the larger the columns, the less it is rare
    clf = calibrated(wrong, graph)
    p, left_out = clf.predict_proba(graph)[:, 1], clf.predict_left_out()[:, 1]
    assert roc_auc_score(y[hidden], clf.predict_uncalibrated(graph)[hidden, 1]) < 0.1
    assert roc_auc_score(y[known], left_out) <= 0.5 and "not trained to the end" in caplog.text
    np.testing.assert_allclose(p, y[known].mean(), atol=0.1)


def test_methods_that_train_are_no_way_to_calibrate(graph):
    for method in ("calirare", "calirare_code", "mixup", "label_smoothing"):
        with pytest.raises(InputError, match=f"method '{method}' retrains; from_trained leaves the module as it is"):
            cr.RareCategoryClassifier.from_trained(Weighing(graph.num_features), graph, method=method)


@pytest.mark.parametrize("trained", [True, False])
def test_batch_norm_is_stored(graph, tmp_path, trained):
    module = Normed(graph.num_features)
    clf = calibrated(module, graph) if trained else cr.RareCategoryClassifier(module, device="cpu").fit(graph)
    clf.save(tmp_path / "model")
    loaded = cr.load(tmp_path / "model", module=Normed(graph.num_features))
    np.testing.assert_array_equal(loaded.predict_proba(graph), clf.predict_proba(graph))
    np.testing.assert_array_equal(loaded.predict_left_out(), clf.predict_left_out())
    counted = "module.norm.num_batches_tracked"
    assert loaded.detector_.model_.state_dict()[counted] == clf.detector_.model_.state_dict()[counted]


def test_a_trained_module_is_copied(graph):
    """It stays in training mode, and what is learned afterwards does not change what was calibrated."""
    module = Normed(graph.num_features).train()
    clf = calibrated(module, graph)
    before = clf.predict_proba(graph)
    assert module.training and module.norm.training
    with torch.no_grad():
        module.second.lin.weight.fill_(7.0)
    np.testing.assert_array_equal(clf.predict_proba(graph), before)


@pytest.mark.refits
def test_modules_in_double_precision_say_what_they_say_in_single(graph):
    module = Normed(graph.num_features)
    single, double = calibrated(module, graph), calibrated(copy.deepcopy(module).double(), graph)
    np.testing.assert_allclose(double.predict_proba(graph), single.predict_proba(graph), rtol=1e-5)

    class Doubled(Normed):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index).double()

    doubled = Doubled(graph.num_features)
    doubled.load_state_dict(module.state_dict())
    np.testing.assert_allclose(calibrated(doubled, graph).predict_proba(graph), single.predict_proba(graph), rtol=1e-5)


def test_a_module_that_must_have_weights_gets_ones(graph):
    module = Weighing(graph.num_features)
    logits = calibrated(module, graph).detector_.model_(DetectorInputs(graph).tensors)
    data = graph.to_pyg()
    torch.testing.assert_close(logits, module.layer(data.x, data.edge_index))


def test_a_module_that_cannot_learn_is_refused(graph):
    frozen = Normed(graph.num_features).requires_grad_(False)
    for use in (lambda: calibrated(frozen, graph), lambda: cr.RareCategoryClassifier(frozen).fit(graph)):
        with pytest.raises(InputError, match=r"must have parameters that learn; module.requires_grad_\(True\)"):
            use()


def test_a_module_that_cannot_be_copied_is_refused(graph):
    class Keeping(Normed):
        def forward(self, x, edge_index):
            self.last = self.first(x, edge_index)
            return super().forward(x, edge_index)

    module = Keeping(graph.num_features)
    data = graph.to_pyg()
    module(data.x, data.edge_index)
    for use in (lambda: calibrated(module, graph), lambda: cr.RareCategoryClassifier(module).fit(graph)):
        with pytest.raises(InputError, match=r"let it keep h.detach\(\)"):
            use()
