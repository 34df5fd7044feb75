"""The passes over the parts of a graph that give every node its scores."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from calirare.data.archive import write_atomically
from calirare.data.inputs import choose_device
from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.data.tables.export import write_csv, write_parquet
from calirare.detectors.networks.layerwise import Layers, run_layer
from calirare.errors import NumericalError
from calirare.scoring.verdicts import Verdicts

if TYPE_CHECKING:
    from calirare.estimator.classifier import RareCategoryClassifier

_TOP_ROWS = 10


@dataclass(frozen=True, eq=False)
class PartScorer:
    """What a process needs to score parts: the model, its calibration, and where the files are.

    Each pass is a method of a part's place; a pass begins when the one before has ended for all parts.
    """

    layers: Layers
    verdicts: Verdicts
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
        part = self.parts.part(place)
        self._passed.write(part.start, run_layer(self.layers, 0, part, part.take(self.parts.features), self.device))

    @torch.no_grad()
    def second_layer(self, place: int) -> None:
        """The logits."""
        part = self.parts.part(place)
        logits = run_layer(self.layers, 1, part, part.take(self._passed), self.device)
        if not np.isfinite(logits).all():
            raise NumericalError("the model gives NaN or infinite logits; scale the features and the edge weights.")
        self._logits.write(part.start, logits)

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
        return self.verdicts.table(self.parts.ids(place), self.verdicts.probabilities(logits))

    @property
    def _passed(self) -> RowFile:
        return RowFile(self.parts.folder / "passed", self.parts.num_nodes, self.width)

    @property
    def _logits(self) -> RowFile:
        return RowFile(self.parts.folder / "logits", self.parts.num_nodes, len(self.verdicts.class_names))


def make_scorer(classifier: RareCategoryClassifier, layers: Layers, *, coverage: float, intervals: bool) -> PartScorer:
    """A scorer of a fitted classifier."""
    device = choose_device(classifier.device)
    return PartScorer(
        layers=layers.to(device),
        verdicts=Verdicts.of(classifier, coverage=coverage, intervals=intervals),
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
