"""The graphs of the leaderboard, each as one file that any machine can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from calirare.data.against_rest import rare_or_not
from calirare.data.catalogue.benchmarks import load_benchmark
from calirare.data.catalogue.download import data_folder
from calirare.data.catalogue.entries import BENCHMARKS
from calirare.data.catalogue.own import list_own
from calirare.data.graph import RareGraph
from calirare.data.synthetic import make_transactions
from calirare.errors import DataError, InputError, nearest


@dataclass(frozen=True)
class Arena:
    """One graph of the leaderboard.

    Args:
        name: Its file.
        title: What tables call it.
        make: Makes it from what the data folder holds.
        paper: Whether it is one of the paper's five, with original classes and perhaps a public split.
    """

    name: str
    title: str
    make: Callable[[Path], RareGraph]
    paper: bool = False


def _from_catalogue(name: str) -> Callable[[Path], RareGraph]:
    return lambda folder: load_benchmark(name, cache_dir=folder)


def _amlsim(folder: Path) -> RareGraph:
    from calirare.data.tables.reading import read_tables

    where = folder / "tables" / "amlsim_fanin"
    # fraudStep is filled for frauds alone: it gives the label away.
    return read_tables(where / "nodes.csv", where / "edges.csv", label="isFraud", rare="1", types={"fraudStep": "ignore"},
                       time="time")  # fmt: skip


def _bitcoin_otc(folder: Path) -> RareGraph:
    from calirare.data.tables.reading import read_tables

    where = folder / "tables" / "bitcoin_otc"
    return read_tables(where / "nodes.csv", where / "edges.csv", label="trust", rare="bad", time="time")


ARENAS: dict[str, Arena] = {
    arena.name: arena
    for arena in (
        *(Arena(name, entry.title, _from_catalogue(name), entry.paper) for name, entry in BENCHMARKS.items()),
        Arena("amlsim", "AMLSim", _amlsim),
        Arena("bitcoin_otc", "Bitcoin-OTC", _bitcoin_otc),
        Arena("transactions", "Generated, 5% rare", lambda _: make_transactions(5_000, seed=1)),
        Arena("transactions_2", "Generated, 2% rare", lambda _: make_transactions(10_000, rare_share=0.02, seed=2)),
    )
}
"""The graphs by name, in the order of the tables."""


def prepare(out: str | Path, names: Sequence[str] = (), data: str | Path | None = None) -> list[Path]:
    """Write the graphs into a folder, one `.npz` each; those that are there stay. The tables need polars, the rest not.

    Args:
        out: The folder.
        names: Some of `ARENAS` and of the graphs that `calirare datasets add` keeps; default: all of them.
        data: The data folder, as in `load_benchmark`.
    """
    own = list_own(data)
    paths = []
    for name in names or [*ARENAS, *own]:
        if name not in ARENAS and name not in own:
            raise InputError(f"there is no graph {name!r} to prepare: {nearest(name, [*ARENAS, *own])}")
        path = Path(out) / f"{name}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            graph = RareGraph.load(own[name]) if name in own else ARENAS[name].make(data_folder(data))
            replace(graph, name=name, schema=None).save(path)
        paths.append(path)
    return paths


def list_graphs(folder: str | Path) -> list[str]:
    """The prepared graphs: the known ones in their order, then a user's own by name."""
    found = {path.stem for path in Path(folder).glob("*.npz")}
    if not found:
        raise DataError(f"{folder} holds no graphs; run: python -m calirare.benchmark.leaderboard prepare {folder}")
    return [name for name in ARENAS if name in found] + sorted(found - set(ARENAS))


@lru_cache(maxsize=1)
def load(path: str) -> RareGraph:
    """A prepared graph, one class against the rest; each process keeps the last."""
    graph = RareGraph.load(path)
    if graph.num_classes > 2:
        graph = graph.against_rest()
    return replace(graph, y=rare_or_not(graph.y, graph.rare_class), rare_class=1, class_names=("normal", "rare"))


def title(name: str) -> str:
    """What tables call a graph.

    >>> title("cora"), title("mine")
    ('Cora', 'mine')
    """
    return ARENAS[name].title if name in ARENAS else name
