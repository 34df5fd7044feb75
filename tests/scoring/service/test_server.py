"""The service as a process of its own: reload and stop under load, and kill -9."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import polars as pl
import pytest
from growth import as_rows

import calirare as cr
from calirare.evaluation.monitoring.series import Series
from calirare.review.store.database import Database, database_url
from calirare.scoring.service.access import Access
from calirare.scoring.service.app import Service
from calirare.scoring.service.loading import Models
from calirare.scoring.service.server import Server
from calirare.scoring.table import read_for


def ask(url, path, body=None, timeout=60):
    data = None if body is None else json.dumps(body, default=str).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, {"Content-Type": "application/json"}), timeout=timeout) as answer:  # fmt: skip
        return json.loads(answer.read())


def test_a_server_answers_reloads_and_stops(models):
    server = Server(Service(models, Access(port=0)), Access(port=0), watch=0.05)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        for _ in range(200):
            try:
                assert ask(server.url, "/health") == {"status": "ok"}
                break
            except urllib.error.URLError:
                time.sleep(0.05)
        assert ask(server.url, "/version")["nodes"] == 195
        with pytest.raises(urllib.error.HTTPError) as found:  # told so, not cut off in the middle of what it sends
            ask(server.url, "/score", {"ids": ["x" * (5 << 20)]})
        found.value.close()
        assert found.value.code == 413
    finally:
        server.stop()
        thread.join(30)
    assert not thread.is_alive()


@pytest.fixture
def folder(tables, tmp_path):
    for name, table in zip(("nodes", "edges"), tables[0], strict=True):
        pl.DataFrame(table).write_parquet(tmp_path / f"{name}.parquet")
    fit(tmp_path, 0.1)
    return tmp_path


def fit(folder, penalty):
    graph = cr.read_tables(folder / "nodes.parquet", folder / "edges.parquet", label="is_fraud", rare="yes")
    cr.RareCategoryClassifier(cr.detectors.Linear(penalty, hops=0), device="cpu").fit(graph).save(folder / "model")


def start(folder):
    """The service, its address; what it logs goes into a file, for a pipe that nobody reads would stop it."""
    words = [sys.executable, "-m", "calirare", "serve", *(str(folder / name) for name in ("model", "nodes.parquet", "edges.parquet"))]  # fmt: skip
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*words, "--port", "0", "--rate", "0", "--json"], stdout=subprocess.PIPE, stderr=log, text=True
        )
    said = ""
    while "}" not in said:
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()
        said += line
    return process, json.loads(said)["url"]


class Load:
    """Threads that ask until they are stopped, and keep what they were told."""

    def __init__(self, url, paths):
        self.url, self.paths, self.answers, self.lost, self._going = url, paths, [], [], True
        self.threads = [threading.Thread(target=self._ask, args=(k,)) for k in range(4)]
        for thread in self.threads:
            thread.start()

    def _ask(self, k):
        while self._going:
            path, body = self.paths[k % len(self.paths)]
            try:
                self.answers.append((path, json.dumps(ask(self.url, path, body))))
            except (urllib.error.URLError, OSError) as error:
                self.lost.append(error)
                if isinstance(error, ConnectionError) or "refused" in str(error):
                    return
            k += 1

    def stop(self):
        self._going = False
        for thread in self.threads:
            thread.join()


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "log"}


def runs(folder):
    """Of the models in the folder, in the series that is monitored."""
    database = Database(database_url(folder / "model"))
    try:
        return len(Series(database).read("run"))
    finally:
        database.close()


@pytest.mark.slow
def test_under_load_nothing_is_lost(folder, tables, request):
    since = {"nodes": as_rows(tables[1][0]), "edges": as_rows(tables[1][1])}
    known = [(f"/nodes/{one}", None) for one in tables[0][0]["id"][:5]]
    paths = [*known, ("/score", since)]
    process, url = start(folder)
    request.addfinalizer(process.kill)
    before = {path: json.dumps(ask(url, path, body)) for path, body in paths}

    load = Load(url, paths)  # a refitted model takes over without a lost request
    time.sleep(1.0)
    first = ask(url, "/version")["model"]
    fit(folder, 1e-3)
    process.send_signal(signal.SIGHUP)
    for _ in range(600):
        if ask(url, "/version")["model"] != first:
            break
        time.sleep(0.1)
    time.sleep(0.5)
    load.stop()
    after = {path: json.dumps(ask(url, path, body)) for path, body in paths}
    assert not load.lost and before != after
    assert all(said in (before[path], after[path]) for path, said in load.answers)
    assert {said for path, said in load.answers if path == known[0][0]} == {before[known[0][0]], after[known[0][0]]}

    assert runs(folder) == 2  # the start and the reload
    ask(url, "/reload", {})
    held = files(folder)  # kill -9
    load = Load(url, paths)
    time.sleep(1.0)
    process.kill()
    process.communicate()
    load.stop()
    assert load.answers and all(said == after[path] for path, said in load.answers)
    assert held == files(folder)
    assert runs(folder) == 3  # what was acknowledged is there
    process, url = start(folder)
    request.addfinalizer(process.kill)
    assert after == {path: json.dumps(ask(url, path, body)) for path, body in paths}

    process.terminate()  # an orderly stop
    process.communicate(timeout=60)
    assert process.returncode == 0
    log = (folder / "log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert lines and all(one["event"] == "request" for one in lines)
    assert not any(one in log for one in (*tables[0][0]["id"][:5], tables[1][0]["id"][0]))


@pytest.mark.slow
def test_a_stop_breaks_off_a_reload_and_a_killed_one_leaves_nothing(folder, request, monkeypatch, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))  # so that what is left over can be seen

    def begin():
        process, url = start(folder)
        request.addfinalizer(process.kill)
        model = ask(url, "/version")
        process.send_signal(signal.SIGHUP)
        return process, url, model, until(lambda: children(process.pid).get("spawn_main"))

    process, url, model, loading = begin()
    os.kill(loading, signal.SIGKILL)  # as the system does where memory runs out
    until(lambda: 'calirare_reloads_total{outcome="failed"} 1.0' in read(url, "/metrics"))
    assert ask(url, "/version") == model
    process.send_signal(signal.SIGHUP)
    until(lambda: children(process.pid).get("spawn_main"))
    began = time.monotonic()
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0 and time.monotonic() - began < 10
    assert list(scratch.iterdir()) == []

    process, _, _, loading = begin()
    process.kill()  # then what was loading ends too
    process.communicate()
    until(lambda: not Path(f"/proc/{loading}").exists() and not list(scratch.iterdir()))
    assert runs(folder) == 2  # two starts, no reload


@pytest.mark.slow
def test_hang_ups_from_the_first_moment_to_the_last_end_nothing(folder, request):
    process, url = start(folder)
    request.addfinalizer(process.kill)
    for _ in range(20):  # right after its address is known
        process.send_signal(signal.SIGHUP)
    until(lambda: 'calirare_reloads_total{outcome="done"}' in read(url, "/metrics"))
    process.terminate()
    while process.poll() is None:  # and until it is gone
        process.send_signal(signal.SIGHUP)
        time.sleep(0.005)
    process.communicate()
    assert process.returncode == 0
    assert all(line.startswith("{") for line in (folder / "log").read_text().splitlines())
    assert runs(folder) <= 3  # the start, the reload, and one that was shared by the rest


def until(found, seconds=60):
    """What `found` gives as soon as it is something."""
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def read(url, path):
    with urllib.request.urlopen(url + path, timeout=60) as answer:
        return answer.read().decode()


def children(pid):
    """Processes that this one started, by a word of their command line."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                words = (path.parent / "cmdline").read_text()
                found["spawn_main" if "spawn_main" in words else "other"] = int(path.parent.name)
    return found


def test_models_are_watched(tables, tmp_path):
    graph = cr.read_tables(*tables[0], label="is_fraud", rare="yes")
    cr.RareCategoryClassifier(cr.detectors.Linear(0.1, hops=0), device="cpu").fit(graph).save(tmp_path / "model")
    models = Models(tmp_path / "model", lambda classifier: read_for(classifier, *tables[0]))
    (tmp_path / "model" / "model.json").unlink()
    assert not models.is_outdated  # it is being written
