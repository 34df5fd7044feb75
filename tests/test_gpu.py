"""The same answers on a GPU as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import calirare as cr

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(1_000, labelled_share=0.5, rare_share=0.15, seed=0)


@pytest.fixture(scope="module")
def split(graph):
    return cr.split_labels(graph, train_fraction=0.3, val_fraction=0.2, test_fraction=0.5, seed=0)


def fit(graph, split, device, **options):
    """Without dropout, whose random numbers differ from device to device."""
    of_network = {"epochs": 30, "weight_decay": 5e-3, "dropout": 0.0}
    of_network |= {name: options.pop(name) for name in ("epochs", "dropout") if name in options}
    detector = cr.detectors.detectors()[options.pop("detector", "gcn")](**of_network)
    return cr.RareCategoryClassifier(detector, device=device, **options).fit(graph, split)


@pytest.mark.parametrize("detector", ["gcn", "gat", "gin", "sage"])
def test_every_network(graph, split, detector):
    on_cpu, on_gpu = (fit(graph, split, device, detector=detector) for device in ("cpu", "cuda"))
    assert next(on_gpu.detector_.model_.parameters()).is_cuda
    np.testing.assert_allclose(on_gpu.predict_proba(graph), on_cpu.predict_proba(graph), atol=1e-4)
    np.testing.assert_allclose(on_gpu.predict_left_out(), on_cpu.predict_left_out(), atol=1e-3)
    for name in ("predict_interval", "jackknife_interval"):
        mine, theirs = getattr(on_gpu, name)(graph), getattr(on_cpu, name)(graph)
        np.testing.assert_allclose(mine.lower, theirs.lower, atol=1e-3)
        np.testing.assert_allclose(mine.upper, theirs.upper, atol=1e-3)


@pytest.mark.parametrize("method", cr.methods())
def test_every_method(graph, split, method):
    p = fit(graph, split, "cuda", method=method, epochs=10).predict_proba(graph)
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1)


def test_a_model_moves_between_devices(graph, split, tmp_path):
    fitted = fit(graph, split, "cuda")
    fitted.save(tmp_path / "model")
    loaded = cr.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(graph), fitted.predict_proba(graph), atol=1e-6)
    moved = cr.load(tmp_path / "model").set_params(device="cpu")
    np.testing.assert_allclose(moved.predict_proba(graph), fitted.predict_proba(graph), atol=1e-4)


def test_triage_decides_alike(graph, split):
    tables = [cr.triage(fit(graph, split, device), graph, budget=20) for device in ("cpu", "cuda")]
    assert (tables[0].action == tables[1].action).mean() > 0.99
    np.testing.assert_allclose(tables[0].groups["all"].cost.value, tables[1].groups["all"].cost.value, rtol=1e-3)


def test_the_same_seed_gives_the_same_model_up_to_rounding(graph, split):
    """Sparse products on a GPU sum in an order of their own, so not to the byte as on a CPU."""
    first, second = (fit(graph, split, "cuda", dropout=0.5).predict_proba(graph) for _ in range(2))
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_the_stack(graph, split):
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", cr.detectors.GCN(epochs=30)]), device="cuda")
    p = clf.fit(graph, split).predict_proba(graph)
    assert np.isfinite(p).all() and set(clf.weights_) == {"linear", "gcn"}
    assert clf.explain(graph, 3).logit == pytest.approx(np.log(p[3, 1] / p[3, 0]))
