"""Compute what the store lacks, within a time, and stop cleanly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calirare.benchmark.competitors import competitors
from calirare.benchmark.leaderboard.cells import all_tasks
from calirare.benchmark.leaderboard.graphs import list_graphs
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.leaderboard.work import asking
from calirare.benchmark.runner import compute
from calirare.benchmark.store import RowStore
from calirare.errors import InputError, nearest


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
    seeds: int = 3,
    device: str = "cpu",
    **options: Any,
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
        seeds: Draws of labels for every cell.
        device: Where our networks and those as trained run; their seconds are not kept unless it is the CPU.
        options: As for `calirare.benchmark.runner.compute`; costs are processor seconds by earlier runs.
    """
    full = PROTOCOLS if everything else protocols
    wanted = _known(names, list(competitors())) if names else []
    tasks = all_tasks(
        graphs_folder, _known(graphs, list_graphs(graphs_folder)), _known(protocols, list(PROTOCOLS)), seeds, wanted,
        everybody, full, device,
    )  # fmt: skip
    found = compute(tasks, asking, RowStore(store), **options)
    told = (
        f"{row['graph']}, {row['protocol']} {row['size']}, seed {row['seed']}, {row['competitor']}: {row['failed']}"
        for row in found.failures
    )
    computed = sum("failed" not in row and "skipped" not in row for row in found.rows)
    return RunOutcome(found.num_before, computed, found.num_left, tuple(told))


def _known(asked: Sequence[str], there: Sequence[str]) -> list[str]:
    for name in asked:
        if name not in there:
            raise InputError(f"there is no {name!r}: {nearest(name, there)} There are: {'; '.join(there)}.")
    return [name for name in there if not asked or name in asked]
