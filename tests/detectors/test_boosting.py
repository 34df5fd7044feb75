"""Boosting: arrays against the libraries, folds that hold groups together."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of
from sklearn.ensemble import HistGradientBoostingClassifier

import calirare as cr
from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.detectors.boosting import Boosting
from calirare.detectors.left_out.loss import CLEARLY, loss_by_class
from calirare.detectors.trees import boosters
from calirare.detectors.trees.boosters import Growth, grow
from calirare.detectors.trees.stages import Stages
from calirare.errors import InputError, LabelError, NotFittedError

lightgbm = pytest.importorskip("lightgbm")
grow_stages = Stages.grow


def some_rows(num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    graph = dense_graph(num_classes=num_classes)
    rows = inputs_of(graph).columns.values
    return rows, graph.y


@pytest.mark.parametrize("num_classes", [2, 3])
def test_says_what_lightgbm_says(num_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, y = some_rows(num_classes)
    kept, make = [], lightgbm.Booster
    monkeypatch.setattr(lightgbm, "Booster", lambda *args: kept.append(make(*args)) or kept[-1])
    trees = next(grow(Growth(20, 8, 0.1, num_classes, 5, 0), rows, y))
    new = np.random.default_rng(1).permuted(rows, axis=0)
    for some in (rows, new):
        wanted = kept[0].predict(some, raw_score=True).reshape(len(some), -1)
        np.testing.assert_allclose(trees.total(some), wanted, atol=1e-12)


@pytest.mark.parametrize(("num_classes", "rounds"), [(2, 3), pytest.param(3, 15, marks=pytest.mark.slow)])
def test_without_lightgbm_scikit_learn_grows_them(
    num_classes: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, y = some_rows(num_classes)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    trees = next(grow(Growth(rounds, 8, 0.1, num_classes, 5, 0), rows, y))
    peer = HistGradientBoostingClassifier(
        max_iter=rounds,
        max_leaf_nodes=8,
        learning_rate=0.1,
        min_samples_leaf=5,
        l2_regularization=boosters._L2,
        max_features=boosters._COLUMNS,
        max_bins=boosters._BINS,
        early_stopping=False,
        random_state=0,
    ).fit(rows, y)
    wanted = peer.decision_function(rows).reshape(len(rows), -1)
    np.testing.assert_allclose(trees.total(rows), wanted, atol=1e-5)


@pytest.mark.parametrize("library", ["lightgbm", "scikit-learn"])
@pytest.mark.parametrize("num_classes", [2, 3])
def test_trees_grown_bit_by_bit_are_those_grown_at_once(
    num_classes: int, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, y = some_rows(num_classes)
    if library == "scikit-learn":
        monkeypatch.setitem(sys.modules, "lightgbm", None)
    parts = list(islice(grow(Growth(2, 8, 0.1, num_classes, 5, 0), rows, y), 3))
    whole = next(grow(Growth(6, 8, 0.1, num_classes, 5, 0), rows, y))
    for k, trees in enumerate(parts, start=1):
        wanted = whole.take(np.arange(2 * k * whole.num_values)).total(rows)
        np.testing.assert_allclose(sum(one.total(rows) for one in parts[:k]), wanted, atol=1e-6)
        assert len(trees) == 2 * whole.num_values


def test_classes_without_a_label_stay_far_below_and_a_single_class_stays_alone() -> None:
    rows, y = some_rows(3)
    growth = Growth(2, 8, 0.1, 3, 5, 0)
    first, second = islice(grow(growth, rows[y != 2], y[y != 2]), 2)
    assert (first.total(rows)[:, 2] == -10).all() and (second.total(rows)[:, 2] == 0).all()
    first, second = islice(grow(growth, rows[y == 1], y[y == 1]), 2)
    np.testing.assert_allclose(first.total(rows), np.tile([0, np.log(2 * (y == 1).sum() + 1), 0], (len(rows), 1)))
    assert len(second) == len(first) == 6 and not second.value.any()


@pytest.mark.refits
def test_left_out_is_a_refit_without_the_fold() -> None:
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 80)
    detector = Boosting(rounds=30, jobs=1).fit(inputs, labels, seed=1)
    values, rows = inputs.columns.values, inputs.columns.values[labels.nodes]
    parts = [detector.folds_ == fold for fold in range(5)]
    growth = Growth(detector.rounds_, 8, 0.05, 2, 5, 1)
    trees = [next(grow(growth, rows[~inside], labels.y[~inside])) for inside in parts]
    unseen = [np.setdiff1d(np.arange(len(values)), labels.nodes[~inside]) for inside in parts]
    levels = [one.total(values[nodes]).mean() for one, nodes in zip(trees, unseen, strict=True)]
    for inside, one, level in zip(parts, trees, levels, strict=True):
        wanted = one.total(rows[inside])[:, 0] - level + np.mean(levels)
        found = detector.left_out_logits()[inside]
        np.testing.assert_allclose(found[:, 1] - found[:, 0], wanted, atol=1e-12)


@pytest.mark.slow
def test_rounds_are_those_that_folds_like_best() -> None:
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 100)
    chosen = Boosting(jobs=1).fit(inputs, labels)

    def loss(rounds: int) -> float:
        logits = Boosting(rounds=rounds, jobs=1).fit(inputs, labels).left_out_logits()
        from sklearn.linear_model import LogisticRegression

        z = (logits[:, 1] - logits[:, 0])[:, None]
        return float(-LogisticRegression(C=1e6).fit(z, labels.y).predict_log_proba(z)[np.arange(100), labels.y].mean())

    best = loss(chosen.rounds_)
    assert all(best <= loss(rounds) + CLEARLY / len(labels) + 1e-4 for rounds in (10, 50, 150, 300))


def test_no_more_rounds_are_grown_than_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that mean nothing are told after the first rounds as well as after three hundred."""
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 60)
    mixed = replace(labels, y=np.random.default_rng(3).permutation(labels.y))
    grown = []
    monkeypatch.setattr(Stages, "grow", lambda self: (grown.append(1), grow_stages(self)))
    detector = Boosting(jobs=1).fit(inputs, mixed)
    assert detector.rounds_ <= 50 * len(grown) < 300
    assert all(len(trees) == detector.rounds_ for trees in (detector.trees_, *detector.fold_trees_))


def test_without_a_label_is_what_the_label_is_told() -> None:
    graph = dense_graph(num_classes=3)
    inputs, labels = inputs_of(graph), labels_of(graph, 90)
    detector = Boosting(rounds=20, jobs=1).fit(inputs, labels)
    seen = []
    for rows, found in detector.logits_without(inputs, np.array([3, 40, 7, 8, 9])):
        seen += rows.tolist()
        own = found[labels.nodes[rows], np.arange(len(rows))]
        np.testing.assert_allclose(own, detector.left_out_logits()[rows], atol=1e-12)
    assert sorted(seen) == [3, 7, 8, 9, 40]


@pytest.mark.parametrize("counts", [(30, 1, 0), (30, 3, 1), (20, 0, 2), (4, 2, 2)])
def test_classes_with_hardly_a_label(counts: tuple[int, int, int]) -> None:
    graph = dense_graph(num_classes=3)
    y = np.repeat(np.arange(3), counts)
    nodes = np.arange(len(y))
    labels = LabelledNodes(nodes, y, np.full(len(y), 1 / len(y)), 3, nodes)
    inputs = inputs_of(graph)
    detector = Boosting(rounds=20, jobs=1).fit(inputs, labels)
    assert np.isfinite(detector.left_out_logits()).all() and np.isfinite(detector.logits(inputs)).all()
    assert detector.logits(inputs).shape == (graph.num_nodes, 3)


def test_refuses_what_makes_no_sense() -> None:
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 40)
    for wrong in ({"rounds": 0}, {"leaves": 1}, {"learning_rate": 0.0}, {"jobs": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Boosting(**wrong).fit(inputs, labels)  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="single class"):
        Boosting().fit(inputs, labels.take(np.flatnonzero(labels.y == 0)))
    with pytest.raises(NotFittedError):
        Boosting().logits(inputs)


def test_no_library_reads_a_stored_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's text model can crash LightGBM; stored trees are arrays of ours, which it never sees."""
    graph = dense_graph(num_nodes=80)
    inputs, labels = inputs_of(graph), labels_of(graph, 40)
    made = Boosting(rounds=3, jobs=1).fit(inputs, labels)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    read = Boosting(rounds=3, jobs=1).restore(made.state())
    np.testing.assert_array_equal(read.logits(inputs), made.logits(inputs))
    assert all(isinstance(value, np.ndarray | int | float) for value in made.state().values())


@pytest.mark.parametrize(("band", "splits"), [(True, True), (False, False)])
def test_the_best_splits_are_taken_where_labels_left_out_ask_for_them(band, splits):
    """Rare in a narrow band of one column; or by a slope, as random splits find as well."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1_500, 30))
    p = np.where(np.abs(x[:, 0] - 0.4) < 0.05, 0.8, 0.02) if band else 1 / (1 + np.exp(3 - 2 * x[:, 0]))
    y = (rng.random(1_500) < p).astype(int)
    graph = cr.RareGraph(x.astype(np.float32), np.empty((2, 0), dtype=int), y)
    labels = LabelledNodes(np.arange(1_000), y[:1_000], np.ones(1_000), 2, np.arange(1_000))
    inputs = DetectorInputs(graph)
    chosen = Boosting(jobs=1).fit(inputs, labels)
    assert chosen.best_splits_ == splits
    alone = Boosting(jobs=1, splits="best" if splits else "random").fit(inputs, labels)
    np.testing.assert_array_equal(chosen.logits(inputs), alone.logits(inputs))
    other = Boosting(jobs=1, splits="random" if splits else "best").fit(inputs, labels)
    unseen = np.arange(1_000, 1_500)
    losses = [loss_by_class(each.logits(inputs)[unseen], y[unseen]) for each in (chosen, other)]
    assert losses[0] < losses[1] + (0 if band else 0.01)


def test_splits_that_nobody_knows_are_refused():
    with pytest.raises(InputError, match="splits must be"):
        cr.RareCategoryClassifier(Boosting(splits="all")).fit(cr.make_transactions(200, labelled_share=0.5, seed=0))
