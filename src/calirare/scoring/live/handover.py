"""Scores that one process has made ready, taken over by another: the model, arrays in a file that is mapped, and JSON.

Both processes are ours and the folder is private. Still, reading makes objects of the classes listed here and no others.
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.cell_users import CellUsers
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.inputs import choose_device
from calirare.data.split import Split
from calirare.estimator.classifier import load
from calirare.features.relations import Relation
from calirare.scoring.live.base import Standing
from calirare.scoring.live.cores import PeelingOrder
from calirare.scoring.live.links import Links
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.live.structure import Structure
from calirare.scoring.live.update import NodeNames
from calirare.scoring.verdicts import Verdicts

_CLASSES = {kind.__name__: kind for kind in (CellUsers, EdgeColumn, EdgeTable, Links, PeelingOrder, RareGraph, Relation, Split, Standing, Structure)}  # fmt: skip
_OURS = "recipe"
"""Belongs to the model, which both processes read."""
_ALIGNED = 64


def hand_over(live: LiveScores, folder: Path) -> None:
    """Write what `take_over` needs."""
    live.classifier.save(folder / "model")
    with (folder / "arrays").open("wb") as file:
        said = {"coverage": live.verdicts.coverage, "table": live.table, "standing": live.standing}
        (folder / "contents.json").write_text(json.dumps(_Writer(file).plain(said)), encoding="utf-8")


def take_over(folder: Path) -> LiveScores:
    """The scores that another process made. The files may go when this has returned: the map keeps what it shows."""
    with (folder / "arrays").open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    said = _Reader(mapped).value(json.loads((folder / "contents.json").read_text(encoding="utf-8")))
    live, classifier = object.__new__(LiveScores), load(folder / "model")
    live.classifier, live.standing, live.table = classifier, said["standing"], said["table"]
    live.graph = live.standing.graph
    live.names, live.device = NodeNames(live.graph), choose_device(classifier.device)
    live.verdicts = Verdicts.of(classifier, coverage=said["coverage"])
    classifier.detector_.to(live.device)
    if classifier.state_.recipe is not None:
        live.standing.recipe = classifier.state_.recipe.at(live.graph.edges)
    return live


class _Writer:
    """Puts arrays into a file, each once, and leaves their places in what is said."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.places: dict[int, tuple[np.ndarray, int]] = {}  # with the array, so that its number stays its own

    def plain(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            array = value.astype(str) if value.dtype.hasobject else value
            return {"array": [array.dtype.str, list(array.shape), self.place(value, array)]}
        if isinstance(value, sp.csr_array):
            return {"csr": [self.plain(part) for part in (value.data, value.indices, value.indptr, value.shape)]}
        if isinstance(value, dict):
            return {"dict": [[self.plain(key), self.plain(one)] for key, one in value.items()]}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.plain(one) for one in value]}
        if type(value).__name__ in _CLASSES:
            held = {name: one for name, one in vars(value).items() if name != _OURS}
            return {type(value).__name__: self.plain(held)}
        return value.item() if isinstance(value, np.generic) else value

    def place(self, value: np.ndarray, array: np.ndarray) -> int:
        if id(value) not in self.places:
            self.file.write(b"\0" * (-self.file.tell() % _ALIGNED))
            self.places[id(value)] = value, self.file.tell()
            self.file.write(array.tobytes())
        return self.places[id(value)][1]


class _Reader:
    """The way back: arrays lie in the map."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self.mapped = mapped

    def value(self, said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        ((kind, held),) = said.items()
        if kind == "array":
            dtype, shape, start = held
            count = int(np.prod(shape, dtype=np.int64))
            return np.frombuffer(self.mapped, dtype, count, start).reshape(shape) if count else np.empty(shape, dtype)
        if kind == "csr":
            data, indices, indptr, shape = map(self.value, held)
            return sp.csr_array((data, indices, indptr), shape=shape)
        if kind == "dict":
            return {self.value(key): self.value(one) for key, one in held}
        if kind in ("list", "tuple"):
            found = [self.value(one) for one in held]
            return found if kind == "list" else tuple(found)
        one = object.__new__(_CLASSES[kind])
        vars(one).update(self.value(held))  # it was checked where it was made
        return one
