"""The desk feeds the series that is monitored, and shows it."""

from __future__ import annotations

import json

import pytest

from calirare.errors import DataError
from calirare.review.app import open_desk
from calirare.review.pages.monitoring_page import draw_monitoring
from calirare.review.view import View


def decide(desk, node, decision, seen=0):
    name = desk.snapshot.ids[node]
    return desk.decide(name, decision, note="", reviewer="ada", seen=seen, action_key=f"{node}-{seen}")


def text_of(page) -> str:
    return json.dumps(
        [part.to_plotly_json() for part in page if part is not None], default=lambda one: one.to_plotly_json()
    )


def test_decisions_reach_the_series_with_what_the_model_said_and_go_when_taken_back(desk):
    nodes = desk.queue.order(View())[:14].tolist()
    rows = [decide(desk, node, "rare" if k % 2 else "normal") for k, node in enumerate(nodes)]
    stored = desk.feed.series.read("decision", desk.snapshot.version)
    assert [one.value["probability"] for one in stored] == pytest.approx(desk.snapshot.scores.probability[nodes])
    assert {one.value["action"] for one in stored} <= {"alert", "review", "clear"}
    found = desk.watch()
    assert found.since.cases == 14 and found.since.observed_rare == 7
    assert sum(one.decided for one in found.observed.bins) == 14
    desk.undo(rows[0].id, reviewer="ada", action_key="back")
    assert desk.watch().since.cases == 13
    decide(desk, nodes[1], "unsure", seen=rows[1].id)
    assert desk.watch().since.cases == 12 and desk.watch().unsure == 1


def test_the_desk_itself_is_one_run_per_model(desk, model):
    assert [one.subject for one in desk.feed.series.read("run")] == ["review"]
    again = open_desk(model)
    assert len(again.feed.series.read("run")) == 1
    found = again.watch()
    assert found.runs[0][2].nodes == again.snapshot.listed.size
    again.close()


def test_the_page_says_what_the_command_says(desk, client):
    before = text_of(draw_monitoring(desk.watch()))
    assert "No case has been decided" in before and "Has the world moved" in before
    for node in desk.queue.order(View())[:12].tolist():
        decide(desk, node, "normal")
    found = desk.watch()
    page = text_of(draw_monitoring(found))
    for one in found.signals:
        assert one.name in page and one.state in page
    assert json.dumps(found.observed.say())[1:-1] in page and "decisions-graph" in page
    assert "No run has been scored" in page and {one.state for one in found.signals[:3]} == {"unknown"}
    assert client.get("/monitoring").status_code == 200


def test_a_decision_counts_although_the_series_is_broken(desk, monkeypatch, caplog):
    def broken(*given, **named):
        raise DataError("the disk is full")

    monkeypatch.setattr(desk.feed.series, "add", broken)
    node = int(desk.queue.order(View())[0])
    decide(desk, node, "rare")
    assert desk.store.current()[str(desk.snapshot.ids[node])].decision == "rare"
    assert "not in the series" in caplog.text
