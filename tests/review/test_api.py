"""What the page's scripts call, and the files that leave the desk."""

from __future__ import annotations

import csv
import io
import json
import sqlite3

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calirare.errors import InputError
from calirare.review.app import open_desk
from calirare.review.snapshot import Snapshot
from calirare.review.store.decisions import DecisionStore
from calirare.review.view import View
from calirare.scoring.table import score_table


@pytest.fixture
def node(shown_desk):
    return str(shown_desk.snapshot.ids[shown_desk.snapshot.listed[0]])


def decide(client, node, decision="rare", seen=0, key="k1", **more):
    return client.post("/api/decide", json={"node": node, "decision": decision, "seen": seen, "key": key, **more})


def test_decide_and_undo(client, desk, node):
    answer = decide(client, node, note="seen")
    assert answer.status_code == 200
    row = answer.json["decision"]
    assert (row["decision"], row["note"], row["reviewer"]) == ("rare", "seen", "ada")
    assert row["model_version"] == desk.snapshot.version
    assert decide(client, node, note="seen").json["decision"]["id"] == row["id"]
    back = client.post("/api/undo", json={"decision": row["id"], "key": "k2"})
    assert back.json["decision"]["decision"] == "open"
    assert len(desk.store.since()) == 2


def test_a_conflict_shows_the_other_decision(client, desk, node):
    desk.store.record(node, "normal", reviewer="bob", model_version="m", seen=0, action_key="b")
    answer = decide(client, node)
    assert answer.status_code == 409
    assert answer.json["current"]["reviewer"] == "bob" and "bob decided “normal”" in answer.json["error"]
    assert len(desk.store.since()) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"node": "no such node", "decision": "rare", "seen": 0, "key": "k"},
        {"decision": "maybe"},
        {"decision": "open"},
        {"seen": -1},
        {"seen": "0"},
        {"seen": True},
        {"seen": 2**70},
        {"key": ""},
        {"key": None},
        {"note": 5},
        {"model": "never shown here"},
        {"model": 7},
        {"note": "x" * 5000},
    ],
)
def test_bad_requests_get_a_reason_and_store_nothing(shown_client, shown_desk, node, body):
    good = {"node": node, "decision": "rare", "seen": 0, "key": "k"}
    answer = shown_client.post("/api/decide", json=body if body in ({}, []) else good | body)
    assert answer.status_code == 400 and answer.json["ok"] is False and answer.json["error"]
    assert shown_desk.store.since() == []


def test_a_form_of_another_kind_is_no_decision(shown_client, shown_desk, node):
    body = json.dumps({"node": node, "decision": "rare", "seen": 0, "key": "k"})
    assert shown_client.post("/api/decide", data=body, content_type="text/plain").status_code == 400
    assert b'"ok":true' not in shown_client.get("/api/decide").data
    assert shown_desk.store.since() == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["node", "decision", "seen", "key", "note"]), json_values))
def test_whatever_is_sent_the_answer_is_json(client, body):
    for path in ("/api/decide", "/api/undo"):
        answer = client.post(path, json=body)
        assert answer.status_code in (200, 400, 409) and isinstance(answer.json, dict)


def test_when_the_database_is_gone_nothing_is_said_to_be_stored(client, desk, node, tmp_path, monkeypatch):
    broken = DecisionStore.open(tmp_path / "other.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as raw:
        raw.execute("DROP TABLE calirare_decisions")
    raw.close()
    monkeypatch.setattr(desk, "store", broken)
    answer = decide(client, node)
    assert answer.status_code == 503 and "nothing was stored" in answer.json["error"]
    assert str(tmp_path) not in answer.json["error"]
    broken.close()


def read_csv(answer):
    return list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))


def test_the_queue_as_csv_is_safe_in_a_spreadsheet(shown_client, shown_desk):
    view = {"miss": 50, "alarm": 5, "review": 1, "sort": [{"colId": "id", "sort": "asc"}]}
    answer = shown_client.get("/export/queue.csv", query_string={"view": json.dumps(view)})
    rows = read_csv(answer)
    expected = shown_desk.queue.columns(shown_desk.queue.order(View(sort=(("id", False),))), View())["id"]
    assert [row["id"].removeprefix("'") for row in rows] == expected
    assert '\'=HYPERLINK("http://evil")' in [row["id"] for row in rows]
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())
    assert "attachment" in answer.headers["Content-Disposition"]
    assert {row["model_version"] for row in rows} == {shown_desk.snapshot.version}


def test_the_queue_as_parquet_keeps_names_as_they_are(shown_client, shown_desk):
    frame = pl.read_parquet(io.BytesIO(shown_client.get("/export/queue.parquet").data))
    assert frame.height == shown_desk.snapshot.listed.size
    assert '=HYPERLINK("http://evil")' in frame["id"].to_list()
    scores = score_table(shown_desk.snapshot.clf, shown_desk.snapshot.graph)
    place = {name: row for row, name in enumerate(scores["id"].tolist())}
    rows = [place[name] for name in frame["id"]]
    for name in ("probability", "lower", "upper", "disagreement"):
        np.testing.assert_allclose(frame[name], scores[name][rows], rtol=1e-12)


def test_formulas_behind_a_semicolon(client, node):
    decide(client, node, note="a;=1+1", key="k0")
    assert read_csv(client.get("/export/decisions.csv"))[0]["note"] == "a;'=1+1"


def test_formulas_in_notes(client, node):
    decide(client, node, note="=cmd|'/C calc'!A0")
    [row] = read_csv(client.get("/export/decisions.csv"))
    assert row["note"] == "'=cmd|'/C calc'!A0" and row["node_id"] == node and row["time"].endswith("+00:00")
    frame = pl.read_parquet(io.BytesIO(client.get("/export/decisions.parquet").data))
    assert frame["note"].to_list() == ["=cmd|'/C calc'!A0"] and frame["supersedes"].to_list() == [0]


def test_an_export_without_rows(shown_client):
    assert read_csv(shown_client.get("/export/decisions.csv")) == []
    assert pl.read_parquet(io.BytesIO(shown_client.get("/export/decisions.parquet").data)).height == 0


@pytest.mark.parametrize("path", ["/export/queue.xlsx", "/export/model.csv", "/export/model.json"])
def test_no_other_files_leave(shown_client, path):
    assert shown_client.get(path).status_code == 404


@pytest.mark.parametrize("view", ["not json", "[1]", '{"miss": "a"}', '{"miss": 1e999}', '{"alarm": -1}'])
def test_a_view_that_makes_no_sense(shown_client, view):
    assert shown_client.get("/export/queue.csv", query_string={"view": view}).status_code in (200, 400)


def test_a_database_that_was_moved_away_takes_no_decision(client, model, node):
    (model / "decisions.sqlite").rename(model / "away.sqlite")
    answer = decide(client, node)
    assert answer.status_code == 503 and "nothing was stored" in answer.json["error"]
    (model / "away.sqlite").rename(model / "decisions.sqlite")
    assert decide(client, node).status_code == 200


@pytest.mark.parametrize(
    "database", ["sqlite:///", "sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"]
)
def test_a_desk_without_a_file_for_its_decisions_does_not_start(model, database):
    with pytest.raises(InputError, match="(?i)file"):
        open_desk(model, database)


def test_an_undo_gives_the_row_back_to_who_decided_before(client, desk, node):
    desk.store.record(node, "normal", reviewer="bob", model_version="m", seen=0, action_key="b")
    seen = desk.store.since()[-1].id
    row = decide(client, node, "rare", seen=seen).json["decision"]
    answer = client.post("/api/undo", json={"decision": row["id"], "key": "k2"})
    assert (answer.json["stands"]["decision"], answer.json["stands"]["reviewer"]) == ("normal", "bob")
    index = desk.snapshot.find(node)
    assert desk.queue.columns(np.array([index]), View())["reviewer"] == ["bob"]
    last = read_csv(client.get("/export/decisions.csv"))[-1]
    assert (last["reviewer"], last["stands_by"], last["stands"]) == ("ada", "bob", str(seen))


def test_altered_scores_are_not_believed(model, caplog):
    [file] = model.glob("scores-*.npz")
    honest = Snapshot.load(model).scores.probability
    arrays = dict(np.load(file))
    arrays["probability"] = arrays["probability"][::-1].copy()
    np.savez_compressed(file, **arrays)
    assert np.array_equal(Snapshot.load(model).scores.probability, honest)
    assert "was altered" in caplog.text


def test_reasons_of_the_rows_on_screen(client, desk):
    order = desk.queue.order(View())[:3]
    names = desk.snapshot.ids[order].tolist()
    labelled = str(desk.snapshot.ids[desk.snapshot.clf.labelled_nodes_[0]])
    answer = client.post("/api/reasons", json={"nodes": [*names, labelled]}).json
    assert answer == {"ok": True, "reasons": dict(zip(names, desk.queue.reasons(order, View()), strict=True))}
    assert all(answer["reasons"].values())
    for nodes in ([], ["no such node"], [7], "A1"):
        assert client.post("/api/reasons", json={"nodes": nodes}).status_code == 400
    desk.set({"blind": True}, reviewer="ada")
    assert client.post("/api/reasons", json={"nodes": names}).json["reasons"] == {}
    desk.decide(names[0], "rare", note="", reviewer="ada", seen=0, action_key="a")
    assert list(client.post("/api/reasons", json={"nodes": names}).json["reasons"]) == names[:1]


def test_rows_of_the_queue_and_what_they_stand_on(client, desk, node):
    asked = {"start": 5, "stop": 9, "sort": [{"colId": "probability", "sort": "asc"}], "filter": {}, "view": {}}
    found = client.post("/api/rows", json=asked).json
    view = desk.view({}, asked["sort"])
    wanted, count = desk.queue.rows(view, 5, 9)
    assert (found["rows"], found["count"]) == (wanted, count)
    assert (found["stamp"], found["settings"]) == (desk.stamp, desk.setting.number)
    decide(client, node)
    assert client.post("/api/rows", json=asked).json["stamp"] != found["stamp"]
    desk.set({"blind": True}, reviewer="ada")
    hidden = client.post("/api/rows", json={"start": 0, "stop": 400}).json["rows"]
    assert {row["id"] for row in hidden if row["probability"] is not None} == {node}
    for body in ({}, {"start": 0}, {"start": -1, "stop": 5}, []):
        assert client.post("/api/rows", json=body).status_code == 400
