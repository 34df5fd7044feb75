"""Nodes of a kind that carries no labels have no score, and nobody decides about them."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

import calirare as cr
from calirare.errors import InputError
from calirare.review.app import open_desk
from calirare.review.refit import as_labels, read_decisions
from calirare.review.snapshot import index_of
from calirare.review.store.decisions import DecisionStore
from calirare.scoring.live.scores import LiveScores


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    hosts = {
        "host": [f"h{k}" for k in range(120)],
        "age": rng.normal(size=120),
        "bad": ["yes" if k % 6 == 0 else "no" for k in range(120)],
    }
    users = {"user": [f"u{k}" for k in range(40)], "admin": rng.integers(0, 2, 40)}
    logins = {"user": [f"u{k}" for k in rng.integers(0, 40, 300)], "host": [f"h{k}" for k in rng.integers(0, 120, 300)]}
    hosts["age"][::6] += 2
    return cr.read_tables({"hosts": hosts, "users": users}, {"logins": logins}, label="bad", rare="yes")


@pytest.fixture(scope="module")
def classifier(graph):
    return cr.RareCategoryClassifier("linear", device="cpu").fit(graph)


def test_a_desk_takes_no_decision_about_them(graph, classifier, tmp_path):
    classifier.save(tmp_path / "model", graph)
    desk = open_desk(tmp_path / "model")
    for decide in (
        lambda: desk.decide("u3", "rare", note="", reviewer="ada", seen=0, action_key="a"),
        lambda: desk.decide_many([("h3", 0), ("u3", 0)], "rare", note="", reviewer="ada", action_key="b"),
    ):
        with pytest.raises(InputError, match="kind that carries labels"):
            decide()
    assert not desk.store.since()
    desk.close()


def test_decisions_of_earlier_versions_about_them_are_no_labels(graph, tmp_path: Path, caplog):
    store = DecisionStore.open(tmp_path / "d.sqlite")
    for name in ("u1", "h1", "u2"):
        store.record(name, "rare", reviewer="ada", model_version="m", seen=0, action_key=name)
    store.close()
    with caplog.at_level(logging.WARNING):
        decided = as_labels(read_decisions(tmp_path / "d.sqlite", graph), index_of(graph), graph.scored)
    assert graph.ids[decided.nodes].tolist() == ["h1"] and "2 decisions are about nodes of kinds" in caplog.text


def test_they_are_not_scored_live(graph, classifier):
    live = LiveScores(classifier, graph)
    assert live.explain("h1").probability == pytest.approx(classifier.predict_proba(graph)[1, 1], abs=1e-6)
    login = {"user": ["u1"], "host": ["h1"]}
    for ask in (lambda: live.score(edges=login, also=["u1"]), lambda: live.explain("u1")):
        with pytest.raises(InputError, match="no score"):
            ask()
