"""Rows of several tables of nodes and edges, by name, against scoring everything anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calirare as cr
from calirare.errors import InputError
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.service.bodies import ToScore
from calirare.scoring.service.examples import example_bodies
from calirare.scoring.service.loading import Loaded

Tables = dict[str, dict[str, list[Any]]]


def network() -> tuple[Tables, Tables]:
    """Hosts and users; flows among hosts, logins of users, of which bad hosts see more that fail."""
    rng = np.random.default_rng(0)
    bad = np.arange(150) % 5 == 0
    host = rng.integers(0, 150, 900)
    failed = rng.random(900) < np.where(bad[host], 0.7, 0.2)
    hosts = {
        "host": [f"h{k}" for k in range(150)],
        "age": rng.normal(size=150).round(3).tolist(),
        "bad": np.where(bad, "yes", "no").tolist(),
    }
    users = {"user": [f"u{k}" for k in range(40)], "admin": rng.integers(0, 2, 40).tolist()}
    ends = rng.integers(0, 150, (2, 500))
    flows = {
        "src": [f"h{k}" for k in ends[0]],
        "dst": [f"h{k}" for k in ends[1]],
        "bytes": rng.lognormal(5, 1, 500).tolist(),
    }
    logins = {
        "user": [f"u{k}" for k in rng.integers(0, 40, 900)],
        "host": [f"h{k}" for k in host],
        "result": np.where(failed, "fail", "ok").tolist(),
    }
    return {"hosts": hosts, "users": users}, {"flows": flows, "logins": logins}


def with_rows(tables: Tables, rows: dict[str, list[dict[str, Any]]]) -> Tables:
    return {
        name: {column: [*values, *(row[column] for row in rows.get(name, ()))] for column, values in table.items()}
        for name, table in tables.items()
    }


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    graph = cr.read_tables(*network(), label="bad", rare="yes")
    return Loaded.of(LiveScores(cr.RareCategoryClassifier("linear", device="cpu").fit(graph), graph), "v")


LOGIN = {"user": "u1", "host": "h3", "result": "fail"}
FLOW = {"src": "h3", "dst": "h4", "bytes": 900.0}


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ({}, {"logins": [LOGIN]}),
        ({}, {"flows": [FLOW], "logins": [LOGIN, LOGIN]}),
        ({"users": [{"user": "u99", "admin": 1}]}, {"logins": [{**LOGIN, "user": "u99"}]}),
        ({"hosts": [{"host": "h99x", "age": 0.3, "bad": None}]}, {"flows": [{**FLOW, "dst": "h99x"}]}),
    ],
)
def test_scores_are_those_of_a_full_scoring(loaded, nodes, edges):
    body = ToScore(nodes=nodes, edges=edges, ids=["h3", "h4"])
    found = loaded.score(body.nodes, body.edges, body.ids)
    tables = network()
    graph = cr.read_tables(with_rows(tables[0], nodes), with_rows(tables[1], edges), schema=loaded.live.graph.schema)
    every = dict(zip(graph.ids.tolist(), loaded.live.classifier.predict_proba(graph)[:, 1].tolist(), strict=True))
    for name, p in zip(found["id"].tolist(), found["probability"].tolist(), strict=True):
        assert p == pytest.approx(every[name], abs=1e-6)
    assert abs(every["h3"] - loaded.known("h3")["probability"]) > 1e-4  # the rows tell something


def test_rows_of_nobody_knows_which_table_are_refused(loaded):
    with pytest.raises(InputError, match=r"by the name of the table, one of \['flows', 'logins'\]"):
        loaded.score([], [LOGIN], ["h3"])
    with pytest.raises(InputError, match=r"by the name of the table, one of \['hosts', 'users'\]"):
        loaded.score([{"host": "h99x"}], [], [])


def test_the_example_of_the_model_is_understood(loaded):
    body = ToScore(**example_bodies(loaded.live.graph.schema)["ToScore"])
    assert set(body.edges) == {"flows"}
    assert loaded.score(body.nodes, body.edges, [])["id"].tolist() == ["new-1", "new-2"]
