"""How many threads: those asked for, else the cores that the process may use."""

from __future__ import annotations

import os

import pytest

from calirare.detectors.threads import threads_of


def test_cores_of_the_process_where_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 5, 7}, raising=False)
    assert threads_of(None) == 3 and threads_of(2) == 2


@pytest.mark.parametrize(("cores", "threads"), [(6, 6), (None, 1)])
def test_else_cores_of_the_machine(monkeypatch: pytest.MonkeyPatch, cores: int | None, threads: int) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert threads_of(None) == threads
