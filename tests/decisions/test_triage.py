"""Triage on generated networks, whose truth is known."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import calirare as cr
from calirare.data.arrays import UNKNOWN
from calirare.decisions.costs import Costs
from calirare.decisions.triage import Triage, triage
from calirare.decisions.wording import wording_of
from calirare.detectors import Linear
from calirare.errors import ColumnError, InputError, MissingDependencyError, NotFittedError
from calirare.estimator.evidence import read_nodes
from calirare.uncertainty.calibration_maps import Drawn
from calirare.uncertainty.intervals import calibration_draws

COSTS = Costs(50, 5, 1)
pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(num_nodes=700, seed=0, with_payments=False)


@pytest.fixture(scope="module")
def split(graph):
    return cr.split_labels(graph, train_fraction=0.3, val_fraction=0.0, test_fraction=0.7, seed=0)


@pytest.fixture(scope="module")
def clf(graph, split):
    return cr.RareCategoryClassifier(detector="linear").fit(graph, split)


@pytest.fixture(scope="module")
def table(clf, graph):
    return triage(clf, graph, budget=60)


def test_the_table_holds_the_model_s_answers(table, clf, graph, split):
    assert isinstance(table, Triage) and len(table) == split.test.size
    np.testing.assert_array_equal(np.sort(table.node), np.sort(split.test))
    np.testing.assert_array_equal(table.id, graph.ids[table.node])
    np.testing.assert_array_equal(table.probability, clf.predict_proba(graph)[table.node, graph.rare_class])
    intervals = clf.predict_interval(graph)
    np.testing.assert_array_equal(table.lower, intervals.lower[table.node])
    np.testing.assert_array_equal(table.upper, intervals.upper[table.node])
    np.testing.assert_array_equal(table.member, clf.predict_set(graph)[table.node])


def test_the_urgent_come_first(table):
    actions = table.action.tolist()
    assert actions == sorted(actions, key=("alert", "review", "clear").index)
    expected = table.costs.expected(table.probability)
    worth = {
        "alert": expected["clear"] - expected["alert"],
        "review": table.decisions.gain,
        "clear": table.decisions.gain,
    }
    for name, value in worth.items():
        assert (np.diff(value[table.action == name]) <= 0).all()
    assert (table.action == "review").sum() == 60


def test_pulls_are_those_of_explain(table, clf, graph):
    shown = (table.action != "clear") | table.decisions.waiting
    np.testing.assert_array_equal(table.pulls.told, shown)
    assert (table.frame()["pulls"] != "").tolist() == shown.tolist() and not shown.all()
    for place in (0, 30, 59):
        said = clf.explain(graph, int(table.node[place]))
        np.testing.assert_allclose(table.pulls.pull[place], said.pull[:3], atol=1e-4)
        if np.diff(np.abs(said.pull[:4])).max() < -1e-4:  # else their order is a matter of rounding
            np.testing.assert_array_equal(table.pulls.node[place], said.labelled_node[:3])
            np.testing.assert_array_equal(table.pulls.label[place], said.label[:3])


def test_a_budget_moves_the_thresholds_in_force(table):
    """Brute force: whatever lies between the thresholds is reviewed, and nothing else."""
    limits, p = table.costs.thresholds(table.cutoff), table.probability
    assert table.decisions.waiting.any() and limits.review > table.costs.thresholds().review
    inside = (p >= limits.review - 1e-12) & (p <= limits.alert + 1e-12)  # the last one reviewed lies on a limit
    np.testing.assert_array_equal(inside, table.action == "review")
    none = table.rejudge(COSTS, budget=0)
    assert not none.costs.thresholds(none.cutoff).review_pays
    assert table.rejudge(COSTS).cutoff == 0


def test_reasons_speak_of_the_case_and_not_of_prices(table):
    for reason in table.reason:
        assert reason.endswith(".") and "cost" not in reason and "P(" not in reason
    waiting = table.decisions.waiting
    assert all("The budget goes to cases where a review saves more" in reason for reason in table.reason[waiting])
    assert not any("budget" in reason for reason in table.reason[~waiting])


def test_rows_and_columns_say_the_same(table):
    columns = table.frame()
    first = next(iter(table))
    assert list(first) == list(columns)
    assert list(columns) == [
        "node", "id", "probability", "lower", "upper", "disagreement", "set", "action", "reason", "expected_cost",
        "review_saves", "pulls",
    ]  # fmt: skip
    assert {name: column[0] for name, column in columns.items()} == first
    frame = table.to_polars()
    assert frame.height == len(table) and frame["action"].to_list() == table.action.tolist()
    assert frame.schema["probability"] == pl.Float64 and frame.schema["reason"] == frame.schema["set"] == pl.String
    assert table.groups_frame()["group"].tolist() == ["alert", "review", "clear", "all"]
    assert "60 review" in repr(table)


def test_without_polars_only_the_frame_is_missing(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert len(table.frame()["reason"]) == len(table)
    with pytest.raises(MissingDependencyError, match="calirare\\[tables\\]"):
        table.to_polars()


def test_rejudging_is_triage_again(table, clf, graph):
    again = table.rejudge(Costs(200, 3, 2, 0.05), budget=10)
    fresh = triage(clf, graph, 200, 3, 2, 10, review_error=0.05)
    np.testing.assert_array_equal(again.node, fresh.node)
    np.testing.assert_array_equal(again.reason, fresh.reason)
    np.testing.assert_array_equal(again.pulls.node, fresh.pulls.node)
    assert again.groups == fresh.groups


def test_labels_that_were_not_read_change_nothing(table, clf, graph, split, few_sentences):
    y = graph.y.copy()
    y[split.test] = UNKNOWN
    blind = triage(clf, graph.with_labels(y), budget=60)
    np.testing.assert_array_equal(blind.node, table.node)
    assert blind.groups == table.groups


def test_a_saved_model_decides_alike(table, clf, graph, tmp_path, few_sentences):
    clf.save(tmp_path / "model")
    loaded = triage(cr.load(tmp_path / "model"), graph, budget=60)
    np.testing.assert_array_equal(loaded.node, table.node)
    np.testing.assert_array_equal(loaded.action, table.action)
    assert loaded.groups == table.groups


def test_a_new_graph_is_decided_whole_and_its_pulls_are_training_nodes(clf, few_sentences):
    other = cr.make_transactions(num_nodes=1_600, seed=5, with_payments=False)
    assert read_nodes(clf, other) is None
    found = triage(clf, other)
    assert len(found) == other.num_nodes
    assert max(found.frame()["pulls"]).startswith("training node ")  # most are not told here


def test_held_out_labels_count_as_read_while_the_graph_has_them(graph):
    split = cr.split_labels(graph, train_fraction=0.2, val_fraction=0.1, test_fraction=0.7, seed=0)
    clf = cr.RareCategoryClassifier(detector=Linear(penalty=0.1), method="temperature").fit(graph, split)
    np.testing.assert_array_equal(read_nodes(clf, graph), split.labelled)
    y = graph.y.copy()
    y[split.val] = UNKNOWN
    np.testing.assert_array_equal(read_nodes(clf, graph.with_labels(y)), np.sort(split.train))


def test_pulls_of_the_fitted_graph_are_named_by_their_ids(clf, graph, split):
    named = replace(graph, node_ids=np.array([f"account {i}" for i in range(graph.num_nodes)], dtype=object))
    assert triage(clf, named, nodes=split.test[:3]).frame()["pulls"][0].startswith("account ")


def test_in_another_network_too_known_labels_are_not_decided(clf):
    other = cr.make_transactions(num_nodes=300, rare_share=0.2, labelled_share=0.5, seed=7)
    assert sorted(triage(clf, other).node) == np.setdiff1d(np.arange(300), other.known).tolist()
    every = other.with_labels(other.original_y)
    assert len(triage(clf, every)) == 300  # what would have been decided


def test_what_the_rare_share_was_counted_on():
    """The fewer labels, the less is known of the share, and the wider the forecast."""
    graph = cr.make_transactions(num_nodes=200, rare_share=0.2, seed=0, with_payments=False)
    split = cr.split_labels(graph, train_fraction=0.3, val_fraction=0.0, test_fraction=0.7, seed=0)
    held_out = cr.split_labels(graph, train_fraction=0.2, val_fraction=0.1, test_fraction=0.7, seed=0)
    for method, part, count in (
        ("jackknife", split, split.train.size),
        ("jackknife", None, graph.known.size),
        ("temperature", held_out, held_out.val.size),
    ):
        clf = cr.RareCategoryClassifier(detector=Linear(penalty=0.1), method=method).fit(graph, part)
        assert clf._num_share_labels() == count
    given = cr.RareCategoryClassifier(detector=Linear(penalty=0.1), rare_share=0.1).fit(graph, split)
    assert given._num_share_labels() is None


def test_the_forecast_is_drawn_from_the_left_out_answers(table, clf):
    want = calibration_draws(
        clf.predict_left_out()[:, clf.rare_class_],
        clf.labelled_y_ == clf.rare_class_,
        rare_share=clf.shares_[clf.rare_class_],
        num_share_labels=len(clf.labelled_y_),
        num_draws=len(table.draws),
        seed=clf.seed,
        undo=Drawn(*clf.calibrator_.drawn_of_class(clf.rare_class_)),
        degree=clf.state_.degree,
    )
    for name, value in vars(want).items():
        np.testing.assert_array_equal(getattr(table.draws, name), value)


def test_a_graph_that_ends_before_the_last_label_is_another(clf, graph):
    last = int(clf.labelled_nodes_.max())
    inside = (graph.edge_index < last).all(axis=0)
    shorter = cr.RareGraph(x=graph.x[:last], edge_index=graph.edge_index[:, inside], y=graph.y[:last])
    assert read_nodes(clf, shorter) is None


def test_chosen_nodes(clf, graph):
    by_index = triage(clf, graph, nodes=[5, 3, 3], num_pulls=0)
    by_mask = triage(clf, graph, nodes=np.isin(np.arange(graph.num_nodes), [3, 5]))
    assert sorted(by_index.node.tolist()) == sorted(by_mask.node.tolist()) == [3, 5]
    assert by_index.frame()["pulls"].tolist() == ["", ""]
    assert len(triage(clf, graph, nodes=np.empty(0, dtype=int))) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"nodes": [9_999]}, "nodes must list node indices in 0…699"),
        ({"nodes": [0.5]}, "or be a mask over all 700 nodes"),
        ({"budget": -1}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"cost_miss": 0}, "cost_miss"),
        ({"num_pulls": -1}, "num_pulls must be a whole number, 0 or more"),
        ({"coverage": 0.0}, "coverage"),
    ],
)
def test_nonsense_is_refused(clf, graph, arguments, says):
    with pytest.raises(InputError, match=says):
        triage(clf, graph, **arguments)


def test_balanced_probabilities_are_refused(graph, split):
    clf = cr.RareCategoryClassifier(detector=Linear(penalty=0.1), prior="balanced").fit(graph, split)
    with pytest.raises(InputError, match="prior='natural'"):
        triage(clf, graph)


def test_sentences_name_the_label_s_column(clf):
    assert wording_of(clf, 0.9).label_column == "is_fraud"
    nameless = copy(clf)
    nameless.state_ = replace(clf.state_, schema=None)
    assert wording_of(nameless, 0.9).label_column is None


def test_an_unfitted_model_is_refused(graph):
    with pytest.raises(NotFittedError):
        triage(cr.RareCategoryClassifier(), graph)


def test_a_method_that_does_not_calibrate_is_told_so(graph, split, caplog, few_sentences):
    triage(cr.RareCategoryClassifier(detector="linear", method="uncalibrated").fit(graph, split), graph)
    assert "method 'uncalibrated' does not calibrate: its probabilities, and the costs" in caplog.text


def test_ids_stay_what_they_are(clf, graph, few_sentences):
    ids = np.array([f"=cmd|<b>{i}</b>" for i in range(graph.num_nodes)], dtype=object)
    found = triage(clf, replace(graph, node_ids=ids))
    np.testing.assert_array_equal(found.id, ids[found.node])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_it_is_cheaper_than_a_threshold_and_than_the_top_k_and_foretells_its_cost(seed, few_sentences):
    graph = cr.make_transactions(num_nodes=2_000, seed=seed, with_payments=False)
    split = cr.split_labels(graph, train_fraction=0.2, val_fraction=0.0, test_fraction=0.8, seed=seed)
    clf = cr.RareCategoryClassifier(detector="linear", seed=seed)
    trained = clf.fit_detector(graph, split)
    found = triage(clf.calibrate(trained, graph, split), graph)
    plain = cr.RareCategoryClassifier(method="uncalibrated", seed=seed).calibrate(trained, graph, split)
    score = plain.predict_proba(graph)[found.node, graph.rare_class]
    rare = graph.y[found.node] == graph.rare_class
    cost = COSTS.realised(found.action, rare).sum()
    top = np.argsort(np.argsort(-score)) < round(clf.shares_[graph.rare_class] * len(found))
    assert cost < COSTS.realised(np.where(score > 0.5, "alert", "clear"), rare).sum()
    assert cost < COSTS.realised(np.where(top, "alert", "clear"), rare).sum()
    assert found.groups["all"].cost.lower <= cost <= found.groups["all"].cost.upper


def test_prices_per_node_follow_their_nodes(clf, graph, few_sentences):
    amounts = np.linspace(1.0, 900.0, graph.num_nodes)
    table = triage(clf, graph, cost_miss=amounts, budget=20)
    np.testing.assert_array_equal(table.costs.miss, amounts[table.node])
    expected = np.minimum(amounts[table.node] * table.probability, 5 * (1 - table.probability)) - 1
    np.testing.assert_allclose(table.decisions.gain, expected)
    reviewed = table.action == "review"
    assert reviewed.sum() == 20 and table.decisions.gain[reviewed].min() >= table.decisions.gain[~reviewed].max()
    again = table.rejudge(Costs(50, 5, 1)).rejudge(Costs(miss=np.sort(table.costs.miss)), budget=20)
    np.testing.assert_array_equal(again.node, table.node)
    with pytest.raises(InputError, match=f"one for each of the {graph.num_nodes} nodes; got 3"):
        triage(clf, graph, cost_miss=[1.0, 2.0, 3.0])


def test_a_price_may_be_a_column_of_the_nodes(few_sentences):
    graph = cr.make_transactions(300, labelled_share=0.5, seed=0, with_payments=False)
    clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    by_name = triage(clf, graph, cost_miss="account_age_days", budget=5)
    days = np.maximum(graph.column("account_age_days"), 0)
    by_value = triage(clf, graph, cost_miss=days, budget=5)
    np.testing.assert_allclose(by_name.decisions.cost, by_value.decisions.cost, rtol=1e-9)
    with pytest.raises(ColumnError, match="amount_mean_log10"):
        triage(clf, graph, cost_miss="ammount")
