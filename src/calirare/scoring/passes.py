"""The passes over the parts of a graph that give every node its scores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from calirare.data.inputs import choose_device
from calirare.data.parts.node_reading import UNLABELLED, WANTED
from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.data.storage.archive import write_atomically
from calirare.data.tables.sources.export import write_table
from calirare.detectors.base import Detector, DetectorInputs, Sender
from calirare.detectors.linear import Linear
from calirare.detectors.networks.backbones.layerwise import Layers, layers_of, run_layer
from calirare.detectors.networks.network import Network
from calirare.detectors.silence import Silence
from calirare.detectors.stack import Stack
from calirare.features.recipe import ColumnRecipe
from calirare.features.relations import Relation
from calirare.scoring.found_inputs import FoundInputs
from calirare.scoring.live.base import some_nodes
from calirare.scoring.live.networks import last_logits
from calirare.scoring.part_columns import PartColumns
from calirare.scoring.part_passed import PartPassed
from calirare.scoring.part_queue import PartQueue
from calirare.scoring.part_words import PartWords
from calirare.scoring.verdicts import Verdicts

if TYPE_CHECKING:
    from calirare.estimator.classifier import RareCategoryClassifier


@dataclass(frozen=True, eq=False)
class PartScorer:
    """What a process needs to score parts: the model, its calibration, and where the files are.

    Each pass is a method that takes the number of a part; a pass begins when the one before has ended for all parts.

    Args:
        members: The detectors, a network as its layers.
        silence: Of a stack, who is heard where; None: there is a single detector.
        verdicts: From logits to scores.
        device: Of the networks.
        recipe: Of the columns; None where no member reads any.
        parts: The graph.
        ending: Of the output.
        head: How many of the likeliest nodes are handed back.
        reasons: Whether what tells why of these is kept.
    """

    members: tuple[Layers | Detector, ...]
    silence: Silence | None
    verdicts: Verdicts
    device: str
    recipe: ColumnRecipe | None = None
    parts: Partitions = None  # type: ignore[assignment]
    ending: str = ".parquet"
    head: int = 10
    reasons: bool = False

    @classmethod
    def of(cls, classifier: RareCategoryClassifier, *, coverage: float, intervals: bool) -> PartScorer:
        """From a fitted classifier."""
        device, detector = choose_device(classifier.device), classifier.detector_
        found, silence = (detector.members_, detector.silence_) if isinstance(detector, Stack) else ([detector], None)
        members = tuple(layers_of(one.model_).to(device) if isinstance(one, Network) else one for one in found)
        recipe = None if all(isinstance(member, Layers) for member in members) else classifier.state_.recipe
        verdicts = Verdicts.of(classifier, coverage=coverage, intervals=intervals)
        return cls(members, silence, verdicts, str(device), recipe)

    @property
    def reads_edges(self) -> bool:
        """Whether rows of the edge table are read, beyond who is joined to whom."""
        return self.recipe is not None or any(passed.sender.over != Relation() for passed in self._senders.values())

    def on(self, parts: Partitions, ending: str) -> PartScorer:
        """The scorer on a graph, writing files with that ending; makes the files that the parts share."""
        scorer = replace(self, parts=parts, ending=ending)
        for k in scorer._networks:
            for file in (scorer._passed(k), scorer._logits(k)):
                file.clear()
        scorer._probability.clear()
        for shared in (scorer._columns, *scorer._words.values(), *scorer._senders.values()):
            if shared is not None:
                shared.create()
        return scorer

    def passes(self) -> list[tuple[str, Callable[[int], Any], Sequence[int]]]:
        """What is done, by which method, for which parts."""
        everywhere, columns = range(len(self.parts)), self._columns
        found: list[tuple[str, Callable[[int], Any], Sequence[int]]] = []
        if columns is not None:
            found += [("structure", columns.write_structure, range(1))]
            made = (columns.write_usual, columns.write_base, columns.write_means)
            found += [("columns", write, everywhere) for write in made]
        for words in self._words.values():
            hops = range(words.num_passes)
            found += [("words", partial(words.write, done), everywhere) for done in hops]
        found += [("neighbours", passed.write, everywhere) for passed in self._senders.values()]
        if self._networks:
            found += [("first layer", self.first_layer, everywhere), ("second layer", self.second_layer, everywhere)]
        return [*found, ("writing", self.write_scores, everywhere)]

    # The passes

    @torch.no_grad()
    def first_layer(self, number: int) -> None:
        """What each node passes to its neighbours."""
        part = self.parts.part(number)
        rows = part.take(self.parts.features)
        for k, layers in self._networks.items():
            self._passed(k).write(part.start, run_layer(layers, 0, part, rows, self.device))

    @torch.no_grad()
    def second_layer(self, number: int) -> None:
        """The logits."""
        part = self.parts.part(number)
        for k, layers in self._networks.items():
            logits = last_logits(layers, part, part.take(self._passed(k)), self.device)
            self._logits(k).write(part.start, logits)

    def write_scores(self, number: int) -> dict[str, np.ndarray]:
        """The part's rows as a shard of the output; gives those with the highest probability, and their nodes."""
        start, stop = self.parts.span(number)
        inputs = self._inputs(number)
        logits = self._all_logits(inputs, number)
        degree = np.diff(self.parts.ends(number))
        columns = self.verdicts.table(self.parts.ids(number), *self.verdicts.said(logits), degree)
        self._probability.write(start, columns["probability"][:, None])
        wanted = np.flatnonzero(self.parts.marked(WANTED, start, stop))
        columns = {name: values[wanted] for name, values in columns.items()}
        if wanted.size:
            write_table(columns, self.shard(number))
        best = np.argsort(-columns["probability"], kind="stable")[: self.head]
        if self.reasons:
            arrived = {k: inputs.from_neighbours(passed.sender) for k, passed in self._senders.items()}
            self.queue.keep(number, start + wanted[best], inputs.found, arrived)
        return {"node": start + wanted[best], **{name: values[best] for name, values in columns.items()}}

    def shard(self, number: int) -> Path:
        """Where `write_scores` puts a part's rows, if there are any."""
        return self.parts.folder / f"scores-{number:05d}{self.ending}"

    def probabilities(self) -> tuple[np.ndarray, np.ndarray]:
        """P(rare) of every node whose score is written, and of those whose label is not known, once all are."""
        found: np.ndarray = self._probability.read(0, self.parts.num_nodes)[:, 0]
        wanted, unknown = self.parts.marked(WANTED), self.parts.marked(UNLABELLED)
        return found[wanted], found[wanted & unknown]

    # Inside

    @property
    def queue(self) -> PartQueue:
        """The columns of a few nodes, for `reasons`."""
        return PartQueue(self.parts)

    def _inputs(self, number: int) -> FoundInputs:
        """A part as detectors read it, with the columns that the neighbours have made."""
        start, stop = self.parts.span(number)
        nodes = some_nodes(np.empty((stop - start, 0), dtype=np.float32), None)
        columns = None if self._columns is None else self._columns.columns(number)
        arrived = {passed.sender: passed.arrived(number) for passed in self._senders.values()}
        return FoundInputs(nodes, self.recipe, self.parts.degree.read(start, stop)[:, 0], columns, arrived)

    def _all_logits(self, inputs: DetectorInputs, number: int) -> np.ndarray:
        """`(n, C)`, of a stack `(n, K, C)`."""
        start, stop = self.parts.span(number)
        found = []
        for k, member in enumerate(self.members):
            if isinstance(member, Layers):
                found.append(self._logits(k).read(start, stop).astype(np.float64))
                continue
            if k in self._words:
                self._words[k].hand_to(inputs, number)
            found.append(member.logits(inputs))
        if self.silence is None:
            return found[0]
        return self.silence(np.stack(found, axis=1), inputs.alone)

    @property
    def _columns(self) -> PartColumns | None:
        return None if self.recipe is None else PartColumns(self.recipe, self.parts)

    @property
    def _words(self) -> dict[int, PartWords]:
        """The members that read words, by their place."""
        linear = {k: member for k, member in enumerate(self.members) if isinstance(member, Linear)}
        return {k: PartWords(k, one, self.parts) for k, one in linear.items() if one.main_.design.words is not None}

    @property
    def _senders(self) -> dict[int, PartPassed]:
        """The members that read what the nodes of the fit pass on, by their place."""
        return {k: PartPassed(k, one, self.parts) for k, one in enumerate(self.members) if isinstance(one, Sender)}

    @property
    def _networks(self) -> dict[int, Layers]:
        return {k: member for k, member in enumerate(self.members) if isinstance(member, Layers)}

    @property
    def _probability(self) -> RowFile:
        return RowFile(self.parts.folder / "probability", self.parts.num_nodes, 1, "<f8")

    def _passed(self, k: int) -> RowFile:
        return RowFile(self.parts.folder / f"passed-{k}", self.parts.num_nodes, self._networks[k].passes)

    def _logits(self, k: int) -> RowFile:
        return RowFile(self.parts.folder / f"logits-{k}", self.parts.num_nodes, len(self.verdicts.class_names))


def join_shards(scorer: PartScorer, out: Path) -> None:
    """The shards of all parts, in order, as one file that is whole or not there."""
    import pyarrow.parquet as parquet

    shards = [shard for number in range(len(scorer.parts)) if (shard := scorer.shard(number)).exists()]
    with write_atomically(out) as stream:
        if scorer.ending != ".parquet":
            for shard in shards:
                with shard.open("rb") as rows:
                    if scorer.ending == ".csv" and shard is not shards[0]:
                        rows.readline()  # the names
                    shutil.copyfileobj(rows, stream)
            return
        with parquet.ParquetWriter(stream, parquet.read_schema(shards[0])) as writer:
            for shard in shards:
                writer.write_table(parquet.read_table(shard))
