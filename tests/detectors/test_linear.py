"""The linear detector: left-out logits and choices against real refits, words against dense algebra."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of, word_graph
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from slow_logistic import refit_without

from calirare.data.synthetic import make_transactions
from calirare.detectors import linear
from calirare.detectors.base import LabelledNodes
from calirare.detectors.linear import Linear
from calirare.detectors.logistic.optimum import (
    _INTERCEPT_PENALTY,
    LogisticProblem,
    Optimum,
    factor_of,
    fit_logistic,
    newton_from,
)
from calirare.detectors.logistic.without_groups import WithoutGroups, turned_back
from calirare.detectors.regression import choices as design_choices
from calirare.detectors.regression.landmarks import choose_landmarks
from calirare.errors import InputError, LabelError, NotFittedError


def random_problem(n: int = 60, size: int = 8, seed: int = 0) -> LogisticProblem:
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n, size)) / np.sqrt(size)
    y = (columns[:, 0] * 3 + rng.standard_normal(n) > 0.8).astype(np.float64)
    return LogisticProblem(columns, y, np.full(n, 1 / n))


@pytest.mark.parametrize("penalty", [1e-1, 1e-2, 1e-3])
def test_optimum_is_scikit_learns(penalty: float) -> None:
    problem = random_problem()
    optimum = fit_logistic(problem, penalty)
    theta, intercept = optimum.theta, optimum.intercept
    peer = LogisticRegression(C=1 / (penalty * len(problem.y)), tol=1e-10, max_iter=10_000)
    peer.fit(problem.columns, problem.y)
    np.testing.assert_allclose(theta, peer.coef_[0], atol=1e-4)
    assert intercept == pytest.approx(peer.intercept_[0], abs=1e-4)


@pytest.mark.refits
@pytest.mark.parametrize("penalty", [1e-1, 1e-2, 3e-3])
@pytest.mark.parametrize("several", [False, True])
def test_left_out_is_a_refit(penalty: float, several: bool) -> None:
    problem = random_problem()
    groups = np.arange(60) // 3 if several else np.arange(60)
    optimum = fit_logistic(problem, penalty)
    theta, intercept = optimum.theta, optimum.intercept
    without = WithoutGroups(problem, optimum, penalty, groups)
    steps = without.steps()
    directions, left_out = turned_back(without.root, steps), without.left_out(steps)
    for group in range(groups.max() + 1):
        rows = np.flatnonzero(groups == group)
        wanted = refit_without(problem, intercept, penalty, rows)
        np.testing.assert_allclose(theta + directions[:, group], wanted, atol=2e-2 * np.abs(wanted).max())
        np.testing.assert_allclose(left_out[rows], problem.columns[rows] @ wanted + intercept, atol=1e-2)


def test_a_tied_column_goes_with_its_label() -> None:
    """Left out with a tie: the refit in which cᵀθ = 0."""
    problem, penalty, rng = random_problem(), 1e-2, np.random.default_rng(1)
    ties = rng.standard_normal((8, 2))
    optimum = fit_logistic(problem, penalty)
    theta, intercept = optimum.theta, optimum.intercept
    without = WithoutGroups(problem, optimum, penalty, np.arange(60), (ties, np.array([4, 9])))
    found = turned_back(without.root, without.steps())
    for tie, row in ((0, 4), (1, 9)):
        free = np.linalg.svd(ties[:, [tie]].T)[2][1:].T
        wanted = free @ refit_without(
            LogisticProblem(problem.columns @ free, problem.y, problem.weights), intercept, penalty, np.array([row])
        )
        assert abs(ties[:, tie] @ (theta + found[:, row])) < 1e-5
        # Two steps with one curvature: a tie moves further than one label does.
        assert np.abs(theta + found[:, row] - wanted).max() < 0.1 * np.abs(theta - wanted).max()


def left_out_surprise(detector: Linear, labels: LabelledNodes) -> float:
    logits = detector.left_out_logits()
    return float((logsumexp(logits, axis=1) - logits[np.arange(len(labels)), labels.y]).mean())


@pytest.mark.slow
def test_penalty_is_the_one_that_refits_choose() -> None:
    graph = dense_graph(num_nodes=200)
    inputs, labels = inputs_of(graph), labels_of(graph, 60)
    chosen = Linear(hops=1).fit(inputs, labels)

    def surprise_of_refits(penalty: float) -> float:
        design = Linear(penalty=penalty, hops=1).fit(inputs, labels).main_.design
        problem = LogisticProblem(design.labelled, labels.y.astype(np.float64), np.full(60, 1 / 60))
        intercept = fit_logistic(problem, penalty).intercept
        z = np.array(
            [problem.columns[i] @ refit_without(problem, intercept, penalty, np.array([i])) for i in range(60)]
        )
        peer = LogisticRegression(C=1e6).fit(z[:, None], labels.y)
        return float(-peer.predict_log_proba(z[:, None])[np.arange(60), labels.y].mean())

    grid = 10 ** np.arange(-4.5, -0.9, 0.5)
    surprises = [surprise_of_refits(penalty) for penalty in grid]
    assert surprise_of_refits(chosen.main_.penalty) <= min(surprises) + 2e-3


def test_words_are_all_words_of_all_hops() -> None:
    """With every label a landmark, the model is ridge-penalised on [X, AX] written out, scaled and centred."""
    graph = word_graph(num_nodes=120)
    inputs, labels = inputs_of(graph), labels_of(graph, 50)
    detector = Linear(penalty=1e-2, hops=1).fit(inputs, labels)
    words = graph.x.toarray().astype(np.float64)  # type: ignore[union-attr]
    words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-12)
    adjacency = graph.adjacency().toarray()
    mean = adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1e-12)
    blocks = []
    for block in (words, mean @ words):
        gram = block[labels.nodes] @ block[labels.nodes].T
        blocks.append(block / np.sqrt(2 * (gram.diagonal().mean() - gram.mean())))
    columns = np.concatenate(blocks, axis=1)
    columns -= columns[labels.nodes].mean(axis=0)
    assert not detector.main_.design.dense.size, "left-out likelihood took the structure too: nothing is compared"
    problem = LogisticProblem(columns[labels.nodes], labels.y.astype(np.float64), np.full(50, 1 / 50))
    optimum = fit_logistic(problem, 1e-2)
    theta, intercept = optimum.theta, optimum.intercept
    logits, near = detector.logits(inputs), graph.degree > 0
    np.testing.assert_allclose((logits[:, 1] - logits[:, 0])[near], (columns @ theta + intercept)[near], atol=1e-4)
    for i in (0, 7, 20):
        refit = refit_without(problem, intercept, 1e-2, np.array([i]))
        level = (np.delete(problem.columns, i, axis=0) @ (refit - theta)).mean()
        wanted = columns[labels.nodes[i]] @ refit + intercept - level
        found = detector.left_out_logits()[i]
        assert found[1] - found[0] == pytest.approx(wanted, abs=1e-2)


@pytest.mark.parametrize("make", [dense_graph, word_graph])
def test_without_a_label_is_what_the_label_is_told(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calirare.detectors.regression.design._BLOCK", 32)
    monkeypatch.setattr("calirare.detectors.regression.choices._FEW_LANDMARKS", 20)  # from which hops are chosen
    graph = make()
    inputs, labels = inputs_of(graph), labels_of(graph, 70)
    detector = Linear().fit(inputs, labels)
    for rows, found in detector.logits_without(inputs, np.array([3, 40, 7])):
        own = found[labels.nodes[rows], np.arange(len(rows))]
        np.testing.assert_allclose(own, detector.left_out_logits()[rows], atol=1e-4)
    asked, nodes = np.array([40, 3]), np.array([90, 5, 9, 11, 2])
    ((_, found),) = detector.logits_without(inputs, asked)
    np.testing.assert_allclose(detector.logits_without_at(inputs, asked, nodes), found[nodes], atol=1e-9)


@pytest.mark.slow
def test_landmarks_do_not_flatter() -> None:
    """More labels than landmarks, random labels: being a landmark must tell nothing."""
    graph = word_graph(num_nodes=700)
    inputs, found = inputs_of(graph), []
    for seed in range(3):
        y = (np.random.default_rng(seed).random(600) < 0.15).astype(np.int64)
        detector = Linear().fit(inputs, labels_of(graph, 600, y=y), seed=seed)
        logits = detector.left_out_logits()
        found.append(roc_auc_score(y, logits[:, 1] - logits[:, 0]))
    assert 0.43 < np.mean(found) < 0.57


def test_copies_do_not_tell_on_each_other() -> None:
    graph = dense_graph(num_nodes=100, num_columns=15)
    once = labels_of(graph, 100)
    four = np.repeat(np.arange(100), 4)
    copies = LabelledNodes(once.nodes[four], once.y[four], once.weights[four] / 4, 2, once.groups[four])
    apart = LabelledNodes(copies.nodes, copies.y, copies.weights, 2, np.arange(400))
    inputs, detector = inputs_of(graph), Linear(penalty=1e-3)
    alone = left_out_surprise(detector.fit(inputs, once), once)
    assert left_out_surprise(detector.fit(inputs, copies), copies) == pytest.approx(alone, rel=0.02)
    assert left_out_surprise(detector.fit(inputs, apart), apart) < 0.9 * alone


def test_contributions_name_the_words() -> None:
    graph = word_graph()
    inputs = inputs_of(graph)
    detector = Linear(hops=2).fit(inputs, labels_of(graph, 80))
    logits = detector.logits(inputs)
    found = detector.contributions(inputs, 4, 1)
    assert found.logit == pytest.approx(logits[4, 1] - logits[4, 0], abs=1e-9)
    assert any(name.startswith("word ") and name.endswith("two steps away") for name in found.names)
    assert len(found.names) == len(found.groups) == len(found.shares)


def test_refuses_what_makes_no_sense() -> None:
    graph = dense_graph()
    inputs, labels = inputs_of(graph), labels_of(graph, 40)
    with pytest.raises(InputError, match="penalty must be"):
        Linear(penalty=-1.0).fit(inputs, labels)
    with pytest.raises(InputError, match="hops must be"):
        Linear(hops=1.5).fit(inputs, labels)  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="single class"):
        Linear().fit(inputs, labels.take(np.flatnonzero(labels.y == 0)))
    with pytest.raises(NotFittedError):
        Linear().logits(inputs)


def test_landmarks_are_of_every_class_and_one_per_group() -> None:
    y = np.repeat([0, 1, 2], [40, 6, 2])
    groups = np.arange(48)
    groups[:10] = 0
    for seed in range(5):
        found = choose_landmarks(y, groups, seed, most=9)
        assert len(set(groups[found])) == 9
        assert choose_landmarks(y, groups, seed, most=4).tolist() == found[:4].tolist()
        assert np.bincount(y[found]).tolist() in ([4, 3, 2], [3, 4, 2])
    assert choose_landmarks(y, groups, 0, most=100).size == 39


@pytest.mark.parametrize(("likeliest", "found"), [(-3.0, -3.0), (-1.5, -1.5), (-2.0, -2.0), (-9.0, -4.5), (3.0, -1.0)])
def test_the_penalty_is_sought_half_a_decade_at_a_time(
    likeliest: float, found: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a hundredth to where left-out labels are likeliest, and no further than the limits."""

    def fit(design: Any, penalty: float, *given: Any) -> linear._Fit:
        return linear._Fit(design, penalty, [], abs(float(np.log10(penalty)) - likeliest))

    monkeypatch.setattr(linear, "_fit", fit)
    nothing: Any = SimpleNamespace(labelled=np.arange(1_000))
    chosen = linear._refine(fit(nothing, 1e-2), np.zeros((1, 1)), np.zeros(1))
    assert np.log10(chosen.penalty) == pytest.approx(found)


@pytest.mark.parametrize(("slope", "found"), [(1.0, -3.0), (-1.0, -2.0), (-3.0, -1.0), (3.0, -4.5)])
def test_a_weaker_penalty_must_be_clearly_better(slope: float, found: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slope: nats over all labels that half a decade more costs, up to a tenth, or up to a hundredth where it is small."""

    def fit(design: Any, penalty: float, *given: Any) -> linear._Fit:
        steps = 2 * (float(np.log10(penalty)) + 3)
        return linear._Fit(design, penalty, [], slope * (min(steps, 2) if abs(slope) < 2 else steps) / 1_000)

    monkeypatch.setattr(linear, "_fit", fit)
    nothing: Any = SimpleNamespace(labelled=np.arange(1_000))
    chosen = linear._refine(fit(nothing, 1e-3), np.zeros((1, 1)), np.zeros(1))
    assert np.log10(chosen.penalty) == pytest.approx(found)


def test_a_fresh_curvature_is_that_of_the_optimum() -> None:
    """Left-out scores read it; one from before the last steps can put them off by more than choices differ."""
    problem = random_problem()
    wanted = fit_logistic(problem, 1e-3)
    # Near enough for a small gain, and a curvature that must be taken again on the way.
    start = Optimum(wanted.theta + 0.02, wanted.intercept, 10 * wanted.gram)
    found = fit_logistic(problem, 1e-3, start)
    there = problem.gram(problem.columns @ found.theta + found.intercept)
    assert np.abs(found.gram - there).max() < 1e-6 * np.abs(there).max()


@pytest.mark.parametrize(
    ("likeliest", "found", "tried"),
    [(-4.0, -4, [-3, -4]), (-3.0, -3, [-3, -4, -2]), (-2.0, -2, [-3, -4, -2, -1]), (-0.5, -1, [-3, -4, -2, -1])],
)
def test_whole_decades_are_tried_from_the_middle(
    likeliest: float, found: int, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No stronger penalty is tried where a weaker one is clearly better, and the strongest only where the way leads there."""
    asked = []

    def fit(design: Any, penalty: float, *given: Any) -> linear._Fit:
        asked.append(round(float(np.log10(penalty))))
        return linear._Fit(design, penalty, [], abs(float(np.log10(penalty)) - likeliest))

    monkeypatch.setattr(linear, "_fit", fit)
    nothing: Any = SimpleNamespace(labelled=np.arange(1_000))
    chosen = Linear()._along_penalties(nothing, np.zeros((1, 1)), np.zeros(1))
    assert (round(float(np.log10(chosen.penalty))), asked) == (found, tried)


@pytest.mark.parametrize("penalty", [1e-6, 1e-2])
def test_a_step_from_what_other_columns_say_is_newtons(penalty: float) -> None:
    """From logits that its own columns can give it is a plain Newton step; the optimum stays where it is."""
    problem = random_problem()
    theta, rng = np.zeros(9), np.random.default_rng(0)
    design = np.column_stack([problem.columns, np.ones(60)])
    ridge = np.diag([penalty] * 8 + [_INTERCEPT_PENALTY])
    for start in (theta, 0.3 * rng.standard_normal(9)):
        p = expit(design @ start)
        gradient = design.T @ (problem.weights * (p - problem.y)) + ridge @ start
        hessian = design.T @ (design * (problem.weights * p * (1 - p))[:, None]) + ridge
        found, _ = newton_from(problem, design @ start, penalty)
        wanted = start - np.linalg.solve(hessian, gradient)
        np.testing.assert_allclose(np.append(found.theta, found.intercept), wanted, rtol=1e-3, atol=1e-4)
    optimum = fit_logistic(problem, penalty)
    again = fit_logistic(problem, penalty, rng.standard_normal(60))
    np.testing.assert_allclose(again.theta, optimum.theta, atol=1e-5)


def test_columns_that_say_nothing_leave_a_system_that_can_be_solved() -> None:
    """As where every probability is 0 or 1: the penalties alone, and next to none for the intercept."""
    factor = factor_of(np.zeros((3, 3)), 2.0)
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, np.diag([2.0, 2.0, _INTERCEPT_PENALTY]), atol=1e-15)


@pytest.mark.parametrize(("statistic", "all_of_it"), [("mean", False), ("spread", True)])
def test_of_neighbours_it_reads_what_left_out_labels_ask_for(statistic: str, all_of_it: bool) -> None:
    """Plain means of attributes where these count; all that is said of neighbours where something else does."""
    graph = dense_graph(num_nodes=800, num_columns=8)
    inputs = inputs_of(graph)
    names = inputs.columns.names
    name = names[0]
    said = inputs.columns.values[:, names.index(f"{name}, {statistic} over neighbours")]
    noise = np.random.default_rng(1).logistic(size=800)
    y = (2 * (said - said.mean()) / said.std() + 0.5 * noise > 1.5).astype(np.int64)
    found = Linear().fit(inputs, labels_of(replace(graph, y=y), 400))
    read = {names[k] for k in found.main_.design.dense}
    means = {f"{name}, mean over neighbours", f"{name}, mean over neighbours two steps away"}
    assert {name, "degree"} | means <= read
    assert (f"{name}, spread over neighbours" in read) == all_of_it


@pytest.mark.refits
@pytest.mark.parametrize("edges_tell", [False, True])
def test_what_edges_and_structure_say_is_left_out_where_it_only_dilutes(edges_tell: bool) -> None:
    """Most columns of the table are of the edges; labels hang on attributes of nodes and neighbours, or on edges too."""
    graph = make_transactions(800, seed=0)
    inputs, rng = inputs_of(graph), np.random.default_rng(0)
    columns = inputs.columns
    own, edges = (np.flatnonzero(np.array(columns.groups) == group)[:3] for group in ("own", "edges"))
    around = [columns.names.index(f"{columns.names[k]}, mean over neighbours") for k in own]
    telling = [*own, *around, *(edges if edges_tell else ())]
    ranks = columns.values[:, telling].argsort(axis=0).argsort(axis=0) / 800 - 0.5
    y = (rng.random(800) < expit(6 * ranks.sum(axis=1) - 3)).astype(np.int64)
    design = Linear().fit(inputs, labels_of(replace(graph, y=y), 600)).main_.design
    read = {columns.groups[k] for k in design.dense}
    assert read == ({"own", "neighbours", "edges", "structure"} if edges_tell else {"own", "neighbours"})
    assert set(telling) <= set(design.dense.tolist())


@pytest.mark.parametrize("helps", [True, False])
def test_dense_columns_that_are_no_help_beside_the_words_are_not_tried_alone(
    helps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, fit, tried = word_graph(), linear._fit, list[str]()

    def judged(design: Any, *given: Any) -> Any:
        found, dense = fit(design, *given), bool(len(design.dense))
        tried.append("alone" if design.words is None else "beside" if dense else "none")
        return replace(found, score=found.score + (-1.0 if helps else 1.0)) if tried[-1] == "beside" else found

    monkeypatch.setattr(linear, "_fit", judged)
    monkeypatch.setattr(design_choices, "_MOST_BESIDE_WORDS", 1_000)
    Linear(penalty=1e-2, hops=1).fit(inputs_of(graph), labels_of(graph, 80))
    assert tried == (["none", "beside", "alone"] if helps else ["none", "beside"])
