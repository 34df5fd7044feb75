"""From a user's words to a grid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calirare.benchmark.grid import Entry, Grid, Settings, calibration_entries, classification_entries
from calirare.benchmark.sources import DatasetSource, MethodSource
from calirare.data.catalogue.benchmarks import PROTOCOLS, list_benchmarks
from calirare.data.graph import RareGraph
from calirare.errors import InputError


def choose_datasets(names: str, own: Sequence[str] = (), protocol: str = "default") -> tuple[DatasetSource, ...]:
    """Benchmark graphs by name (`"all"`: the paper's five, `"none"`, or separated by commas) and a researcher's own.

    >>> [source.title for source in choose_datasets("dblp,cora")]
    ['DBLP', 'Cora']
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"protocol must be one of {list(PROTOCOLS)}; got {protocol!r}.")
    known = [entry.name for entry in list_benchmarks() if entry.paper]
    chosen = {"all": known, "none": []}.get(names, split_words(names))
    return tuple(DatasetSource.parse(name, protocol) for name in [*chosen, *own])


def choose_entries(table: str, names: str, own: Sequence[str] = ()) -> tuple[Entry, ...]:
    """The lines of a table: its own (`"all"`), none, or those named; and a researcher's own methods.

    >>> [str(entry) for entry in choose_entries("calibration", "uncalibrated,jackknife:balanced")]
    ['uncalibrated', 'jackknife:balanced']
    """
    usual = calibration_entries() if table == "calibration" else classification_entries()
    named = tuple(Entry.parse(word) for word in split_words(names))
    chosen = {"all": usual, "none": ()}.get(names, named)
    added = tuple(Entry(MethodSource.parse(word).load().name) for word in own)
    return tuple(dict.fromkeys([*chosen, *added]))


def make_grid(
    *,
    datasets: Sequence[DatasetSource],
    entries: Sequence[Entry],
    own_methods: Sequence[str] = (),
    labels: Sequence[int] = (20, 30, 40),
    seeds: int = 5,
    epochs: int | None = None,
    device: str = "cpu",
) -> Grid:
    """A grid with the paper's settings."""
    return Grid(
        datasets=tuple(datasets),
        entries=tuple(dict.fromkeys(entries)),
        labels=tuple(labels),
        seeds=seeds,
        settings=Settings(device=device) if epochs is None else Settings(epochs=epochs, device=device),
        own_methods=tuple(MethodSource.parse(word) for word in own_methods),
    )


def keep_graph(graph: RareGraph, folder: str | Path) -> DatasetSource:
    """A graph made in Python (from PyG, from tables) as a source: it is written to `folder/graphs`."""
    path = Path(folder) / "graphs" / f"{graph.name}.npz"
    graph.save(path)
    return DatasetSource.parse(str(path))


def whole_numbers(words: str, name: str) -> tuple[int, ...]:
    """Numbers separated by commas, each once, ascending.

    >>> whole_numbers("30,20", "labels")
    (20, 30)
    """
    try:
        return tuple(sorted({int(word) for word in split_words(words)}))
    except ValueError:
        raise InputError(f"{name} must be whole numbers separated by commas; got {words!r}.") from None


def split_words(words: str) -> list[str]:
    """Words separated by commas, spaces around them dropped."""
    return [word.strip() for word in words.split(",") if word.strip()]
