"""One judgement: by labels that did not make the answers, with words that follow from the numbers."""

from __future__ import annotations

import json
import sys
from inspect import signature

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score, log_loss

import calirare as cr
from calirare.cli.evaluate import evaluate as command
from calirare.cli.fit import _judge
from calirare.data.tables.files import edges_as_columns, nodes_as_columns
from calirare.errors import InputError, LabelError
from calirare.estimator.evidence import Evidence, read_nodes
from calirare.evaluation import evaluate
from calirare.evaluation.verdict import judge
from calirare.metrics import METRICS, summary
from calirare.metrics.summary import say
from calirare.persistence.folder import Fingerprint
from calirare.report import gather
from calirare.report.card import model_card
from calirare.review.quality import measure
from calirare.review.snapshot import Scores, Snapshot
from calirare.review.versions import Base
from calirare.uncertainty.skill import measure_skill

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(num_nodes=600, rare_share=0.2, seed=0, with_payments=False)


@pytest.fixture(scope="module")
def split(graph):
    return cr.split_labels(graph, train_fraction=0.4, val_fraction=0.1, test_fraction=0.5, seed=0)


@pytest.fixture(scope="module")
def clf(graph, split):
    return cr.RareCategoryClassifier(detector="linear").fit(graph, split)


def test_test_nodes_judge_where_there_are_some(clf, graph, split):
    found = evaluate(clf, graph, num_resamples=10)
    nodes, p = found.evidence.nodes, clf.predict_proba(graph)
    assert sorted(nodes.tolist()) == sorted(split.test.tolist()) and found.evidence.source == "unread"
    expected = average_precision_score(graph.y[nodes] == 1, p[nodes, 1])
    assert found.after["average_precision"].value == pytest.approx(expected)
    assert found.after["negative_log_likelihood"].value == pytest.approx(log_loss(graph.y[nodes], p[nodes]))
    assert found.after.num_rare == (graph.y[nodes] == 1).sum() and set(found.after) == set(METRICS) - {
        "recall_at_budget"
    }


def test_given_nodes_that_trained_the_model_are_judged_without_their_label(clf, graph, split):
    found = evaluate(clf, graph, np.concatenate([split.train[:80], split.test[:80]]), num_resamples=0)
    assert found.evidence.source == "both" and found.evidence.nodes.size == 160
    left_out = dict(zip(clf.labelled_nodes_.tolist(), clf.predict_left_out(), strict=True))
    trained = np.isin(found.evidence.nodes, split.train)
    for node, row in zip(found.evidence.nodes[trained], found.evidence.after[trained], strict=True):
        np.testing.assert_allclose(row, left_out[node])
    mask = np.zeros(graph.num_nodes, dtype=bool)
    mask[split.test] = True
    assert evaluate(clf, graph, mask, num_resamples=0).evidence.source == "unread"


@pytest.mark.parametrize(("third", "level"), [("open", "caution"), ("closed", "good")])
def test_labels_that_nobody_may_have_decided_are_no_good_evidence(graph, third, level):
    nodes, edges = nodes_as_columns(graph), edges_as_columns(graph)
    labels = np.array(nodes["is_fraud"], dtype=object)
    labels[(labels == "no") & (np.arange(graph.num_nodes) % 9 == 0)] = third
    nodes["is_fraud"] = labels
    read = cr.read_tables(nodes, edges, label="is_fraud", rare="yes")
    found = evaluate(cr.RareCategoryClassifier(detector="linear").fit(read), read, num_resamples=10)
    said = f"{(labels == third).sum()} labels are '{third}', which count as not 'yes'. If nobody has decided"
    assert found.verdict.level == level
    assert sum(words.startswith(said) for words in found.warnings) == (third == "open")


def test_labels_that_were_read_never_judge_as_if_they_were_not(graph):
    plain = cr.RareCategoryClassifier(detector="linear").fit(graph)
    found = evaluate(plain, graph, num_resamples=0)
    assert found.evidence.source == "left_out"
    np.testing.assert_allclose(found.evidence.after, plain.predict_left_out())
    assert np.isin(found.evidence.nodes, read_nodes(plain, graph)).all()


def test_the_estimator_gives_the_same_numbers(clf, graph, split):
    found, judged = clf.evaluate(graph, num_resamples=5, budget=10), evaluate(clf, graph, num_resamples=5, budget=10)
    assert dict(found) == dict(judged.after) and found.num_nodes == split.test.size
    assert "recall_at_budget" in found and "Recall within the budget" in repr(found)
    with pytest.raises(KeyError, match="did you mean 'brier_score'"):
        found["brier"]


def test_another_graph_judges_by_all_its_labels(clf):
    other = cr.make_transactions(num_nodes=300, rare_share=0.2, labelled_share=0.5, seed=5, with_payments=False)
    found = evaluate(clf, other, num_resamples=0)
    assert found.evidence.source == "unread" and found.evidence.nodes.tolist() == other.known.tolist()
    unlabelled = other.with_labels(np.full(other.num_nodes, -1))
    with pytest.raises(LabelError, match="no node with a known label can judge this model"):
        evaluate(clf, unlabelled)
    with pytest.raises(LabelError, match="nodes must list node indices in 0…299"):
        evaluate(clf, other, [300])


def test_every_page_and_command_gives_the_same_judgement(clf, graph, split, few_resamples, monkeypatch):
    module, asked = sys.modules["calirare.metrics.summary"], []
    resample = module.bootstrap_intervals

    def remember(*arguments, num_resamples, **options):
        asked.append(num_resamples)
        return resample(*arguments, num_resamples=num_resamples, **options)

    monkeypatch.setattr(module, "bootstrap_intervals", remember)
    desk = measure(Snapshot("v", clf, graph, Base(graph.y, split), Scores.of(clf, graph)))
    report = gather(clf, graph).evaluation
    screen, card = _judge(clf, graph), model_card(clf, graph, Fingerprint("m", "d", "0"))
    assert set(asked) - {0} == {signature(command).parameters["resamples"].default}
    assert desk.verdict == report.verdict == screen.verdict
    assert report.after["average_precision"] == clf.evaluate(graph)["average_precision"]
    assert say(report.after["average_precision"]) in card
    assert {name: desk.after[name] for name in desk.after} == {name: report.after[name] for name in desk.after}


def test_as_columns_and_as_json(clf, graph):
    found = evaluate(clf, graph, num_resamples=5, budget=10, only=["recall_at_budget", "brier_score"])
    assert found.title("recall_at_budget") == f"Recall within the budget (10 of {found.after.num_nodes} nodes)"
    assert found.title("brier_score") == "Brier score"
    table = found.frame()
    assert table["metric"].tolist() == [
        "recall_at_budget",
        "brier_score",
        "average_precision",
        "negative_log_likelihood",
    ]
    stored = json.loads(json.dumps(found.to_json()))
    assert stored["verdict"] == found.verdict.level and stored["nodes"] == found.after.num_nodes
    assert stored["metrics"]["brier_score"]["value"] == pytest.approx(table["value"][1])
    assert found.reliability["model"].size == 20 and found.scores["count"].sum() == found.after.num_nodes
    with pytest.raises(InputError, match="there is no metric 'brier': did you mean 'brier_score'"):
        evaluate(clf, graph, only=["brier"])


def verdict_on(p, y, share=None, before=None):
    """The verdict on probabilities of two classes."""
    after, y = np.column_stack([1 - p, p]), np.asarray(y).astype(np.int64)
    plain = after if before is None else np.column_stack([1 - before, before])
    evidence = Evidence("unread", np.arange(y.size), y, plain, after, after.argmax(axis=1), 1)
    read = ("average_precision", "negative_log_likelihood")
    tables = [summary(y, table, 1, num_resamples=draws, only=read) for table, draws in ((plain, 0), (after, 40))]
    skill = measure_skill(p, y == 1, left_out=False)
    return judge(evidence, *tables, float(y.mean()) if share is None else share, skill)


@pytest.fixture(scope="module")
def honest():
    generator = np.random.default_rng(3)
    p = generator.beta(0.4, 2.5, 3_000)
    return p, generator.random(p.size) < p


def test_honest_probabilities_are_good(honest):
    p, y = honest
    found = verdict_on(p, y, before=np.clip(p * 1.5, 0, 0.99))
    assert found.level == "good" and found.warnings == () and "agree with what happened" in found.words


def stretched(p, factor):
    """The logits times a factor, shifted so that the mean stays."""
    z = factor * logit(np.clip(p, 1e-9, 1 - 1e-9))
    return expit(z + brentq(lambda shift: expit(z + shift).mean() - p.mean(), -20, 20))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: np.clip(2 * p, 0, 0.99), "too high"),
        (lambda p: p / 2, "too low"),
        (lambda p: stretched(p, 2.0), "too sure"),
        (lambda p: stretched(p, 0.5), "too cautious"),
    ],
)
def test_probabilities_that_are_off_are_called_so(honest, change, words):
    p, y = honest
    found = verdict_on(change(p), y, before=p)
    assert found.level == "caution" and words in found.words
    assert any("do not agree with what happened" in warning for warning in found.warnings)


def test_even_chances_have_no_spread_to_judge():
    y = np.arange(200) % 2 == 0
    found = verdict_on(np.full(200, 0.5), y)
    assert "agree with what happened" in found.words and found.level == "no skill"


def test_what_to_beware_of_is_said(honest):
    p, y = honest
    shuffled = verdict_on(np.random.default_rng(0).permutation(p), y)
    assert shuffled.level == "no skill" and any(
        "not shown to find rare nodes better than chance" in one for one in shuffled.warnings
    )
    few = np.concatenate([np.flatnonzero(y)[:5], np.flatnonzero(~y)[:100]])
    assert any("Only 5 rare labels" in one for one in verdict_on(p[few], y[few]).warnings)
    skewed = verdict_on(p, y, share=0.01)
    assert any("no random draw" in one for one in skewed.warnings) and "agree" not in skewed.words
    assert any("does not calibrate" in one for one in verdict_on(p, y).warnings)
    worse = verdict_on(np.clip(p * 3, 0, 0.999), y, before=p)
    assert any("worse" in one for one in worse.warnings)
