"""What a worker does: draw the labels, ask each competitor of a task, judge and store every answer at once."""

from __future__ import annotations

import gc
import logging
import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from calirare.benchmark.competitors import Answer, Problem, competitors
from calirare.benchmark.leaderboard.cells import CellTask, code
from calirare.benchmark.leaderboard.graphs import load
from calirare.benchmark.leaderboard.measures import measure
from calirare.benchmark.leaderboard.protocols import PROTOCOLS, DrawnLabels
from calirare.benchmark.leaderboard.rows import RUN, Row, add_row
from calirare.benchmark.provenance import peak_memory_mb, reset_peak_memory, versions
from calirare.benchmark.work import one_thread
from calirare.data.graph import RareGraph
from calirare.errors import CalirareError


@dataclass(frozen=True)
class Order:
    """A task, where its rows go, until when something may be started (seconds since 1970), and where networks train."""

    task: CellTask
    folder: str
    until: float
    device: str = "cpu"


@dataclass(frozen=True)
class Done:
    """What came of an order: how many rows were stored, and why others were not."""

    task: CellTask
    num_rows: int
    failures: tuple[str, ...]


@contextmanager
def _errors_only() -> Iterator[None]:
    """Our own warnings speak of few labels too."""
    ours = logging.getLogger("calirare")
    level = ours.level
    ours.setLevel(logging.ERROR)
    try:
        yield
    finally:
        ours.setLevel(level)


def run_order(order: Order) -> Done:
    """Deterministic: one thread, one seed. A row is stored as soon as it is there; who breaks does not stop the others."""
    task, stored, failures = order.task, 0, []
    if time.time() > order.until:
        return Done(task, 0, ())
    with one_thread(), warnings.catch_warnings(), _errors_only():
        warnings.simplefilter("ignore")  # competitors' libraries warn of few labels; that is what is measured
        _settle()
        before = time.process_time()
        graph, drawn = load(task.path), _draw(task.path, task.protocol, task.size, task.seed)
        if drawn is None:
            for name in task.names:
                skipped = {"skipped": "the graph does not have what the protocol takes"}
                add_row(order.folder, task.file, _facts(task, name) | skipped)
            return Done(task, 0, ())
        problem = Problem(graph, drawn.split, seed=task.seed, rare_share=drawn.rare_share, device=order.device)
        for name in task.names:
            if time.time() > order.until:
                break
            try:
                row = run_one(task, name, problem, graph, drawn)
            except Exception as error:  # a competitor is code of others: whatever it raises is its own result
                failures.append(_failed(order, name, error))
                continue
            now = time.process_time()
            add_row(order.folder, task.file, row | {"spent": now - before})
            before = now
            stored += 1
    return Done(task, stored, tuple(failures))


def _failed(order: Order, name: str, error: Exception) -> str:
    """Store that a run broke, and say where and why."""
    task = order.task
    said = str(error) if isinstance(error, CalirareError) else f"{type(error).__name__}: {error}"
    said = " ".join(said.split())[:300]
    add_row(order.folder, task.file, _facts(task, name) | {"failed": said})
    return f"{task.graph}, {task.protocol} {task.size}, seed {task.seed}, {name}: {said}"


@cache
def _settle() -> None:
    """What was imported stays; a collection before every run need not look at it again."""
    gc.collect()
    gc.freeze()


@lru_cache(maxsize=1)
def _draw(path: str, protocol: str, size: int, seed: int) -> DrawnLabels | None:
    """Each process keeps the last; one protocol fits a model to draw."""
    return PROTOCOLS[protocol].draw(load(path), size, seed)


def run_one(task: CellTask, name: str, problem: Problem, graph: RareGraph, drawn: DrawnLabels) -> Row:
    """The row of one competitor."""
    gc.collect()
    reset_peak_memory()
    problem.borrowed, started = 0.0, time.process_time()
    answer: Answer = competitors()[name].answer(problem)
    seconds = time.process_time() - started + problem.borrowed
    test = drawn.split.test
    truth = None if graph.true_probability is None else graph.true_probability[test]
    labels = graph.y[drawn.split.labelled]
    where = {} if problem.device == "cpu" else {"versions": versions() | {"device": problem.device}}
    return (
        _facts(task, name)
        | where
        | {
            **measure(answer, (graph.y[test] == 1).astype(np.int64), test, truth),
            "seconds": seconds if problem.device == "cpu" else math.nan,  # processor time says nothing of a GPU
            "memory_mb": peak_memory_mb(),
            "num_labels": int(labels.size),
            "num_rare_labels": int((labels == 1).sum()),
            "num_test": int(test.size),
            "num_rare_test": int((graph.y[test] == 1).sum()),
        }
    )


def _facts(task: CellTask, name: str) -> Row:
    key = dict(zip((*RUN, "fingerprint"), task.key(name), strict=True))
    return key | {"code": code(), "versions": versions()}
