"""Reloads in a process of their own. Here a thread stands for it; test_server.py has real ones."""

from __future__ import annotations

import errno
import json
import logging
import multiprocessing
import os
import signal
from functools import partial
from types import SimpleNamespace

import pytest
from asgi import Client

from calirare.errors import DataError, InputError
from calirare.scoring.service import own_process
from calirare.scoring.service.access import Access
from calirare.scoring.service.app import Service
from calirare.scoring.service.loading import Models
from calirare.scoring.service.logs import JsonLines
from calirare.scoring.service.own_process import ReadApart
from calirare.scoring.table import read_for


@pytest.fixture
def here(monkeypatch):
    """What a process would run, at once and in this one; gives what was done to it."""
    done = []

    class Process:
        exitcode = -9

        def __init__(self, target, args, daemon):
            self.run = partial(target, *args)

        def start(self):
            self.run()

        def join(self):
            done.append("join")

        def is_alive(self):
            return True

        def terminate(self):
            done.append("terminate")

    made = SimpleNamespace(Process=Process, Pipe=multiprocessing.Pipe)
    monkeypatch.setattr(multiprocessing, "get_context", lambda kind: made)
    monkeypatch.setattr(os, "nice", lambda more: done.append(f"nice {more}"))
    monkeypatch.setattr(signal, "signal", lambda *words: None)
    monkeypatch.setattr(own_process, "log_to_stderr", lambda: None)
    return done


def test_a_reload_answers_as_the_start(here, model, tables):
    notes = []
    read = lambda classifier: read_for(classifier, *tables[0])  # noqa: E731
    models = Models(model, read, 0.8, notes.append, ReadApart())
    first, service = models.current, Service(models, Access())
    client, ids = Client(service.app), tables[0][0]["id"][:3]
    before = [client.get(f"/nodes/{one}").json() for one in ids]
    assert client.post("/reload", {}).json()["coverage"] == 0.8
    assert models.current is not first and models.current.version == first.version and len(notes) == 2
    assert [client.get(f"/nodes/{one}").json() for one in ids] == before
    assert (models.current.scored == first.scored).all()
    service.close()  # breaks off what is still being read
    assert here == ["nice 10", "join", "terminate"]


@pytest.mark.parametrize("kind", [InputError, DataError])
def test_what_goes_wrong_there_is_said_here(here, model, kind):
    def read(classifier):
        raise kind("there is no table.")

    with pytest.raises(kind, match=r"^there is no table\.$"):
        ReadApart()(model, read, 0.9, None)


def test_a_process_that_was_killed(here, model, monkeypatch):
    monkeypatch.setattr(own_process, "_make_ready", lambda says, *asked: None)
    with pytest.raises(DataError, match="ended with -9; is there memory for two models"):
        ReadApart()(model, print, 0.9, None)
    assert here == ["join"]


def full(*words):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("place", ["hand_over", "take_over", "tempfile.TemporaryDirectory"])
def test_a_full_disk_is_named(here, model, tables, monkeypatch, place):
    monkeypatch.setattr(f"calirare.scoring.service.own_process.{place}", lambda *words, **more: full())
    with pytest.raises(DataError, match=r"No space left on device; is there room for temporary files \(TMPDIR\)\?$"):
        ReadApart()(model, lambda classifier: read_for(classifier, *tables[0]), 0.9, None)


def test_what_nobody_foresaw_is_logged_without_its_words(here, model, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("calirare"), "propagate", True)

    def read(classifier):
        raise RuntimeError("the secret value 4711")

    with pytest.raises(DataError, match=r"^the model was not made ready: RuntimeError; the log says where\.$"):
        ReadApart()(model, read, 0.9, None)
    (record,) = caplog.records
    line = JsonLines().format(record)
    assert "4711" not in line and any("test_own_process.py" in place for place in json.loads(line)["where"])


def test_a_stop_while_the_process_starts_ends_it(here, model, tables):
    reader = ReadApart()
    reader.close()
    reader(model, lambda classifier: read_for(classifier, *tables[0]), 0.9, None)
    assert here == ["nice 10", "terminate", "join"]


def test_what_loads_never_hears_of_a_terminal_that_went(here, model, monkeypatch):
    masks = []
    monkeypatch.setattr(
        own_process, "_make_ready", lambda *asked: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, set()))
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    with pytest.raises(DataError):
        ReadApart()(model, print, 0.9, None)
    assert signal.SIGHUP in masks[0] and signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before
