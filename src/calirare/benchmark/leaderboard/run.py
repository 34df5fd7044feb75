"""Compute what the store lacks, within a time, and stop cleanly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from calirare.benchmark.competitors import competitors
from calirare.benchmark.leaderboard.cells import CellTask, RowKey, all_tasks, without
from calirare.benchmark.leaderboard.graphs import list_graphs
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.leaderboard.rows import RUN, read_rows
from calirare.benchmark.leaderboard.work import Done, Order, run_order
from calirare.detectors.base import Progress
from calirare.errors import InputError, nearest
from calirare.scoring.backends import mapping


@dataclass(frozen=True)
class RunOutcome:
    """How far a run came: rows that were there, that it computed, that it did not come to, and why others broke."""

    num_before: int
    num_computed: int
    num_left: int
    failures: tuple[str, ...]


def run(
    graphs_folder: str | Path,
    store: str | Path,
    *,
    graphs: Sequence[str] = (),
    protocols: Sequence[str] = (),
    names: Sequence[str] = (),
    everything: bool = False,
    everybody: bool = False,
    any_code: bool = False,
    seeds: int = 3,
    jobs: int = -1,
    minutes: float = 1e9,
    backend: str = "loky",
    address: str | None = None,
    device: str = "cpu",
    announce: Callable[[float], None] | None = None,
    progress: Progress | None = None,
) -> RunOutcome:
    """Go on with the leaderboard in `store`. Stopped at any moment and called again, it continues where it was; what broke
    is tried again.

    Without being asked for more: with a tenth labelled everybody who is not slow, the core with the usual numbers of rare labels and in
    the other protocols but the paper's. A protocol asked for by name runs in full.

    Args:
        graphs_folder: With the prepared graphs (`graphs.prepare`).
        store: Where rows are kept, as JSON lines.
        graphs, protocols, names: Some of the graphs, protocols, competitors; default: all.
        everything: Every protocol in full: all sizes, the paper's, and with a tenth labelled the slow competitors.
        everybody: Every competitor in every protocol, not only with a tenth labelled.
        any_code: Rows that other code or libraries made count as done.
        seeds: Draws of labels for every cell.
        jobs: Processes; -1: all cores.
        minutes: Nothing is started after so many.
        backend, address: As for `calirare.scoring.backends.mapping`.
        device: Where our networks and those as trained run; their seconds are not kept unless it is the CPU.
        announce: Called before the first task with the processor seconds that all of them took in earlier runs.
        progress: Called after each task with the share of these seconds that is done, and a line on the last task.
    """
    full = PROTOCOLS if everything else protocols
    wanted = _known(names, list(competitors())) if names else []
    tasks = all_tasks(
        graphs_folder, _known(graphs, list_graphs(graphs_folder)), _known(protocols, list(PROTOCOLS)), seeds, wanted,
        everybody, full,
    )  # fmt: skip
    Path(store).mkdir(parents=True, exist_ok=True)
    left = without(tasks, _done(store, tasks, any_code))
    seconds, until = sum(task.cost for task in left), time.time() + 60 * minutes
    if announce is not None:
        announce(seconds)
    with mapping(backend, jobs, address) as each:
        outcomes = each(run_order, [Order(task, str(store), until, device) for task in left])
        computed, failures = _followed(outcomes, seconds, progress)
    remaining = without(tasks, _done(store, tasks, any_code))
    return RunOutcome(_num_rows(tasks) - _num_rows(left), computed, _num_rows(remaining) - len(failures), failures)


def _num_rows(tasks: Iterable[CellTask]) -> int:
    return sum(len(task.names) for task in tasks)


def _done(store: str | Path, tasks: Iterable[CellTask], any_code: bool) -> set[RowKey]:
    """The rows that need not be computed."""
    told = {task.graph: task.fingerprint for task in tasks} if any_code else {}
    rows = [row for row in read_rows(store) if "failed" not in row]
    return {(*(row[name] for name in RUN), told.get(row["graph"], row["fingerprint"])) for row in rows}


def _followed(outcomes: Iterable[Done], seconds: float, progress: Progress | None) -> tuple[int, tuple[str, ...]]:
    """How many rows were stored, and why others were not; `seconds`: of all tasks, as expected."""
    began, passed, computed, failures = time.time(), 0.0, 0, list[str]()
    for outcome in outcomes:
        computed += outcome.num_rows
        passed += outcome.task.cost
        failures.extend(outcome.failures)
        if progress is not None and (outcome.num_rows or outcome.failures):
            words = f"{time.time() - began:5.0f} s  {outcome.task.file.removesuffix('.jsonl')}"
            progress(passed / seconds, words)
    return computed, tuple(failures)


def _known(asked: Sequence[str], there: Sequence[str]) -> list[str]:
    for name in asked:
        if name not in there:
            raise InputError(f"there is no {name!r}: {nearest(name, there)} There are: {'; '.join(there)}.")
    return [name for name in there if not asked or name in asked]
