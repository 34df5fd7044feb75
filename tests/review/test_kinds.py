"""Nodes of a kind that carries no labels have no score, and nobody decides about them."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np
import pytest

import calirare as cr
from calirare.errors import InputError
from calirare.review.app import open_desk
from calirare.review.case.edges_of import edges_of, likeliest_neighbours
from calirare.review.pages import record_sections
from calirare.review.pages.painted import paint
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


def test_a_record_has_the_columns_of_its_own_kind(graph, classifier, tmp_path):
    classifier.save(tmp_path / "model", graph)
    hosts = {"host": [f"h{k}" for k in range(120)], "age": [1.5] * 120, "owner": ["ada"] * 120}
    for table, of_hosts in ((None, ["age"]), (hosts, ["age", "owner"])):
        desk = open_desk(tmp_path / "model", table=table)
        index, records = desk.snapshot.index, desk.station.records
        assert [cell.name for cell in records.record(index["h3"])] == of_hosts
        assert [cell.name for cell in records.record(index["u3"])] == ["admin"]
        desk.close()


def test_one_of_another_kind_is_called_by_it_in_every_list(graph, classifier, tmp_path):
    classifier.save(tmp_path / "model", graph)
    desk = open_desk(tmp_path / "model")
    snapshot = desk.snapshot
    host = int(np.argmax(np.where(snapshot.graph.node_type == 0, np.diff(snapshot.adjacency.indptr), 0)))
    near = {snapshot.ids[one] for one in snapshot.neighbours(host)}
    edges = edges_of(snapshot, host)
    for said in (
        record_sections.neighbours(*likeliest_neighbours(snapshot, desk.book, host)),
        record_sections.edges(edges, snapshot),
    ):
        assert {f'"users {name}"' for name in near} <= set(re.findall(r'"users u[0-9]+"', paint(said)))
    assert snapshot.call(host) == snapshot.ids[host]
    desk.close()


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_of_one_offers_no_decision(graph, classifier, tmp_path, serve, open_page):
    from playwright.sync_api import expect

    classifier.save(tmp_path / "kinds", graph)
    server = serve(tmp_path / "kinds", reviewer="ada")
    page = open_page(f"{server.url}/case?id=u3")
    expect(page.locator("#kind-said")).to_be_visible()
    for name in ("decide-rare", "decide-normal", "decide-unsure", "note", "give", "second"):
        expect(page.locator(f"#{name}")).to_be_hidden()
    for letter in ("r", "2", "j"):
        page.keyboard.press(letter)
    expect(page.locator("#decide-rare")).to_be_visible()  # at the next case, which is in the queue
    assert not server.desk.store.since() and not server.desk.team.wished_nodes()
    expect(page.locator("#toasts .bad")).to_have_count(0)


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
