"""The passes over the parts of a graph that give every node its scores."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import softmax

from calirare.data.archive import write_atomically
from calirare.data.inputs import Features
from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.data.tables.export import write_csv, write_parquet
from calirare.detectors.networks.layerwise import Layers, PartInputs
from calirare.errors import NumericalError
from calirare.estimator.fitting import choose_device
from calirare.scoring.table import name_sets
from calirare.uncertainty.conformal import conformal_sets, conformal_thresholds
from calirare.uncertainty.jackknife import bounds_of_class

if TYPE_CHECKING:
    from calirare.calibration import Calibrator
    from calirare.estimator.classifier import RareCategoryClassifier

Block = tuple[int, int]
"""First of some left-out models, and the one after the last."""
_TOP_ROWS = 10


@dataclass(frozen=True, eq=False)
class PartScorer:
    """What a process needs to score parts: the model, its left-out models, and where the files are.

    Each pass is a method of a part's place; a pass begins when the one before has ended for all parts.
    """

    layers: Layers
    calibrator: Calibrator | None
    decision: Calibrator | None
    class_names: tuple[str, ...]
    rare_class: int
    thresholds: np.ndarray
    directions: np.ndarray
    residuals: np.ndarray
    coverage: float
    width: int
    most_columns: int
    device: str
    parts: Partitions = None  # type: ignore[assignment]
    ending: str = ".parquet"

    def on(self, parts: Partitions, ending: str) -> PartScorer:
        """The same on a graph, writing files of that ending; makes the files that the parts share."""
        scorer = replace(self, parts=parts, ending=ending)
        for file in (scorer._passed, scorer._logits, scorer._moved):
            RowFile.create(file.path, file.num_rows, file.width)
        return scorer

    def blocks(self) -> list[Block]:
        """The left-out models, as many at a time as may cross a halo."""
        size, count = max(1, self.most_columns // self.width), len(self.directions)
        return [(start, min(start + size, count)) for start in range(0, count, size)]

    # The passes

    @torch.no_grad()
    def first_layer(self, place: int) -> None:
        """What each node passes to its neighbours."""
        inputs, own, near = self._first_inputs(place, again=False)
        self._passed.write(inputs.part.start, _array(self.layers(0, own, near, inputs)))

    @torch.no_grad()
    def second_layer(self, place: int) -> None:
        """The logits."""
        inputs = self._inputs(place)
        own, near = self._gathered(inputs, self._passed)
        logits = _array(self.layers(1, own, near, inputs))
        if not np.isfinite(logits).all():
            raise NumericalError("the model gives NaN or infinite logits; scale the features and the edge weights.")
        self._logits.write(inputs.part.start, logits)

    def move_first(self, block: Block, place: int) -> None:
        """How far what a node passes moves with the parameters, for each left-out model of the block."""
        inputs, own, near = self._first_inputs(place, again=True)
        moved = self.layers.push(0, own, near, inputs, self._directions(block))
        self._moved_in(block).write(inputs.part.start, _array(moved).reshape(inputs.num_nodes, -1))

    def move_second(self, block: Block, place: int) -> None:
        """P(rare) of each node by the left-out models of the block."""
        inputs = self._inputs(place)
        own, near = self._gathered(inputs, self._passed)
        shape = (-1, block[1] - block[0], self.width)
        own_moves, near_moves = self._gathered(inputs, self._moved_in(block))
        tangents = own_moves.reshape(shape), near_moves.reshape(shape)
        shifted = self.layers.push(1, own, near, inputs, self._directions(block), tangents)
        shifted -= shifted.mean(dim=2, keepdim=True)  # probabilities do not see a constant
        start, stop = self.parts.cuts[place : place + 2]
        shifted += torch.from_numpy(self._logits.read(start, stop)).to(shifted)[:, None]
        if not bool(shifted.isfinite().all()):
            raise NumericalError(
                "the left-out models give NaN or infinite logits; fit with more weight_decay, or use --no-intervals."
            )
        if self.calibrator is None:
            found = shifted.softmax(dim=-1)[..., self.rare_class]
        else:
            found = self.calibrator.predict_class(shifted, self.rare_class)
        np.save(self._left_out(place, block), _array(found).astype(np.float32))

    def write_scores(self, place: int) -> dict[str, np.ndarray]:
        """The part's rows as a shard of the output; gives those with the highest probability, and their nodes."""
        columns = self._columns(place)
        with self.shard(place).open("wb") as stream:
            if self.ending == ".csv":
                write_csv(columns, stream, header=place == 0)
            else:
                write_parquet(columns, stream)
        best = np.argsort(-columns["probability"], kind="stable")[:_TOP_ROWS]
        return {"node": self.parts.cuts[place] + best, **{name: values[best] for name, values in columns.items()}}

    def shard(self, place: int) -> Path:
        """Where `write_scores` puts a part's rows."""
        return self.parts.folder / f"scores-{place:05d}{self.ending}"

    # Inside

    def _columns(self, place: int) -> dict[str, np.ndarray]:
        logits = self._logits.read(*self.parts.cuts[place : place + 2]).astype(np.float64)
        if self.calibrator is None:
            probabilities = np.asarray(softmax(logits, axis=1))
        else:
            probabilities = self.calibrator.predict_proba(logits)
        decided = logits if self.decision is None else self.decision.predict_proba(logits)
        names = np.array(self.class_names, dtype=object)
        columns = {"id": self.parts.ids(place), "probability": probabilities[:, self.rare_class]}
        if len(self.directions):
            files = [self._left_out(place, block) for block in self.blocks()]
            table = np.concatenate([np.load(file) for file in files], axis=1)
            lower, upper = bounds_of_class(table, self.residuals, coverage=self.coverage, clip=True)
            columns |= {"lower": lower, "upper": upper}
            for file in files:
                file.unlink()
        sets = name_sets(conformal_sets(probabilities, self.thresholds), names)
        return columns | {"prediction": names[decided.argmax(axis=1)], "set": sets}

    def _directions(self, block: Block) -> torch.Tensor:
        return torch.from_numpy(self.directions[slice(*block)]).to(self.device)

    def _inputs(self, place: int) -> PartInputs:
        return PartInputs(self.parts.part(place), self.device)

    def _gathered(self, inputs: PartInputs, file: Any) -> tuple[Any, Any]:
        """Rows of the own nodes, and what they gather."""
        rows = inputs.part.take(file)
        own, local = inputs.tensor(rows[: inputs.num_nodes]), inputs.tensor(rows)
        return own, self.layers.gather(inputs, local)

    def _first_inputs(self, place: int, again: bool) -> tuple[PartInputs, Features, Features]:
        """The part, its features and what it gathers of them: kept at the first time, where left-out models follow."""
        inputs = self._inputs(place)
        file = self.parts.folder / f"near-{place:05d}.npz"
        if again and self.layers.gathers:
            own = inputs.tensor(self.parts.features.read(inputs.part.start, inputs.part.stop))
            return inputs, own, inputs.tensor(_load_rows(file))
        own, near = self._gathered(inputs, self.parts.features)
        if self.layers.gathers and len(self.directions):
            _save_rows(file, near)
        return inputs, own, near

    @property
    def _passed(self) -> RowFile:
        return RowFile(self.parts.folder / "passed", self.parts.num_nodes, self.width)

    @property
    def _logits(self) -> RowFile:
        return RowFile(self.parts.folder / "logits", self.parts.num_nodes, len(self.class_names))

    @property
    def _moved(self) -> RowFile:
        most = max((stop - start for start, stop in self.blocks()), default=0)
        return RowFile(self.parts.folder / "moved", self.parts.num_nodes, most * self.width)

    def _moved_in(self, block: Block) -> RowFile:
        return replace(self._moved, width=(block[1] - block[0]) * self.width)

    def _left_out(self, place: int, block: Block) -> Path:
        return self.parts.folder / f"left-out-{place:05d}-{block[0]:05d}.npy"


def make_scorer(
    classifier: RareCategoryClassifier,
    layers: Layers,
    num_nodes: int,
    *,
    coverage: float,
    intervals: bool,
    most_columns: int,
) -> PartScorer:
    """A scorer of a fitted classifier, with as many left-out models as `predict_interval` takes for so many nodes."""
    left_out = classifier.left_out_
    kept = left_out.num_asked(num_nodes) if intervals else 0
    rows = left_out.rows[:kept]
    device = choose_device(classifier.device)
    return PartScorer(
        layers=layers.to(device),
        calibrator=classifier.calibrator_,
        decision=classifier.decision_,
        class_names=tuple(classifier.class_names_),
        rare_class=classifier.rare_class_,
        thresholds=conformal_thresholds(classifier.predict_left_out(), classifier.labelled_y_, coverage),
        directions=left_out.directions[:kept],
        residuals=left_out.residuals(rows, classifier.rare_class_),
        coverage=coverage,
        width=layers.passes,
        most_columns=most_columns,
        device=str(device),
    )


def join_shards(scorer: PartScorer, out: Path) -> None:
    """The shards of all parts, in order, as one file that is whole or not there."""
    import pyarrow.parquet as parquet

    shards = [scorer.shard(place) for place in range(len(scorer.parts))]
    with write_atomically(out) as stream:
        if scorer.ending == ".csv":
            for shard in shards:
                with shard.open("rb") as rows:
                    shutil.copyfileobj(rows, stream)
            return
        with parquet.ParquetWriter(stream, parquet.read_schema(shards[0])) as writer:
            for shard in shards:
                writer.write_table(parquet.read_table(shard))


def _array(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.detach().cpu().numpy()
    return array


def _save_rows(file: Path, rows: Features) -> None:
    if isinstance(rows, torch.Tensor):
        np.savez(file, rows=_array(rows))
    else:
        sp.save_npz(file, rows.csr, compressed=False)


def _load_rows(file: Path) -> Any:
    with np.load(file, allow_pickle=False) as arrays:
        if "rows" in arrays:
            return arrays["rows"]
    return sp.load_npz(file)
