"""A model at another share of rare nodes: Bayes' rule, and everything else that it says follows."""

from __future__ import annotations

import numpy as np
import pytest
from slow_calibrators import shift_prior

import calirare as cr
from calirare.calibration import share_weights
from calirare.calibration.scaling import SoftPlattScaling
from calirare.errors import InputError, LabelError
from calirare.evaluation import evaluate
from calirare.review.snapshot import Scores
from calirare.scoring.table import score_table

pytestmark = pytest.mark.usefixtures("quick_networks_here", "few_sentences")


@pytest.fixture(scope="module")
def case():
    graph = cr.make_transactions(500, rare_share=0.1, labelled_share=0.5, seed=3)
    members = [cr.detectors.Linear(hops=0), cr.detectors.Forest(trees=20)]  # both weigh
    return graph, cr.RareCategoryClassifier(cr.detectors.Stack(members)).fit(graph)


def test_everything_moves_by_bayes_rule_and_the_model_itself_stays(case):
    graph, clf = case
    before, old = clf.predict_proba(graph)[:, 1], float(clf.shares_[1])
    moved = clf.with_rare_share(0.3)
    np.testing.assert_allclose(moved.predict_proba(graph)[:, 1], shift_prior(before, old, 0.3), rtol=1e-9)
    expected = shift_prior(clf.predict_left_out()[:, 1], old, 0.3)
    np.testing.assert_allclose(moved.predict_left_out()[:, 1], expected, rtol=1e-9)
    rows, table = clf.left_out_table(graph)
    np.testing.assert_allclose(moved.left_out_table(graph)[1], shift_prior(table.ravel(), old, 0.3).reshape(table.shape), rtol=1e-5)  # fmt: skip
    assert moved.moved_share == moved.shares_[1] and clf.moved_share is None
    np.testing.assert_array_equal(clf.predict_proba(graph)[:, 1], before)
    np.testing.assert_allclose(moved.fitted_shares_, clf.shares_)
    # Back again is where it began, whatever lay between.
    np.testing.assert_allclose(moved.with_rare_share(0.01).with_rare_share(old).predict_proba(graph)[:, 1], before)


def test_intervals_and_forecast_are_at_the_new_share(case):
    graph, clf = case
    moved = clf.with_rare_share(0.3)
    interval, p = moved.predict_interval(graph), moved.predict_proba(graph)[:, 1]
    assert ((interval.lower <= p) & (p <= interval.upper)).all()
    y, own = moved.labelled_y_ == 1, moved.predict_left_out()[:, 1]
    weight = np.where(y, 0.3 / y.sum(), 0.7 / (~y).sum())
    draws = moved.calibration_draws()
    # Left-out scores may lie a little apart from the population's: each map has the share nearly, all together have it.
    over_labels = draws.probabilities(draws.scores(own)) @ weight
    np.testing.assert_allclose(over_labels, 0.3, atol=0.08)
    assert over_labels.mean() == pytest.approx(0.3, abs=0.003)
    queue, old_queue = cr.triage(moved, graph, budget=50), cr.triage(clf, graph, budget=50)
    assert queue.groups["all"].rare.value > 1.5 * old_queue.groups["all"].rare.value
    assert set(queue.frame()["rare_share"]) == {0.3} and "rare_share" not in old_queue.frame()
    assert set(score_table(moved, graph)["rare_share"]) == {0.3} and "rare_share" not in score_table(clf, graph)


def test_members_disagree_as_loops_say_at_either_share(case):
    graph, clf = case
    left_out, whole, y = clf.detector_.left_out_logits(), clf.detector_.logits(clf.asked_.inputs), clf.labelled_y_
    weights, old, keep = share_weights(y, clf.shares_), float(clf.shares_[1]), clf.skill().keep
    maps = [SoftPlattScaling().fit(left_out[:, k], y, weights=weights) for k in range(2)]
    alone = [old + keep * (one.predict_proba(whole[:, k])[:, 1] - old) for k, one in enumerate(maps)]
    (first, second), total = clf.weights_.values(), sum(clf.weights_.values())
    for asked, said in ((clf, alone), (clf.with_rare_share(0.3), [shift_prior(p, old, 0.3) for p in alone])):
        found = asked.predict_disagreement(graph)
        np.testing.assert_allclose(list(asked.predict_alone(graph).values()), said, rtol=1e-6)
        for node in range(0, graph.num_nodes, 40):
            # Of two values the weighted standard deviation is their distance times the geometric mean of the weights.
            apart = abs(said[0][node] - said[1][node]) * (first * second) ** 0.5 / total
            assert found[node] == pytest.approx(apart, rel=1e-6, abs=1e-12)
        np.testing.assert_array_equal(score_table(asked, graph, intervals=False)["disagreement"], found)
        queue = cr.triage(asked, graph)
        np.testing.assert_array_equal(queue.frame()["disagreement"], found[queue.node])
        np.testing.assert_array_equal(Scores.of(asked, graph).disagreement, found)
    assert found.max() > 0.01
    single = cr.RareCategoryClassifier("linear").fit(graph)
    assert not single.predict_disagreement(graph).any() and single.predict_alone(graph) == {}


def test_sets_exclude_the_same_classes_but_for_the_likeliest(case):
    """Thresholds and scores move alike, so that the coverage of each class stays."""
    graph, clf = case
    moved = clf.with_rare_share(0.3)
    before, after = clf.predict_set(graph), moved.predict_set(graph)
    likeliest = np.eye(2, dtype=bool)[np.stack([clf.predict(graph), moved.predict(graph)])].any(axis=0)
    assert (before == after)[~likeliest].all()


def test_it_is_stored_and_judged_as_no_random_draw(case, tmp_path):
    graph, clf = case
    moved = clf.with_rare_share(0.3)
    moved.save(tmp_path)
    again = cr.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(graph), moved.predict_proba(graph))
    np.testing.assert_array_equal(again.predict_interval(graph).upper, moved.predict_interval(graph).upper)
    assert any("of the population 30.0%" in words for words in evaluate(again, graph, num_resamples=20).warnings)


def test_several_classes_keep_their_proportions():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [120, 60, 20])
    graph = cr.RareGraph(
        rng.normal(size=(200, 3)) + np.eye(3)[y],
        rng.integers(0, 200, (2, 300)),
        y,
        class_names=("a", "b", "c"),
        rare_class=2,
    )
    clf = cr.RareCategoryClassifier(cr.detectors.GCN(epochs=10, hidden=4, weight_decay=2e-2), device="cpu").fit(graph)
    moved = clf.with_rare_share(0.4)
    p, q = clf.predict_proba(graph), moved.predict_proba(graph)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    np.testing.assert_allclose(q[:, 0] / q[:, 1], p[:, 0] / p[:, 1])
    np.testing.assert_allclose(moved.shares_, [0.4, 0.2, 0.4])
    for of_class in range(3):
        _, table = moved.left_out_table(graph, of_class)
        assert np.abs(table.mean(axis=1) - q[:, of_class]).max() < 0.1  # left-out models are near the whole one


def test_the_share_is_read_off_the_scores_of_a_sample_with_more_rare_nodes(case):
    graph, clf = case
    rng = np.random.default_rng(0)
    truth = graph.original_y
    unread = np.setdiff1d(np.arange(graph.num_nodes), graph.known)
    rare, others = unread[truth[unread] == 1], unread[truth[unread] == 0]
    chosen = np.concatenate([rare, rng.choice(others, 2 * rare.size, replace=False)])  # a third is rare
    found = clf.estimate_rare_share(graph, chosen)
    assert found.lower < 1 / 3 < found.upper and found.upper - found.lower < 0.3
    assert clf.estimate_rare_share(graph).value == pytest.approx(truth[unread].mean(), abs=0.05)


def test_what_cannot_be_moved_or_read_is_refused(case):
    graph, clf = case
    for share in (0, 1, 1.5, "a", None):
        with pytest.raises(InputError, match="rare_share must lie between 0 and 1"):
            clf.with_rare_share(share)
    balanced = cr.RareCategoryClassifier("linear", prior="balanced").fit(graph)
    with pytest.raises(InputError, match="prior='balanced'"):
        balanced.with_rare_share(0.2)
    rng = np.random.default_rng(0)
    noise = cr.RareGraph(rng.normal(size=(200, 3)), np.empty((2, 0), dtype=int), (rng.random(200) < 0.1).astype(int))
    nothing = cr.RareCategoryClassifier("linear").fit(noise)
    with pytest.raises(LabelError, match="no skill"):
        nothing.estimate_rare_share(noise)


@pytest.mark.refits
def test_the_share_is_read_off_the_scores_as_surely_whoever_knows_that_of_the_fit():
    """Labels drawn within each class, a quarter of them rare; a tenth of the nodes are."""
    inside, width = {"counted": 0, "moved": 0, "given": 0}, {"counted": 0.0, "moved": 0.0, "given": 0.0}
    for seed in range(20):
        graph = cr.make_transactions(1_500, labelled_share=1.0, rare_share=0.1, seed=seed, with_payments=False)
        rng, y = np.random.default_rng(seed), np.full(1_500, -1)
        for label, count in ((1, 40), (0, 120)):
            y[rng.choice(np.flatnonzero(graph.y == label), count, replace=False)] = label
        labelled, linear = graph.with_labels(y), cr.detectors.Linear(penalty=0.01)
        clf = cr.RareCategoryClassifier(linear).fit(labelled)
        given = cr.RareCategoryClassifier(linear, rare_share=0.1).fit(labelled)
        truth = graph.y[y < 0].mean()
        for name, model in (("counted", clf), ("moved", clf.with_rare_share(0.1)), ("given", given)):
            found = model.estimate_rare_share(labelled)
            inside[name] += found.lower <= truth <= found.upper
            width[name] += found.upper - found.lower
    assert min(inside.values()) >= 15  # one in a thousand would miss more of 20 at 90%
    assert 0.8 < width["moved"] / width["counted"] < 1.5 and 0.8 < width["given"] / width["counted"] < 1.5
