"""What there is to compute: every competitor on every graph, protocol, size and seed, the most telling first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from calirare.benchmark.competitors import Competitor, competitors
from calirare.benchmark.leaderboard.graphs import ARENAS
from calirare.benchmark.leaderboard.protocols import PROTOCOLS, Protocol
from calirare.benchmark.provenance import code_digest, digest, versions
from calirare.benchmark.seconds import Seconds
from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.store import Row
from calirare.benchmark.tasks import Task


@dataclass(frozen=True)
class CellTask(Task):
    """Competitors that share work; `device`: where networks that stand alone train."""

    COLUMNS = ("graph", "protocol", "size", "seed", "competitor", "fingerprint")

    device: str = "cpu"

    @property
    def cost(self) -> float:
        """Processor seconds that it takes, by earlier runs."""
        known = Seconds.known()
        return sum(known.expected(self.dataset.name, self.protocol, self.size, name) for name in self.names)

    def facts(self, name: object) -> Row:
        where = {} if self.device == "cpu" else {"device": self.device}
        return super().facts(name) | {"code": code(), "versions": versions() | where}


def all_tasks(
    folder: str | Path,
    graphs: Sequence[str],
    protocols: Sequence[str],
    seeds: int,
    names: Sequence[str] = (),
    everybody: bool = False,
    full: Collection[str] = (),
    device: str = "cpu",
) -> list[CellTask]:
    """Every task: groups with a competitor of the core first, by protocol, then seed by seed, small graphs first.

    Args:
        folder, graphs, seeds, names, everybody, device: As for `run`.
        protocols: Some of `PROTOCOLS`.
        full: Those with all sizes and slow competitors.
    """
    sources = [DatasetSource.parse(str(Path(folder) / f"{graph}.npz")) for graph in graphs]
    fingerprints = {source: digest(source.fingerprint, code(), versions()) for source in sources}
    tasks = [
        CellTask(source, protocol.name, size, seed, group, found, fingerprint, device)
        for protocol in (PROTOCOLS[name] for name in protocols)
        for source, fingerprint in fingerprints.items()
        if not protocol.paper_only or source.name in ARENAS and ARENAS[source.name].paper
        for size in protocol.sizes(protocol.name in full)
        for seed in protocol.seeds(seeds)
        for group, found in _groups(protocol, names, everybody, protocol.name in full).items()
    ]
    order = {name: place for place, name in enumerate(PROTOCOLS)}
    large = Seconds.known().graphs
    # Those of one draw stand together, so that a worker reads the graph and draws the labels once.
    return sorted(
        tasks,
        key=lambda task: (
            _turn(task), order[task.protocol], task.seed, large.get(task.dataset.name, 1.0), task.dataset.name, task.size,
            task.cost,
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


def code() -> str:
    """A digest of our code and that of the competitors."""
    own = (f"benchmark/leaderboard/{name}.py" for name in ("protocols", "measures", "work"))
    return code_digest("benchmark/competitors", *own)[:12]
