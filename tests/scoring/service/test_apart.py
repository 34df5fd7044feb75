"""Reloads in a process of their own. Here a thread stands for it; test_server.py has real ones."""

from __future__ import annotations

import multiprocessing
import os
import signal
from functools import partial
from types import SimpleNamespace

import pytest
from asgi import Client

from calirare.errors import DataError, InputError
from calirare.scoring.service.access import Access
from calirare.scoring.service.apart import ReadApart, _taken
from calirare.scoring.service.app import Service
from calirare.scoring.service.loading import Models
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

    monkeypatch.setattr(multiprocessing, "get_context", lambda kind: SimpleNamespace(Process=Process))
    monkeypatch.setattr(os, "nice", lambda more: done.append(f"nice {more}"))
    monkeypatch.setattr(signal, "signal", lambda *words: None)
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


def test_a_process_that_was_killed(tmp_path):
    with pytest.raises(DataError, match="ended with -9; is there memory for two models"):
        _taken(tmp_path, -9)
