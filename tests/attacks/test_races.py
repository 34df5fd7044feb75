"""Many at once for one place: one wins, the others are told, and what is there is whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import calirare as cr
from calirare.persistence.folder import load_graph
from calirare.review.app import make_app, open_desk
from calirare.review.store.decisions import DecisionStore
from calirare.scoring.service.access import Access

pytestmark = pytest.mark.slow

WRITER = """
import sys
import calirare as cr
folder, graph, seed = sys.argv[1], cr.make_transactions(num_nodes=200, rare_share=0.2, seed=0), int(sys.argv[2])
print("ready", flush=True)
for line in sys.stdin:
    clf = cr.RareCategoryClassifier("linear", class_costs=(1.0, 1.0 + seed + 10 * int(line)), device="cpu").fit(graph)
    clf.save(folder, graph)
    print("saved", flush=True)
"""


def test_a_hundred_rounds_of_three_fits_at_once(tmp_path, count):
    folder = tmp_path / "model"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(3)
    ]
    try:
        assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 3
        for turn in range(100):
            for writer in writers:
                writer.stdin.write(f"{turn}\n")
                writer.stdin.flush()
            assert [writer.stdout.readline() for writer in writers] == ["saved\n"] * 3
            assert cr.load(folder).predict_proba(load_graph(folder)).shape == (200, 2)
            assert len(list(folder.iterdir())) == 3, turn
    finally:
        for writer in writers:
            writer.stdin.close()
            writer.stdout.close()
            writer.wait()
    count("100 rounds of 3 fits to one folder: 100 whole models, no file left over")


def test_eight_reviewers_race_for_each_case(model, network, database, tmp_path, count):
    """All have seen the same; one decides, seven are told by whom."""
    desk = open_desk(shutil.copytree(model, tmp_path / "model"), database)
    app = make_app(desk, Access(reviewer="ada"))
    nodes = [str(desk.snapshot.ids[node]) for node in desk.snapshot.listed[:60]]
    start, answers = threading.Barrier(8), Counter()

    def race(who):
        client, found = app.server.test_client(), Counter()
        for node in nodes:
            start.wait()
            body = {"node": node, "decision": ("rare", "normal")[who % 2], "seen": 0, "key": f"{who}-{node}"}
            found[client.post("/api/decide", json=body).status_code] += 1
        return found

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(race, range(8)):
            answers += found
    desk.close()
    store = DecisionStore.open(database)
    rows = store.since()
    store.close()
    assert answers == {200: len(nodes), 409: 7 * len(nodes)} and len(rows) == len({row.node_id for row in rows}) == 60
    count(f"{len(nodes)} races of 8 reviewers ({database.split(':')[0]}): {len(rows)} won, {answers[409]} told, 0 lost")
