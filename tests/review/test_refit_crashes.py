"""A desk killed while it refits: every acknowledged decision is there, and the model is the old one or the new one."""

from __future__ import annotations

import random
import sys
import time

import pytest
from limited import start

import calirare as cr
from calirare.persistence.folder import load_graph
from calirare.review.app import open_desk
from calirare.review.store.decisions import DecisionStore

DESK = """
import sys, time
import calirare as cr
from calirare.review.app import open_desk
from calirare.review.view import View
desk = open_desk(sys.argv[1])
desk.snapshot.clf.set_params(detector=cr.detectors.GCN(epochs=5, hidden=8))
print("ready", flush=True)
for turn in range(10_000):
    node = int(desk.queue.order(View())[turn])
    name = desk.snapshot.ids[node]
    history = desk.store.history(name)
    row = desk.decide(name, "rare" if turn % 3 else "normal", note="", reviewer="ada",
                      seen=history[-1].id if history else 0, action_key=f"{sys.argv[2]}-{turn}")
    print(row.id, flush=True)
    desk.job.start("ada")
    while desk.job.status.state == "running":
        time.sleep(0.005)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_a_desk_killed_while_it_refits(model):
    chance, acknowledged = random.Random(4), []
    for turn in range(4):
        process = start(model, turn, code=DESK)
        time.sleep(chance.uniform(0.1, 2.5))
        process.kill()
        printed, _ = process.communicate(timeout=30)
        acknowledged += [int(line) for line in printed.split("\n")[:-1]]
        store = DecisionStore.open(model)
        assert set(acknowledged) <= {row.id for row in store.since()}
        store.close()
        graph = load_graph(model)
        assert cr.load(model).predict_proba(graph).shape == (graph.num_nodes, 2)
    assert acknowledged
    desk = open_desk(model)  # and it opens for work again
    assert len(desk.store.since()) >= len(acknowledged)
    desk.close()
