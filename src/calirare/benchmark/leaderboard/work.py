"""What a worker does for the leaderboard: draw the labels, ask each competitor of a task, judge every answer."""

from __future__ import annotations

import gc
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

import numpy as np

from calirare.benchmark.competitors import Problem, competitors
from calirare.benchmark.leaderboard.cells import CellTask
from calirare.benchmark.leaderboard.graphs import load
from calirare.benchmark.leaderboard.measures import measure
from calirare.benchmark.leaderboard.protocols import PROTOCOLS, DrawnLabels
from calirare.benchmark.provenance import peak_memory_mb, reset_peak_memory
from calirare.benchmark.store import Row
from calirare.data.graph import RareGraph
from calirare.errors import CalirareError


@contextmanager
def asking(task: CellTask) -> Iterator[Callable[[str], Row]]:
    """The function from a competitor to the numbers of its answer."""
    with warnings.catch_warnings(), _errors_only():
        warnings.simplefilter("ignore")  # competitors' libraries warn of few labels; that is what is measured
        _settle()
        before = time.process_time()
        graph, drawn = load(task.dataset.where), _draw(task.dataset.where, task.protocol, task.size, task.seed)
        if drawn is None:
            yield lambda name: {"skipped": "the graph does not have what the protocol takes"}
            return
        problem = Problem(graph, drawn.split, seed=task.seed, rare_share=drawn.rare_share, device=task.device)

        def ask(name: str) -> Row:
            nonlocal before
            row = _judge(name, problem, graph, drawn)
            row["spent"], before = time.process_time() - before, time.process_time()
            return row

        yield ask


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


@cache
def _settle() -> None:
    """What was imported stays; a collection before every run need not look at it again."""
    gc.collect()
    gc.freeze()


@lru_cache(maxsize=1)
def _draw(path: str, protocol: str, size: int, seed: int) -> DrawnLabels | None:
    """Each process keeps the last; one protocol fits a model to draw."""
    return PROTOCOLS[protocol].draw(load(path), size, seed)


def _judge(name: str, problem: Problem, graph: RareGraph, drawn: DrawnLabels) -> Row:
    """The numbers of one competitor."""
    gc.collect()
    reset_peak_memory()
    problem.borrowed, started = 0.0, time.process_time()
    try:
        answer = competitors()[name].answer(problem)
    except CalirareError:
        raise
    except Exception as error:  # a competitor is code of others: whatever it raises is its own result
        raise CalirareError(f"{type(error).__name__}: {error}"[:300]) from error
    seconds = time.process_time() - started + problem.borrowed
    test = drawn.split.test
    truth = None if graph.true_probability is None else graph.true_probability[test]
    rare, rare_labels = graph.y[test] == 1, graph.y[drawn.split.labelled] == 1
    return {
        **measure(answer, rare.astype(np.int64), test, truth),
        "seconds": seconds if problem.device == "cpu" else math.nan,  # processor time says nothing of a GPU
        "memory_mb": peak_memory_mb(),
        "num_labels": int(rare_labels.size),
        "num_rare_labels": int(rare_labels.sum()),
        "num_test": int(rare.size),
        "num_rare_test": int(rare.sum()),
    }
