"""What there is to compute: every competitor on every graph, protocol, size and seed, the most telling first."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from calirare.benchmark.competitors import Competitor, competitors
from calirare.benchmark.leaderboard.graphs import ARENAS
from calirare.benchmark.leaderboard.protocols import PROTOCOLS, Protocol
from calirare.benchmark.leaderboard.seconds import Seconds
from calirare.benchmark.provenance import code_digest, source_digest, versions
from calirare.data.archive import file_sha256

RowKey = tuple[str, str, int, int, str, str]
"""Graph, protocol, size, seed, competitor, fingerprint: what tells one row from another."""


@dataclass(frozen=True)
class CellTask:
    """Competitors that share work, on one graph, with one draw of labels: the unit of work."""

    path: str
    graph: str
    protocol: str
    size: int
    seed: int
    group: str
    names: tuple[str, ...]
    fingerprint: str

    @property
    def file(self) -> str:
        """The name of the file of its rows."""
        group = "".join(letter if letter.isalnum() else "_" for letter in self.group)
        return f"{self.graph}-{self.protocol}-{self.size}-seed{self.seed}-{group}.jsonl"

    def key(self, name: str) -> RowKey:
        return (self.graph, self.protocol, self.size, self.seed, name, self.fingerprint)

    @property
    def cost(self) -> float:
        """Processor seconds that it takes, by earlier runs."""
        known = Seconds.known()
        return sum(known.expected(self.graph, self.protocol, self.size, name) for name in self.names)


def all_tasks(
    folder: str | Path,
    graphs: Sequence[str],
    protocols: Sequence[str],
    seeds: int,
    names: Sequence[str] = (),
    everybody: bool = False,
    full: Collection[str] = (),
) -> list[CellTask]:
    """Every task: groups with a competitor of the core first, by protocol, then seed by seed, small graphs first.

    Args:
        folder, graphs, seeds, names, everybody: As for `run`.
        protocols: Some of `PROTOCOLS`.
        full: Those with all sizes and slow competitors.
    """
    tasks = []
    for protocol in (PROTOCOLS[name] for name in protocols):
        for graph in graphs:
            if protocol.paper_only and not (graph in ARENAS and ARENAS[graph].paper):
                continue
            path = Path(folder) / f"{graph}.npz"
            for size in protocol.sizes(protocol.name in full):
                for seed in protocol.seeds(seeds):
                    for group, found in _groups(protocol, names, everybody, protocol.name in full).items():
                        tasks.append(
                            CellTask(str(path), graph, protocol.name, size, seed, group, found, fingerprint(str(path)))
                        )
    order = {name: place for place, name in enumerate(PROTOCOLS)}
    large = Seconds.known().graphs
    # Those of one draw stand together, so that a worker reads the graph and draws the labels once.
    return sorted(
        tasks,
        key=lambda task: (
            _turn(task), order[task.protocol], task.seed, large.get(task.graph, 1.0), task.graph, task.size, task.cost,
        ),
    )  # fmt: skip


def _turn(task: CellTask) -> int:
    """The core first, then everybody, then the paper's protocol, which has pages of its own, and what is slow last."""
    found = [competitors()[name] for name in task.names]
    if task.protocol == "paper":
        return 2
    return 0 if any(one.core for one in found) else 3 if found[0].slow else 1


def _groups(protocol: Protocol, names: Sequence[str], everybody: bool, full: bool) -> dict[str, tuple[str, ...]]:
    """Who takes part, those that share work together."""
    groups: dict[str, tuple[str, ...]] = {}
    for one in competitors().values():
        if one.name in names if names else everybody or takes_part(one, protocol, full):
            groups[one.group] = (*groups.get(one.group, ()), one.name)
    return groups


def takes_part(one: Competitor, protocol: Protocol, full: bool) -> bool:
    """Whether a competitor that nobody asked for by name runs: the core everywhere, the slow where everything does."""
    return one.core or protocol.everybody and (full or not one.slow)


def without(tasks: Iterable[CellTask], done: set[RowKey]) -> list[CellTask]:
    """The tasks less the rows that are done."""
    left = (replace(task, names=tuple(name for name in task.names if task.key(name) not in done)) for task in tasks)
    return [task for task in left if task.names]


@cache
def code() -> str:
    """A digest of our code and that of the competitors."""
    root = files("calirare.benchmark")
    own = [*Path(str(root), "competitors").glob("*.py")]
    own += [Path(str(root), "leaderboard", f"{name}.py") for name in ("protocols", "measures", "work")]
    return hashlib.sha256(repr([code_digest(), source_digest(own)]).encode()).hexdigest()[:12]


@cache
def fingerprint(path: str) -> str:
    """Changes when rows of this graph would: the graph, the code, the libraries."""
    shaping = [file_sha256(Path(path)), code(), sorted(versions().items())]
    return hashlib.sha256(repr(shaping).encode()).hexdigest()[:12]
