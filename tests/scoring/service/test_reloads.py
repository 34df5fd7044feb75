"""Reloads: who asks while one goes on, what goes wrong that nobody foresaw, and SIGHUP at any moment."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading

import pytest

import calirare as cr
from calirare.errors import DataError
from calirare.persistence.folder import model_version
from calirare.scoring.service import loading
from calirare.scoring.service.access import Access
from calirare.scoring.service.app import Service
from calirare.scoring.service.hang_ups import HangUps
from calirare.scoring.service.loading import Models
from calirare.scoring.service.server import Server


class Held:
    """Loads that wait until they are let go; the first, which a service starts with, does not."""

    def __init__(self, loaded):
        self.loaded, self.count, self.go = loaded, 0, threading.Event()
        self.error = None

    def __call__(self, *asked):
        self.count += 1
        assert self.go.wait(20)
        if self.error is not None:
            raise self.error
        return self.loaded

    def close(self):
        self.go.set()


@pytest.fixture
def held(models):
    return Held(models.current)


@pytest.fixture
def service(models, held, monkeypatch):
    monkeypatch.setattr(models, "_reader", held)
    monkeypatch.setattr(models, "current", models.current)
    found = Service(models, Access())
    yield found
    found.close()


def test_a_model_that_is_saved_while_one_is_read_has_its_own_version(tables, tmp_path, monkeypatch):
    graph = cr.read_tables(*tables[0], label="is_fraud", rare="yes")
    penalties = [0.1, 0.01, 0.001]

    def save():
        cr.RareCategoryClassifier(cr.detectors.Linear(penalties.pop(), hops=0), device="cpu").fit(graph).save(tmp_path)

    def load_slowly(folder):
        found = cr.load(folder)
        if penalties:
            save()
        return found

    save()
    monkeypatch.setattr(loading, "load", load_slowly)
    loaded = loading.Loaded.read(tmp_path, lambda classifier: graph, 0.9)
    assert loaded.live.classifier.detector_.penalty == 0.1 and not penalties
    assert loaded.version == model_version(tmp_path)


async def until(holds):
    while not holds():
        await asyncio.sleep(0.001)


def test_fifty_who_ask_during_a_reload_share_the_next(service, held):
    async def ask():
        first = asyncio.create_task(service.reload())
        await until(lambda: held.count == 1)
        others = [asyncio.create_task(service.reload()) for _ in range(50)]
        await asyncio.sleep(0)
        held.go.set()
        return await asyncio.gather(first, *others)

    found = asyncio.run(asyncio.wait_for(ask(), 30))
    assert held.count == 2 and len(found) == 51
    assert 'calirare_reloads_total{outcome="done"} 2.0' in service.counts.text().decode()


@pytest.mark.parametrize("error", [DataError("no."), RuntimeError("no."), MemoryError()])
def test_a_reload_that_fails_is_counted_logged_and_ends_nothing(service, held, error, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("calirare"), "propagate", True)
    held.error, before = error, service.models.current
    held.go.set()
    server = Server(service, Access(port=0))

    async def ask():
        await server._reload()
        with pytest.raises(type(error)):
            await service.reload()

    asyncio.run(asyncio.wait_for(ask(), 30))
    server._socket.close()
    assert 'calirare_reloads_total{outcome="failed"} 2.0' in service.counts.text().decode()
    assert service.models.current is before
    assert [record.facts["why"] for record in caplog.records] == [type(error).__name__] * 2


def test_a_watched_folder_is_read_once_for_each_change(service, held, monkeypatch):
    """While a load goes on, the folder still holds another model than the one in use."""
    monkeypatch.setattr(Models, "is_outdated", property(lambda models: not held.go.is_set()))
    server = Server(service, Access(port=0), watch=0.001)

    async def watch():
        task = asyncio.create_task(server._watch())
        await until(lambda: held.count == 1)
        await asyncio.sleep(0.05)
        held.go.set()
        await asyncio.sleep(0.05)
        task.cancel()

    asyncio.run(asyncio.wait_for(watch(), 30))
    server._socket.close()
    assert held.count == 1


def test_sighup_at_any_moment_asks_and_ends_nothing(service, held):
    """Before anybody listens, while the server runs, and after it."""
    held.go.set()
    before, term = signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGTERM)
    try:
        with HangUps() as hang_ups:
            os.kill(os.getpid(), signal.SIGHUP)  # as while the first model is being read
            server = Server(service, Access(port=0), hang_ups=hang_ups)

            def again():
                for count in (1, 2, 3):
                    assert reached(lambda count=count: held.count == count)
                    if count < 3:
                        os.kill(os.getpid(), signal.SIGHUP)
                server.stop()

            thread = threading.Thread(target=again)
            thread.start()
            server.run()
            thread.join()
            os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN and held.count == 3
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGTERM, term)


def reached(holds):
    wait = threading.Event()
    return any(holds() or wait.wait(0.01) for _ in range(2_000))
