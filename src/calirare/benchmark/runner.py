"""Run a grid: what is done is skipped, what finishes is stored at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from calirare.benchmark.grid import Grid, GridTask, RowKey, without
from calirare.benchmark.store import RowStore, key_of
from calirare.benchmark.work import Failure, Row, run_task
from calirare.detectors.base import Progress
from calirare.estimator.methods import methods
from calirare.scoring.backends import mapping

_FOLDS = 5
_USUAL_SIZE = {"cora": 0.3, "citeseer": 0.35, "pubmed": 1.0, "dblp": 1.0, "facebook": 1.3}
"""Rough relative seconds by graph, for the progress bar and for what to start first."""


@dataclass(frozen=True)
class Results:
    """The rows of a grid, in its order, and what could not be computed."""

    grid: Grid
    rows: list[Row]
    failures: list[Failure]
    num_reused: int
    num_computed: int


def run_grid(
    grid: Grid,
    folder: str | Path,
    *,
    backend: str = "loky",
    jobs: int = -1,
    address: str | None = None,
    any_code: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Compute every row of the grid that `folder` does not hold yet.

    Killed at any moment and started again, it goes on where it was; the rows come out the same, and so do the tables
    made of them.

    Args:
        grid: What to compute.
        folder: Where rows are kept.
        backend: `"loky"` or `"ray"`, see `calirare.scoring.backends`.
        jobs: Processes; -1: all cores.
        address: Of a Ray cluster.
        any_code: Rows of the same graphs and settings that other code or libraries made count as done.
        progress: Called after each task.
    """
    store = RowStore(folder)
    tasks = grid.tasks()
    wanted = [task.row_key(entry) for task in tasks for entry in task.entries]
    before = _by_key(grid, store.read(), any_code).keys()
    left = sorted(without(tasks, set(before)), key=expected_cost, reverse=True)
    failures: list[Failure] = []
    total = sum(expected_cost(task) for task in tasks) or 1.0
    done = total - sum(expected_cost(task) for task in left)
    if progress is not None:
        progress(done / total, "")
    if left:
        with mapping(backend, jobs, address) as run:
            for outcome in run(run_task, left):
                store.add(outcome.task, outcome.rows)
                failures.extend(outcome.failures)
                done += expected_cost(outcome.task)
                if progress is not None:
                    progress(done / total, outcome.task.name.rpartition("-")[0])
    rows = _by_key(grid, store.read(), any_code)
    found = [rows[key] for key in _in_order(grid, wanted) if key in rows]
    if found:
        store.merge(found)
    reused = sum(key in before for key in wanted)
    return Results(grid, found, failures, reused, len(found) - reused)


def _by_key(grid: Grid, rows: Iterable[Row], any_code: bool) -> dict[RowKey, Row]:
    """Rows by what tells them apart; with `any_code` those of other code stand in where this code has none."""
    own = {key_of(row): row for row in rows}
    if not any_code:
        return own
    sources = {source.name: source for source in grid.datasets}
    others = {
        (*key[:4], grid.fingerprint(sources[key[0]])): row
        for key, row in own.items()
        if key[0] in sources
        and row["protocol"] == sources[key[0]].protocol
        and json.loads(row["settings"]) == grid.settings.training | {"seed": row["seed"]}
    }
    return others | own


def _in_order(grid: Grid, keys: list[RowKey]) -> list[RowKey]:
    """By dataset, labels per class, method as listed, seed."""
    datasets = {source.name: row for row, source in enumerate(grid.datasets)}
    entries = {entry.key: row for row, entry in enumerate(grid.entries)}
    return sorted(keys, key=lambda key: (datasets[key[0]], key[1], entries[key[3]], key[2]))


def expected_cost(task: GridTask) -> float:
    """Rough cost of a task in units of one training on PubMed; only orders the work and moves the bar."""
    size = _USUAL_SIZE.get(task.dataset.name, 1.0)
    trainings = 1.0
    for entry in task.entries:
        method = methods().get(entry.method)  # a researcher's own method is not in this process's registry
        trainings += _FOLDS * (method is not None and method.evidence == "cross_fit")
        trainings += method is not None and method.refinement is not None
    if task.entries[0].method == "calirare":
        trainings += 2
    if task.entries[0].detector == "gat":
        trainings *= 10
    return size * trainings
