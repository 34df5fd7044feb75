"""A user's own graphs beside the benchmark graphs, in the same folder on disk."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from calirare.data.catalogue.download import data_folder
from calirare.data.catalogue.entries import BENCHMARKS
from calirare.data.graph import RareGraph
from calirare.errors import InputError

TAKEN = (*BENCHMARKS, "amlsim", "bitcoin_otc", "transactions", "transactions_2")
"""Names of graphs that come with the package; a user's own graph may not take one of them."""


def add_own(name: str, graph: RareGraph, cache_dir: str | Path | None = None, *, replaces: bool = False) -> Path:
    """Keep a graph under a name; where it is kept.

    Args:
        name: Letters, digits and underscores; none of `TAKEN`.
        graph: With its labels.
        cache_dir: As in `load_benchmark`.
        replaces: Whether it may take the place of one of the same name.

    >>> import tempfile
    >>> from calirare.data.synthetic import make_transactions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = add_own("mine", make_transactions(300, seed=0), folder)
    ...     [name for name, kept in list_own(folder).items() if kept == path]
    ['mine']
    """
    if not re.fullmatch(r"[A-Za-z0-9]\w{0,63}", name) or name.lower() in TAKEN:
        raise InputError(
            f"name must be up to 64 letters, digits and underscores, and none of {sorted(TAKEN)}; got {name!r}."
        )
    path = data_folder(cache_dir) / "own" / f"{name}.npz"
    if path.exists() and not replaces:
        raise InputError(f"there is a graph {name!r} already, {path}; choose another name, or add --force.")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(graph, name=name).save(path)
    return path


def list_own(cache_dir: str | Path | None = None) -> dict[str, Path]:
    """The files of a user's own graphs by the names of the graphs."""
    return {path.stem: path for path in sorted((data_folder(cache_dir) / "own").glob("*.npz"))}
