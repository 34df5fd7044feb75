"""How many threads: those asked for, else the cores that the process may use."""

from __future__ import annotations

import os

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from calirare.detectors.threads import blas_for, threads_of


def test_cores_of_the_process_where_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 5, 7}, raising=False)
    assert threads_of(None) == 3 and threads_of(2) == 2


@pytest.mark.parametrize(("cores", "threads"), [(6, 6), (None, 1)])
def test_else_cores_of_the_machine(monkeypatch: pytest.MonkeyPatch, cores: int | None, threads: int) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert threads_of(None) == threads


@pytest.mark.parametrize(("labels", "one"), [(100, True), (10**6, False)])
def test_few_labels_are_fitted_with_one_thread_of_blas(labels: int, one: bool) -> None:
    def counts() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        with blas_for(labels):
            assert counts() == [1 if one else 2] * len(counts())
        assert counts() == [2] * len(counts()) and counts()
