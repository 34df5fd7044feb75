"""Compute what a store lacks: what is done is skipped, what finishes is stored at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from calirare.benchmark.grid import Grid
from calirare.benchmark.store import Row, RowStore, write_parquet
from calirare.benchmark.tasks import AnyTask, Asking, RowKey, run_task, without
from calirare.benchmark.work import asking
from calirare.detectors.base import Progress
from calirare.scoring.backends import mapping


@dataclass(frozen=True)
class Computed:
    """How far a run came.

    Args:
        num_before: How many finished rows were there.
        rows: Those that it made, broken and skipped ones among them.
        num_left: How many it did not come to.
    """

    num_before: int
    rows: list[Row]
    num_left: int

    @property
    def failures(self) -> list[Row]:
        """The rows that say why they are none."""
        return [row for row in self.rows if "failed" in row]


def compute(
    tasks: Sequence[AnyTask],
    asking: Asking[AnyTask],
    store: RowStore,
    *,
    any_code: bool = False,
    minutes: float = math.inf,
    backend: str = "loky",
    jobs: int = -1,
    address: str | None = None,
    announce: Callable[[float], None] | None = None,
    progress: Progress | None = None,
) -> Computed:
    """Compute the rows that the store does not hold yet, in the order of the tasks.

    Killed at any moment and started again, it goes on where it was; what broke is tried again.

    Args:
        tasks: What to compute.
        asking: How a worker opens a task.
        store: Where rows are kept.
        any_code: Rows that other code or libraries made count as done.
        minutes: Nothing is started after so many.
        backend, jobs, address: As for `calirare.scoring.backends.mapping`.
        announce: Called before the first task with the cost of all that is left.
        progress: Called after each task with the share of the cost that is done, and its title.
    """
    left = without(tasks, finished(store.read(), tasks, any_code))
    total, ahead = (sum(task.cost for task in some) for some in (tasks, left))
    if announce is not None:
        announce(ahead)
    if progress is not None:
        progress(1 - ahead / (total or 1.0), "")
    made: list[Row] = []
    work = partial(run_task, asking=asking, until=time.time() + 60 * minutes)
    if left:
        with mapping(backend, jobs, address) as run:
            for task, rows in run(work, left):
                store.add(task.file, rows)
                made += rows
                ahead -= task.cost
                if rows and progress is not None:
                    progress(round(1 - ahead / total, 6), task.file)
    num_wanted, num_left = (sum(len(task.names) for task in some) for some in (tasks, left))
    return Computed(num_wanted - num_left, made, num_left - len(made))


def finished(rows: Iterable[Row], tasks: Sequence[AnyTask], any_code: bool) -> dict[RowKey, Row]:
    """Rows by what tells them apart; with `any_code` those of other code stand in where this code has none."""
    now = {task.dataset.name: task for task in tasks}
    own = {tuple(row[name] for name in tasks[0].COLUMNS): row for row in rows if "failed" not in row} if tasks else {}
    others = {
        (*key[:-1], now[key[0]].fingerprint): row
        for key, row in own.items()
        if any_code and key[0] in now and now[key[0]].accepts(row)
    }
    return others | own


@dataclass(frozen=True)
class Results:
    """The rows of a grid, in its order, and those that say why an entry could not be computed."""

    grid: Grid
    rows: list[Row]
    failures: list[Row]
    num_reused: int
    num_computed: int


def run_grid(grid: Grid, folder: str | Path, *, any_code: bool = False, **options: Any) -> Results:
    """Compute every row of the grid that `folder` does not hold yet.

    Killed at any moment and started again, it goes on where it was; the rows come out the same, and so do the tables
    made of them.

    Args:
        grid: What to compute.
        folder: Where rows are kept.
        any_code: Rows of the same graphs and settings that other code or libraries made count as done.
        options: As for `compute`: backend, jobs, address, progress.
    """
    store = RowStore(folder)
    tasks = sorted(grid.tasks(), key=lambda task: task.cost, reverse=True)
    run = compute(tasks, asking, store, any_code=any_code, **options)
    rows = finished(store.read(), tasks, any_code)
    found = [rows[key] for key in grid.keys() if key in rows]
    if found:
        write_parquet(found, store.folder / "runs.parquet")
    return Results(grid, found, run.failures, run.num_before, len(found) - run.num_before)
