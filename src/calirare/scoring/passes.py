"""The passes over the parts of a graph that give every node its scores."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.special import softmax

from calirare.data.archive import write_atomically
from calirare.data.inputs import choose_device
from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.data.tables.export import write_csv, write_parquet
from calirare.detectors.networks.layerwise import Layers, PartInputs
from calirare.errors import NumericalError
from calirare.scoring.table import name_sets
from calirare.uncertainty.conformal import conformal_sets, conformal_thresholds
from calirare.uncertainty.intervals import CalibrationDraws

if TYPE_CHECKING:
    from calirare.calibration import Calibrator
    from calirare.estimator.classifier import RareCategoryClassifier

_TOP_ROWS = 10


@dataclass(frozen=True, eq=False)
class PartScorer:
    """What a process needs to score parts: the model, its calibration, and where the files are.

    Each pass is a method of a part's place; a pass begins when the one before has ended for all parts.
    """

    layers: Layers
    calibrator: Calibrator | None
    class_names: tuple[str, ...]
    rare_class: int
    thresholds: np.ndarray
    draws: CalibrationDraws | None
    coverage: float
    width: int
    device: str
    parts: Partitions = None  # type: ignore[assignment]
    ending: str = ".parquet"

    def on(self, parts: Partitions, ending: str) -> PartScorer:
        """The same on a graph, writing files of that ending; makes the files that the parts share."""
        scorer = replace(self, parts=parts, ending=ending)
        for file in (scorer._passed, scorer._logits):
            RowFile.create(file.path, file.num_rows, file.width)
        return scorer

    # The passes

    @torch.no_grad()
    def first_layer(self, place: int) -> None:
        """What each node passes to its neighbours."""
        inputs = self._inputs(place)
        own, near = self._gathered(inputs, self.parts.features)
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
        names = np.array(self.class_names, dtype=object)
        columns = {"id": self.parts.ids(place), "probability": probabilities[:, self.rare_class]}
        if self.draws is not None:
            interval = self.draws.interval(columns["probability"], self.coverage)
            columns |= {"lower": interval.lower, "upper": interval.upper}
        sets = name_sets(conformal_sets(probabilities, self.thresholds), names)
        return columns | {"prediction": names[probabilities.argmax(axis=1)], "set": sets}

    def _inputs(self, place: int) -> PartInputs:
        return PartInputs(self.parts.part(place), self.device)

    def _gathered(self, inputs: PartInputs, file: Any) -> tuple[Any, Any]:
        """Rows of the own nodes, and what they gather."""
        rows = inputs.part.take(file)
        own, local = inputs.tensor(rows[: inputs.num_nodes]), inputs.tensor(rows)
        return own, self.layers.gather(inputs, local)

    @property
    def _passed(self) -> RowFile:
        return RowFile(self.parts.folder / "passed", self.parts.num_nodes, self.width)

    @property
    def _logits(self) -> RowFile:
        return RowFile(self.parts.folder / "logits", self.parts.num_nodes, len(self.class_names))


def make_scorer(classifier: RareCategoryClassifier, layers: Layers, *, coverage: float, intervals: bool) -> PartScorer:
    """A scorer of a fitted classifier."""
    device = choose_device(classifier.device)
    return PartScorer(
        layers=layers.to(device),
        calibrator=classifier.calibrator_,
        class_names=tuple(classifier.class_names_),
        rare_class=classifier.rare_class_,
        thresholds=conformal_thresholds(classifier.predict_left_out(), classifier.labelled_y_, coverage),
        draws=classifier.calibration_draws() if intervals else None,
        coverage=coverage,
        width=layers.passes,
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
