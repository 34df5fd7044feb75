"""The service's answers, held against the library's."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from asgi import Client
from growth import as_rows

import calirare as cr
from calirare.decisions.costs import Costs
from calirare.decisions.triage import triage
from calirare.scoring.service import answers, gate
from calirare.scoring.service import app as module
from calirare.scoring.service.access import Access
from calirare.scoring.service.app import Service
from calirare.scoring.service.loading import Models
from calirare.scoring.table import read_for, score_table

EDGE = [{"source": "A0000001", "target": "A0000002", "amount": 5, "time": "2024-02-01 00:00:00", "channel": "cash"}]


def near(found, want):
    for name in ("probability", "lower", "upper", "disagreement"):
        assert found[name] == pytest.approx(float(want[name]), abs=1e-6)
    assert (found["prediction"], found["set"]) == (want["prediction"], want["set"])


def test_known_nodes_get_what_score_writes(client, models, tables):
    classifier = models.current.live.classifier
    want = score_table(classifier, read_for(classifier, *tables[0]))
    for row in (0, 7):
        answer = client.get(f"/nodes/{want['id'][row]}")
        assert answer.status == 200 and answer.json()["id"] == want["id"][row]
        near(answer.json(), {name: values[row] for name, values in want.items()})
    assert client.get("/nodes/nobody").status == 404


def test_new_nodes_get_what_score_writes(client, tables, whole):
    nodes, edges = (as_rows(table) for table in tables[1])
    known = tables[0][0]["id"][3]
    answer = client.post("/score", {"nodes": nodes, "edges": edges, "ids": [known]}).json()
    assert [row["id"] for row in answer["scores"]] == [*(row["id"] for row in nodes), known]
    for row in answer["scores"]:
        near(row, whole[row["id"]])


def test_known_nodes_can_be_asked_about_together(client, tables):
    ids = tables[0][0]["id"][:3]
    rows = client.post("/score", {"ids": ids}).json()["scores"]
    assert rows == [client.get(f"/nodes/{one}").json() for one in ids]


def test_explain(client, models, tables):
    nodes, edges = (as_rows(table) for table in tables[1])
    known = tables[0][0]["id"][3]
    found = client.get(f"/nodes/{known}/explain?top=4").json()
    full = models.current.live.classifier.explain(models.current.live.graph, known)
    assert [row["column"] for row in found["columns"]] == full.column[:4].tolist()
    fresh = client.post("/explain", {"id": nodes[0]["id"], "nodes": nodes, "edges": edges, "top": 1000}).json()
    total = fresh["base"] + fresh["others"] + sum(row["share"] for row in fresh["columns"])
    assert total == pytest.approx(fresh["logit"], abs=1e-9)


def test_triage_at_own_prices(client, models):
    live = models.current.live
    ids = live.graph.ids[[5, 60, 190]].tolist()
    cases = [{"id": ids[0], "cost_miss": 1e6}, {"id": ids[1], "cost_miss": 0.0}, {"id": ids[2]}]
    rows = client.post("/triage", {"cases": cases, "cost_miss": 80}).json()["decisions"]
    assert [row["id"] for row in rows] == ids and rows[1]["action"] == "clear" and rows[0]["action"] != "clear"
    want = triage(live.classifier, live.graph, cost_miss=80, nodes=[190])
    assert rows[2]["action"] == want.action[0] and "expected to cost" in rows[2]["reason"]
    assert rows[2]["expected_cost"] == pytest.approx(want.decisions.cost[0])
    both = client.post("/triage", {"cases": cases, "cost_miss": 1e6, "budget": 0}).json()["decisions"]
    assert "review" not in [row["action"] for row in both]
    assert Costs().review == 1.0


def test_triage_of_new_nodes(client, tables, whole):
    nodes, edges = (as_rows(table) for table in tables[1])
    cases = [{"id": row["id"], "cost_miss": 500} for row in reversed(nodes)]
    rows = client.post("/triage", {"cases": cases, "nodes": nodes, "edges": edges}).json()["decisions"]
    assert [row["id"] for row in rows] == [case["id"] for case in cases]
    for row in rows:
        assert row["probability"] == pytest.approx(whole[row["id"]]["probability"], abs=1e-6)


@pytest.mark.parametrize(("asked", "status"), [(90001, 200), (90001.0, 200), ("90001", 200), ("90001.0", 400)])
def test_a_whole_number_is_the_same_id_as_a_decimal(client, tables, asked, status):
    rows = [{**as_rows(tables[1][0])[0], "id": 90001.0}]
    answer = client.post("/triage", {"cases": [{"id": asked}], "nodes": rows})
    assert answer.status == status
    if status == 200:
        assert [str(row["id"]) for row in answer.json()["decisions"]] == ["90001"]
    else:
        assert "there is no node '90001.0'" in answer.json()["error"]


def test_facts(client, models):
    assert client.get("/health").json() == {"status": "ok"}
    found = client.get("/version").json()
    assert found["model"] == models.current.version and found["nodes"] == 195
    client.get("/nodes/nobody")
    text = client.get("/metrics").body.decode()
    assert 'calirare_requests_total{route="/nodes/{id}",status="404"} 1.0' in text
    assert "calirare_nodes 195.0" in text and "nobody" not in text
    assert f'version="{models.current.version}"' in text and "process_cpu_seconds_total" in text


def test_the_page_lists_every_route_and_needs_nothing_from_elsewhere(client):
    page = client.get("/docs").body.decode()
    document = client.get("/openapi.json").json()
    assert all(f"<code>{path}</code>" in page for path in document["paths"]) and len(document["paths"]) >= 8
    assert "http://" not in page and "https://" not in page and "<script" not in page


def test_examples_work_as_they_are_and_answers_keep_to_the_document(client, tables):
    """What a newcomer copies from the page is understood, and every answer has the fields that it promises."""
    document = client.get("/openapi.json").json()
    known = tables[0][0]["id"][0]
    paths = {"/nodes/{id}": f"/nodes/{known}", "/nodes/{id}/explain": f"/nodes/{known}/explain"}
    checked = set()
    for path, verbs in document["paths"].items():
        for verb, said in verbs.items():
            content = said["responses"]["200"].get("content", {}).get("application/json")
            if content is None or path == "/reload":  # text for Prometheus; a reload is tested elsewhere
                continue
            body = said.get("requestBody")
            shape = None if body is None else body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            example = None if shape is None else document["components"]["schemas"][shape]["examples"][0]
            answer = client.get(paths.get(path, path)) if verb == "get" else client.post(path, example)
            assert answer.status == 200, (path, answer.body)
            promised = getattr(answers, content["schema"]["$ref"].rpartition("/")[2])
            promised.model_validate_json(answer.body, strict=True)
            checked.add(path)
    assert {"/score", "/explain", "/triage", "/nodes/{id}", "/version"} <= checked


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/score", {}, 400, "nothing to score"),
        ("/score", {"ids": ["nobody"]}, 400, "there is no node"),
        ("/score", {"nodes": [{"id": "x"}]}, 400, "is written null"),
        ("/score", {"nodes": [{"id": ["deep"]}]}, 422, "nodes.0.id"),
        ("/score", {"edges": {"payments": [{"payer": ["deep"]}]}}, 422, "edges.payments.0.payer"),
        ("/score", {"edges": {"payments": 3}}, 422, "edges.payments: Input should be a valid list"),
        ("/score", {"edges": 3}, 422, "edges: Input should be a valid list"),
        (
            "/score",
            {"nodes": [{"account": "x"}]},
            400,
            "the node's id under 'id', as the nodes table does; got 'account'.",
        ),
        ("/explain", {"id": "x", "nodes": [{}]}, 400, "under 'id', as the nodes table does; got no keys."),
        ("/score", {"rows": []}, 422, "rows: this route knows no such key; GET /docs"),
        ("/score", b'{"ids": [NaN]}', 400, "finite numbers"),
        ("/score", b"[" * 100_000, 400, "JSON"),
        ("/score", b"", 422, "send a JSON object; GET /docs"),
        ("/score", [1], 422, "send a JSON object"),
        ("/score", {"edges": EDGE}, 400, "nobody is asked about"),
        ("/explain", {"id": "nobody"}, 400, "there is no node"),
        ("/triage", {"cases": []}, 422, "cases"),
        ("/triage", {"cases": [{"id": "x", "cost_miss": -1}]}, 422, "cost_miss"),
        ("/triage", {"cases": [{"id": "x"}], "review_error": 0.5}, 422, "review_error"),
        ("/nowhere", {}, 404, "no such route"),
        ("/score/", {}, 404, "no such route"),
        ("/health", {}, 405, "GET /docs says how"),
    ],
)
def test_mistakes_are_told_in_one_line(client, path, body, status, says):
    answer = client.post(path, body)
    assert answer.status == status and says in answer.json()["error"] and "\n" not in answer.json()["error"]


def test_paths_and_kinds_that_miss(client, tables):
    missed = client.get("/nodes/nobody/explain")
    assert missed.status == 404 and "POST /explain" in missed.json()["error"]
    broken = client.get("/nodes/line\nbreak/explain")
    assert broken.status == 404 and "POST /explain" in broken.json()["error"]
    assert client.get("/nodes").status == 404  # no redirect, which a client would follow to another error
    form = client.post(
        "/score", {"ids": tables[0][0]["id"][:1]}, **{"content-type": "application/x-www-form-urlencoded"}
    )
    assert form.status == 415 and "'Content-Type: application/json'" in form.json()["error"]
    assert client.post("/score", {"ids": tables[0][0]["id"][:1]}, **{"content-type": "application/JSON; charset=utf-8"}).status == 200  # fmt: skip
    assert asyncio.run(client.ask("HEAD", "/health", b"", {})).status == 200  # as load balancers ask


def test_a_token_is_wanted_where_there_is_one(models):
    service = Service(models, Access("0.0.0.0", token="correct horse battery"))  # pragma: allowlist secret
    client = Client(service.app)
    assert client.get("/version").status == 401 and client.get("/health").status == 200
    assert client.get("/version", authorization="Bearer wrong horse battery").status == 401
    assert client.get("/version", authorization="Bearer correct horse battery").status == 200
    refused = client.get("/docs", authorization="Basic " + base64.b64encode(b"ada:wrong").decode())
    assert refused.status == 401 and "Basic" in refused.headers["www-authenticate"]  # so that a browser asks
    assert "Bearer …" in refused.body.decode()  # not \u2026
    password = base64.b64encode(b"ada:correct horse battery").decode()
    assert client.get("/docs", authorization=f"Basic {password}").status == 200
    service.close()


def test_strangers_are_turned_away(client, monkeypatch):
    assert client.get("/version", host="evil.example").status == 421
    assert client.post("/score", {"ids": []}, origin="http://evil.example").status == 403
    assert client.get("/health").headers["x-content-type-options"] == "nosniff"
    monkeypatch.setattr(gate, "LARGEST_BODY", 100)
    assert client.post("/score", {"ids": ["x" * 200]}).status == 413
    assert client.post("/score", {"ids": ["x" * 200]}, content_length="1").status == 413


def test_a_client_may_not_ask_too_often(models):
    service = Service(models, Access(), rate=3)
    answers = [Client(service.app).get("/health") for _ in range(6)]
    assert [answer.status for answer in answers[:3]] == [200] * 3 and answers[-1].status == 429
    assert answers[-1].headers["retry-after"] == "1"
    service.close()


def test_too_many_waiting_questions_are_turned_away(client, monkeypatch, tables):
    monkeypatch.setattr(module, "MOST_WAITING", 0)
    answer = client.post("/score", {"ids": tables[0][0]["id"][:1]})
    assert answer.status == 503 and answer.headers["retry-after"] == "1"


def test_what_nobody_thought_of_is_numbered_and_not_told(client, service, monkeypatch, caplog):
    async def fails(question):
        raise RuntimeError("the account of Mrs Smith")

    monkeypatch.setattr(service, "work", fails)
    with pytest.raises(RuntimeError):  # a server logs it and goes on
        client.post("/score", {"ids": ["a"]})
    assert "Smith" not in json.dumps([str(vars(record).get("facts")) for record in caplog.records])


def test_logs_hold_no_ids(client, tables, caplog):
    with caplog.at_level("INFO", "calirare.scoring.service.requests"):
        known = tables[0][0]["id"][0]
        client.get(f"/nodes/{known}")
    (record,) = [one for one in caplog.records if one.name == "calirare.scoring.service.requests"]
    assert record.facts["route"] == "/nodes/{id}" and record.facts["status"] == 200
    assert known not in json.dumps(record.facts)


def test_a_refitted_model_takes_over(tables, tmp_path):
    def fit(penalty):
        graph = cr.read_tables(*tables[0], label="is_fraud", rare="yes")
        detector = cr.detectors.Linear(penalty=penalty, hops=0)
        cr.RareCategoryClassifier(detector, device="cpu").fit(graph).save(tmp_path / "model")

    fit(0.1)
    models = Models(tmp_path / "model", lambda classifier: read_for(classifier, *tables[0]))
    service = Service(models, Access())
    client, known = Client(service.app), tables[0][0]["id"][0]
    before, held = client.get(f"/nodes/{known}").json(), models.current
    assert not models.is_outdated
    fit(1e-3)
    assert models.is_outdated and client.get(f"/nodes/{known}").json() == before
    assert client.post("/reload", {}).json()["model"] == models.current.version != held.version
    after = client.get(f"/nodes/{known}").json()
    assert after["probability"] != before["probability"] and held.known(known) == before
    (tmp_path / "model" / "model.json").write_text("{")
    assert client.post("/reload", {}).status in (400, 503) and client.get(f"/nodes/{known}").json() == after
    text = client.get("/metrics").body.decode()
    assert 'calirare_reloads_total{outcome="failed"} 1.0' in text and 'outcome="done"} 1.0' in text
    service.close()


def test_numbers_and_text_as_ids(models, tables):
    place = models.current.live.names
    assert place.find(tables[0][0]["id"][4]) == 4


def test_a_node_of_a_kind_without_labels_has_no_score(tables, tmp_path, briefly):
    nodes, edges = tables[0]
    buys = {"source": nodes["id"][:100], "shop": [f"shop{k % 9}" for k in range(100)]}
    graph = cr.read_tables(nodes, buys, label="is_fraud", rare="yes", source="source", target="shop")
    cr.RareCategoryClassifier("linear", device="cpu").fit(graph).save(tmp_path / "model")
    with briefly():
        models = Models(tmp_path / "model", lambda classifier: read_for(classifier, nodes, buys))
    service = Service(models, Access())
    try:
        client = Client(service.app)
        assert client.get(f"/nodes/{nodes['id'][0]}").status == 200
        why = "No label is of a node of this kind, shop: the model does not speak of it."
        for path in ("shop shop3", "shop3", "shop3/explain"):  # as the tables write it, too
            missed = client.get(f"/nodes/{path}")
            assert missed.status == 404 and missed.json()["error"] == why
        assert client.post("/score", {"ids": ["shop3"]}).json()["error"] == f"node 'shop3' has no score. {why}"
        assert "POST /score" in client.get("/nodes/shop nowhere").json()["error"]
        new = {
            "nodes": [{name: nodes[name][0] for name in nodes} | {"id": "new"}],
            "edges": [{"source": "new", "shop": "shop99"}],
        }
        assert [row["id"] for row in client.post("/score", new).json()["scores"]] == ["new"]
    finally:
        service.close()
