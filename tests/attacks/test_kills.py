"""Desks and savers killed at any moment: nothing that was acknowledged is lost, and one whole model is there."""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

import calirare as cr
from calirare.evaluation.monitoring.series import Series
from calirare.persistence.folder import load_graph
from calirare.review.store.database import Database, database_url
from calirare.review.store.decisions import DecisionStore

pytestmark = pytest.mark.slow

WRITER = """
import itertools, sys, threading
from calirare.review.store.decisions import DecisionStore
where, turn = sys.argv[1:]
lock = threading.Lock()
def write(who):
    store = DecisionStore.open(where)
    for i in itertools.count():
        key = f"{turn}-{who}-{i}"
        row = store.record(key, "rare", reviewer="ada", model_version="m", seen=0, action_key=key)
        with lock:
            print(row.id, flush=True)
for who in range(4):
    threading.Thread(target=write, args=(who,)).start()
"""


def killed_writer(database, turn, chance, code=WRITER):
    """The numbers that a writer acknowledged before it was killed."""
    command = [sys.executable, "-c", code, database, str(turn)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        seen = [int(writer.stdout.readline())]
        timer = threading.Timer(chance.uniform(0.0, 1.5), writer.kill)
        timer.start()
        seen += [int(line) for line in writer.stdout if line.endswith("\n")]
        timer.join()
    return seen


def test_eighteen_writers_of_decisions_killed(database, count):
    """Two at a time, four threads each."""
    chance, acknowledged = random.Random(0), []
    for turn in range(9):
        with ThreadPoolExecutor(2) as pool:
            seeds = [random.Random(chance.random()) for _ in range(2)]
            both = pool.map(lambda k: killed_writer(database, f"{turn}-{k}", seeds[k]), range(2))  # noqa: B023
            acknowledged += [number for seen in both for number in seen]
        store = DecisionStore.open(database)
        rows = store.since()
        store.close()
        assert set(acknowledged) <= {row.id for row in rows} and len({row.node_id for row in rows}) == len(rows)
    lost = set(acknowledged) - {row.id for row in rows}
    count(
        f"18 kills of writers ({database.split(':')[0]}): {len(acknowledged):,} decisions acknowledged, {len(lost)} lost"
    )


SERIES = """
import itertools, sys
from calirare.evaluation.monitoring.series import Series
from calirare.review.store.database import Database, database_url
where, turn = sys.argv[1:]
series = Series(Database(database_url(where)))
for i in itertools.count():
    series.add("run", "m", f"{turn}-{i}", {"counts": [i] * 20})
    print(i, flush=True)
"""


def test_eight_feeders_of_the_series_killed(database, count):
    """Two at a time, as scoring and serving feed what `calirare monitor` reads."""
    chance, acknowledged = random.Random(3), []
    for turn in range(4):
        with ThreadPoolExecutor(2) as pool:
            seeds = [random.Random(chance.random()) for _ in range(2)]
            both = pool.map(lambda k: killed_writer(database, f"{turn}-{k}", seeds[k], SERIES), range(2))  # noqa: B023
            acknowledged += [f"{turn}-{k}-{number}" for k, seen in enumerate(both) for number in seen]
    opened = Database(database_url(database))
    rows = Series(opened).read("run")
    opened.close()
    lost = set(acknowledged) - {row.subject for row in rows}
    count(f"8 kills of feeders ({database.split(':')[0]}): {len(acknowledged):,} runs acknowledged, {len(lost)} lost")
    assert not lost and len({row.subject for row in rows}) == len(rows) and len(acknowledged) >= 8


class ServedDesk:
    """`calirare review` in a process of its own, after it has said where it listens."""

    def __init__(self, model, database):
        command = [sys.executable, "-m", "calirare", "review", str(model), "--no-open", "--port", "0", "--json"]
        self.process = subprocess.Popen([*command, "--db", database], stdout=subprocess.PIPE, text=True)
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(self.process.stdout.readline())
            assert lines[-1]
        self.address = urlsplit(json.loads("".join(lines))["url"]).netloc

    def decide(self, node, key):
        """The number of the decision, or None where the desk did not answer."""
        line = http.client.HTTPConnection(self.address, timeout=10)
        body = json.dumps({"node": node, "decision": "rare", "seen": 0, "key": key})
        try:
            line.request("POST", "/api/decide", body, {"Content-Type": "application/json"})
            answer = line.getresponse()
            return json.loads(answer.read())["decision"]["id"] if answer.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            line.close()

    def kill(self):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()


def test_four_served_desks_killed(model, network, database, count):
    """Each in the middle of its work: after some tens of decisions, while six reviewers go on deciding."""
    nodes = iter([str(name) for name, y in zip(network.ids, network.y, strict=True) if y < 0])
    lock, acknowledged, chance = threading.Lock(), [], random.Random(1)

    def review(desk, who):
        while True:
            with lock:
                node = next(nodes, None)
            number = None if node is None else desk.decide(node, f"{who}-{node}")
            if number is None:
                return
            with lock:
                acknowledged.append(number)

    for _ in range(4):
        desk = ServedDesk(model, database)
        with ThreadPoolExecutor(6) as pool:
            enough = len(acknowledged) + chance.randint(15, 45)
            reviewers = [pool.submit(review, desk, who) for who in range(6)]
            while len(acknowledged) < enough and not all(one.done() for one in reviewers):
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.05))
            desk.kill()
    store = DecisionStore.open(database)
    lost = set(acknowledged) - {row.id for row in store.since()}
    store.close()
    count(f"4 kills of served desks ({database.split(':')[0]}): {len(acknowledged):,} acknowledged, {len(lost)} lost")
    assert len(acknowledged) >= 60 and not lost


SAVER = """
import itertools, sys
import calirare as cr
from calirare.persistence.folder import load_graph
folder = sys.argv[1]
graph = load_graph(folder)
models = [cr.RareCategoryClassifier("linear", class_costs=(1.0, 1.0 + k)).fit(graph) for k in range(2)]
for model in models:
    model.predict_left_out()
print("ready", flush=True)
for turn in itertools.count():
    models[turn % 2].save(folder, graph)
"""


def test_savers_killed_side_by_side(network, tmp_path, count):
    folder, chance = tmp_path / "model", random.Random(2)
    cr.RareCategoryClassifier("linear").fit(network).save(folder, network)
    kills = 0
    for _ in range(6):
        savers = [
            subprocess.Popen([sys.executable, "-c", SAVER, str(folder)], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for saver in savers:
            assert saver.stdout.readline() == "ready\n"
        for saver in savers:
            time.sleep(chance.uniform(0.0, 0.3))
            saver.kill()
            saver.communicate()
            kills += 1
            assert cr.load(folder).predict_proba(load_graph(folder)).shape == (network.num_nodes, 2)
    cr.load(folder).save(folder, network)
    assert len(list(folder.iterdir())) == 3
    count(f"{kills} kills of savers: one whole model after each, no file left over")
