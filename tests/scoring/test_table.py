"""The table of scores."""

from __future__ import annotations

import numpy as np

import calirare as cr
from calirare.scoring.table import score_table


def test_only_kinds_of_node_that_carry_labels_are_scored_and_queued():
    size = 240
    rng = np.random.default_rng(0)
    y = (rng.random(size) < 0.3).astype(int)
    users = {
        "id": [f"u{k}" for k in range(size)],
        "x": y + rng.normal(size=size),
        "fraud": [*y[:120].tolist(), *[None] * 120],
    }
    shops = {"shop": [f"s{k}" for k in range(30)], "rent": rng.normal(size=30)}
    edges = {"from": users["id"] * 2, "to": [f"s{k % 30}" for k in rng.integers(0, 300, 2 * size)]}
    graph = cr.read_tables({"users": users, "shops": shops}, edges, label="fraud", rare=1)
    clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    table = score_table(clf, graph, intervals=False)
    assert table["id"].tolist() == users["id"] and len(table["set"]) == size
    queue = cr.triage(clf, graph)
    assert set(queue.id) == set(users["id"][120:])
    later = cr.read_tables(
        {"users": {k: v for k, v in users.items() if k != "fraud"}, "shops": shops}, edges, schema=graph.schema
    )
    assert score_table(clf, later, intervals=False)["id"].tolist() == users["id"]
