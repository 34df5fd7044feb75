"""What is said first: with noise, with few labels, with labels chosen by score; and labels to look at again."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import calirare as cr
from calirare.evaluation import evaluate, first_lines, look_again
from calirare.evaluation.first_lines import score_lines
from calirare.uncertainty.skill import few_labels
from calirare.uncertainty.unlike import Unlike


@pytest.fixture(scope="module")
def network():
    """Every label known."""
    return cr.make_transactions(700, rare_share=0.15, seed=5, with_payments=False)


def fitted(graph, y=None, **options):
    labelled = graph if y is None else graph.with_labels(y)
    return cr.RareCategoryClassifier("linear", **options).fit(labelled), labelled


def keep(y, num_rare, num_others=150):
    rng = np.random.default_rng(0)
    nodes = [rng.permutation(np.flatnonzero(y == c))[:n] for c, n in ((0, num_others), (1, num_rare))]
    kept = np.full(y.size, -1)
    kept[np.concatenate(nodes)] = y[np.concatenate(nodes)]
    return kept


@pytest.fixture(scope="module")
def many(network):
    """A model of 360 labels, and the graph with them."""
    return fitted(network, keep(network.y, 60, 300))


def test_a_random_sample_that_teaches_something_needs_no_words(network):
    assert first_lines(*fitted(network, keep(network.y, 40, 220))) == ()


@pytest.mark.parametrize(
    ("num_rare", "says"), [(1, "one label of fraud"), (3, "3 labels of fraud"), (9, "9"), (12, "")]
)
def test_few_labels_are_said_first(network, num_rare, says):
    clf, graph = fitted(network, keep(network.y, num_rare), rare_share=0.15)
    said = first_lines(clf, graph)
    if num_rare <= 3:
        assert said[0].startswith(f"Nothing is shown yet: {says} cannot tell this model from the base rate.")
    elif clf.skill().shown:
        assert (said[0] if said else "") == few_labels(num_rare, "fraud")
    else:
        assert said[0].startswith("No skill is shown") and f"on {num_rare} labels" in said[0]


def test_columns_that_give_the_label_away_are_said_first_and_no_verdict_is_good(network):
    y = keep(network.y, 40, 220)
    labels = [None if label < 0 else str(label) for label in y]
    nodes = {"id": range(700), "x": network.x[:, 0], "closed on": np.where(y == 1, 1.0, np.nan), "y": labels}
    source, target = network.edge_index
    clf, graph = fitted(cr.read_tables(nodes, {"source": source, "target": target}, label="y", rare="1"))
    assert first_lines(clf, graph)[0].endswith("Fit again with --type 'closed on=ignore'.")
    verdict = evaluate(clf, graph, num_resamples=5).verdict
    assert verdict.level == "caution" and "'closed on'" in verdict.warnings[0]


def test_noise_is_called_noise_first_and_its_probabilities_are_the_base_rate():
    rng = np.random.default_rng(7)
    y = (rng.random(400) < 0.2).astype(int)
    clf, graph = fitted(cr.RareGraph(rng.normal(size=(400, 10)), np.empty((2, 0), dtype=int), y), keep(y, 20, 80))
    found = evaluate(clf, graph, num_resamples=5)
    said = first_lines(clf, graph, found.skill)[0]
    assert said.startswith("No skill is shown") and found.verdict.level == "no skill"
    assert f"ROC-AUC {found.skill.roc_auc:.2f} on 20 labels" in said and said.endswith("the base rate, 0.2.")
    assert score_lines(clf.with_rare_share(0.05), graph)[0].endswith("the base rate, 0.05.")
    interval = clf.predict_interval(graph)
    assert ((interval.lower <= 0.2) & (0.2 <= interval.upper)).mean() > 0.95


def test_labels_chosen_by_score_are_said(network):
    rng = np.random.default_rng(1)
    p = network.true_probability
    chosen = rng.choice(700, 210, replace=False, p=(p + 0.02) / (p + 0.02).sum())
    y = np.full(700, -1)
    y[chosen] = network.y[chosen]
    clf, graph = fitted(network, y)
    said = first_lines(clf, graph)[-1]
    share = (clf.labelled_y_ == 1).mean()
    assert said.startswith("Labels follow the scores") and f"{share:.1%} of the labels are rare" in said
    rest = clf.predict_proba(graph)[graph.y == -1, 1].mean()
    assert f"by the scores {rest:.1%} of the others" in said
    verdict = evaluate(clf, graph, num_resamples=2).verdict
    assert verdict.level == "caution" and any(one.startswith("Labelled nodes judge it") for one in verdict.warnings)
    hidden = np.flatnonzero(y == -1)
    assert not any("unlike" in one for one in evaluate(clf, network, hidden, num_resamples=2).warnings)


def test_labels_from_a_corner_are_said_whatever_they_score(network):
    column = int(
        np.argmin(np.abs(np.corrcoef(network.x.T, network.true_probability)[-1, :-1]))
    )  # tells nothing of fraud
    chosen = np.random.default_rng(1).permutation(np.argsort(network.x[:, column])[-350:])[:175]
    clf, graph = fitted(network, np.where(np.isin(np.arange(700), chosen), network.y, -1))
    said = first_lines(clf, graph)
    assert len(said) == 1 and said[0].startswith("Labels are no random sample")
    assert repr(network.feature_names[column]) in said[0]
    assert evaluate(clf, graph, num_resamples=2).verdict.level == "caution"
    alone = cr.RareCategoryClassifier(cr.detectors.GCN(epochs=5, hidden=4, weight_decay=5e-2)).fit(
        graph
    )  # reads no columns
    assert not any(line.startswith("Labels are no random sample") for line in first_lines(alone, graph))


def test_the_column_that_tells_most_is_said_as_in_reasons(network, monkeypatch):
    clf, graph = fitted(network, np.where(np.arange(700) < 300, network.y, -1))
    found = Unlike(0.9, 1e-9, "amount, sum of incoming")
    monkeypatch.setattr(sys.modules["calirare.evaluation.first_lines"], "unlike_of", lambda *_: found)
    assert "Most telling is 'sum of incoming amount'." in first_lines(clf, graph)[-1]


def test_a_column_that_is_filled_with_the_label_is_named_with_the_way_out():
    rng = np.random.default_rng(0)
    y, labelled = rng.random(400) < 0.2, rng.random(400) < 0.4
    seen = labelled | (rng.random(400) < 0.08)  # too many others for the rule of the audit
    reviewer = np.where(seen, rng.choice(["ann", "bo", "cy"], 400), None)
    nodes = {
        "id": np.arange(400),
        "x": rng.normal(2.0 * y),
        "y": np.where(labelled, y * 1.0, np.nan),
        "seen by": reviewer,
    }
    graph = cr.read_tables(nodes, {"a": [0], "b": [1]}, label="y", rare=1)
    said = first_lines(cr.RareCategoryClassifier("linear").fit(graph), graph)[-1]
    assert (
        "Most telling is 'seen by is missing'. If it is filled because of the label, leave it out (--type 'seen by=ignore')"
        in said
    )


def test_flipped_labels_are_among_those_to_look_at_again(network):
    y = keep(network.y, 60, 300)
    sure = np.flatnonzero((y == 0) & (network.true_probability < 0.01))[:6]
    y[sure] = 1
    clf, graph = fitted(network, y)
    found = look_again(clf, graph, most=12)
    assert len({one.node for one in found} & set(sure.tolist())) >= 5
    left_out = dict(zip(clf.labelled_nodes_.tolist(), clf.predict_left_out(), strict=True))
    for one in found:
        label = network.class_names.index(one.label)
        assert one.id == str(graph.ids[one.node]) and y[one.node] == label and one.likelier != one.label
        assert one.probability == pytest.approx(left_out[one.node][label])
    assert sorted(one.probability for one in found) == [one.probability for one in found]


def test_a_balanced_prior_ranks_by_natural_probabilities(network, many):
    natural, balanced = (look_again(*one) for one in (many, fitted(network, many[1].y, prior="balanced")))
    assert len({one.node for one in natural[:10]} & {one.node for one in balanced[:10]}) >= 8


def test_another_graph_has_no_labels_to_look_at(many):
    assert look_again(many[0], cr.make_transactions(300, seed=9, with_payments=False)) == []


def test_a_model_without_skill_doubts_no_label(network):
    y = keep(network.y, 30, 170)
    known = np.flatnonzero(y >= 0)
    y[known] = np.random.default_rng(0).permutation(y[known])
    clf, graph = fitted(network, y)
    assert not clf.skill().shown and look_again(clf, graph) == []


def test_a_doubtful_label_is_told_as_the_table_spells_it():
    rng = np.random.default_rng(0)
    fraud = np.arange(200) < 40
    words = np.where(fraud, "Fraud", "ok").astype(object)
    words[:3] = "Betrug"  # one of the others, for all that the reader knows
    nodes = {"id": np.arange(200), "x": rng.normal(3.0 * fraud), "case": words}
    graph = cr.read_tables(nodes, {"a": [0], "b": [1]}, label="case", rare="Fraud")
    found = {one.node: one.label for one in look_again(cr.RareCategoryClassifier("linear").fit(graph), graph)}
    told = {node: found[node] for node in range(3) if node in found}
    assert told and set(told.values()) == {"not Fraud (Betrug)"}
    assert {label for node, label in found.items() if node > 2} <= {"Fraud", "not Fraud (ok)"}
