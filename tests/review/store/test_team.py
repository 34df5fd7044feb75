"""Several people at one desk: cases of one's own, second opinions, blind mode, many cases at once."""

from __future__ import annotations

import pytest

from calirare.errors import InputError
from calirare.review.app import make_app
from calirare.review.links import check_links
from calirare.review.pages.queue_grid import columns
from calirare.scoring.service.access import Access


@pytest.fixture
def names(desk):
    return [str(desk.snapshot.ids[node]) for node in desk.queue.order(desk.view({}))[:6]]


@pytest.fixture
def bob(desk):
    return make_app(desk, Access(reviewer="bob")).server.test_client()


def post(client, path, **body):
    return client.post(f"/api/{path}", json=body)


def decide(client, node, seen=0, key="k", decision="rare"):
    return post(client, "decide", node=node, decision=decision, seen=seen, key=key)


def names_in(desk, data, reviewer="ada"):
    return {str(desk.snapshot.ids[node]) for node in desk.queue.order(desk.view(data, reviewer=reviewer))}


def test_cases_can_be_given_to_someone(client, bob, desk, names):
    assert post(client, "assign", nodes=names[:2], to=" bob ").json["count"] == 2
    assert post(bob, "assign", nodes=[names[1]], to="").status_code == 200
    assert [desk.team.assigned_to(name) for name in names[:3]] == ["bob", "", ""]
    assert names_in(desk, {"mine": True}, "bob") == {names[0]} and not names_in(desk, {"mine": True}, "ada")
    assert post(client, "assign", nodes=["no such"], to="bob").status_code == 400
    assert post(client, "assign", nodes=[], to="bob").status_code == 400
    assert "bob" in desk.team.names


def test_a_second_opinion_is_given_by_somebody_else(client, bob, desk, names):
    node = names[0]
    first = decide(client, node).json["decision"]
    post(client, "second", node=node, wanted=True)
    assert desk.team.wish(node).reviewer == "ada" and names_in(desk, {"status": "second"}) == {node}
    own = decide(client, node, first["id"], "k2", "normal").json["decision"]
    assert desk.team.wish(node) is not None  # the one who asked cannot answer
    decide(bob, node, own["id"], "k3", "rare")
    assert desk.team.wish(node) is None and not names_in(desk, {"status": "second"})
    post(client, "second", node=node, wanted=True)
    post(client, "second", node=node, wanted=False)
    assert desk.team.wish(node) is None


def test_many_cases_are_decided_and_taken_back_at_once(client, bob, desk, names):
    decide(bob, names[1], key="b")  # someone was faster
    body = {"nodes": [{"node": name, "seen": 0} for name in names[:4]], "decision": "normal", "key": "many"}
    answer = post(client, "decide-many", **body)
    rows = answer.json["decisions"]
    assert [row["node_id"] for row in rows] == [names[0], names[2], names[3]] and answer.json["refused"] == [names[1]]
    assert [row["id"] for row in post(client, "decide-many", **body).json["decisions"]] == [row["id"] for row in rows]
    decide(bob, names[2], rows[1]["id"], "b2")
    back = post(client, "undo-many", decisions=[row["id"] for row in rows], key="back")
    assert len(back.json["decisions"]) == 2 and back.json["refused"] == 1
    current = {name: row.decision for name, row in desk.store.current().items()}
    assert current == {names[0]: "open", names[1]: "rare", names[2]: "rare", names[3]: "open"}


def test_of_many_cases_none_is_stored_where_one_is_unknown(client, bob, desk, names):
    nodes = [{"node": name, "seen": 0} for name in (names[0], "no such")]
    assert post(client, "decide-many", nodes=nodes, decision="rare", key="k").status_code == 400
    assert desk.store.since() == []
    own, other = (
        decide(who, name, key=name).json["decision"]["id"] for who, name in zip((client, bob), names, strict=False)
    )
    back = post(client, "undo-many", decisions=[own, other, 99], key="back").json
    assert [row["node_id"] for row in back["decisions"]] == [names[0]] and back["refused"] == 2
    answer = post(client, "undo-many", decisions=[other], key="again")
    assert answer.status_code == 400 and "bob's" in answer.json["error"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"nodes": "all"},
        {"nodes": []},
        {"nodes": [1]},
        {"nodes": [{"node": "x", "seen": 0}]},
        {"nodes": [{"seen": 0}]},
    ],
)
def test_bad_lists_are_refused(client, desk, body):
    answer = client.post("/api/decide-many", json={"decision": "rare", "key": "k", **body})
    assert answer.status_code == 400 and desk.store.since() == []


def test_decided_cases_leave_the_counts(client, desk):
    before = desk.queue.open_counts(desk.view({}))
    first = desk.queue.order(desk.view({"action": "review"}))[:3]
    for place, node in enumerate(first):
        decide(client, str(desk.snapshot.ids[node]), key=f"k{place}")
    after = desk.queue.open_counts(desk.view({}))
    assert before["review"] - after["review"] == 3 and before["alert"] == after["alert"]


def test_in_blind_mode_the_score_comes_after_the_decision(client, desk, names):
    desk.set({"blind": True}, reviewer="ada")
    rows, _ = desk.queue.rows(desk.view({}), 0, 3, (), "ada")
    for name in ("probability", "disagreement", "action"):
        assert {row[name] for row in rows} == {None}
    assert desk.is_hidden(names[0], "ada")
    decide(client, names[0])
    assert not desk.is_hidden(names[0], "ada") and desk.is_hidden(names[0], "bob")
    rows, _ = desk.queue.rows(desk.view({}), 0, 3, (), "ada")
    assert sum(row["probability"] is not None for row in rows) == 1
    rows, _ = desk.queue.rows(desk.view({}), 0, 3, (), "bob")
    assert {row["decision"] for row in rows} == {None}  # nor what others said
    assert client.get("/export/queue.csv").status_code == 403


def test_in_blind_mode_no_filter_and_no_order_tells_the_score(client, desk, names):
    """Nor does one of what others said; the desk's own filters and order stay."""
    plain = post(client, "rows", start=0, stop=400).json
    ids = [row["id"] for row in plain["rows"]]
    desk.set({"blind": True}, reviewer="ada")
    high = {"type": "greaterThan", "filter": 0.5}
    for asked in (
        *({"filter": {name: high}} for name in ("probability", "lower", "upper", "saves")),
        *(
            {"sort": [{"colId": name, "sort": "desc"}]}
            for name in ("probability", "lower", "action", "saves", "decision")
        ),
        {"view": {"status": "rare"}},
    ):
        assert [row["id"] for row in post(client, "rows", start=0, stop=400, **asked).json["rows"]] == ids
    by_name = post(client, "rows", start=0, stop=400, sort=[{"colId": "id", "sort": "asc"}]).json["rows"]
    assert [row["id"] for row in by_name] == sorted(ids)
    hidden = {one["field"] for one in columns(desk) if one.get("sortable") is False} - {"reason", "assigned"}
    assert hidden == {"probability", "lower", "action", "saves", "decision"}
    desk.set({"filters": {"probability": high}}, reviewer="ada")
    assert post(client, "rows", start=0, stop=400).json["count"] == sum(
        row["probability"] > 0.5 for row in plain["rows"]
    )


@pytest.mark.parametrize(
    "link", ["javascript:alert({id})", "https://{id}.evil", "https://a/b", "//a/{id}", "https://[/{id}"]
)
def test_links_that_lead_astray_are_refused(link):
    with pytest.raises(InputError, match="a link must look like"):
        check_links([link])
