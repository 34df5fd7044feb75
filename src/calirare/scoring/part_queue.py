"""Why the nodes at the head of a graph in parts score as they do, in the words of `calirare.decisions.why`.

While a part's scores are written its columns are at hand, and what labels pass on: those of its likeliest nodes are kept, and
those of the nodes that values are compared with. Once all parts are scored, the likeliest of all are told by them. Networks, and words, would ask for
neighbours that a part does not hold; they are not heard, as networks are not on any large graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calirare.data.parts.node_reading import WANTED
from calirare.data.parts.partitions import Partitions
from calirare.decisions.facts import Facts, some_others
from calirare.decisions.why import Reasons
from calirare.decisions.wording import wording_of
from calirare.detectors.base import Contributions, Detector
from calirare.detectors.linear import Linear
from calirare.detectors.networks.network import Network
from calirare.features.columns import Columns
from calirare.scoring.found_inputs import FoundInputs
from calirare.scoring.live.base import some_nodes

if TYPE_CHECKING:
    from calirare.estimator.classifier import RareCategoryClassifier


@dataclass(frozen=True, eq=False)
class PartQueue:
    """The columns of a few nodes of every part, on disk until all parts are scored.

    Args:
        parts: The graph.
    """

    parts: Partitions

    @cached_property
    def others(self) -> np.ndarray:
        """The nodes that values are compared with: those of the whole graph that are scored."""
        return some_others(np.flatnonzero(self.parts.marked(WANTED)))

    def keep(
        self, number: int, likeliest: np.ndarray, columns: Columns | None, arrived: Mapping[int, np.ndarray]
    ) -> None:
        """Keep what a part's likeliest nodes say, and those that others are compared with; `arrived` goes by the member's place."""
        start, stop = self.parts.span(number)
        first, last = np.searchsorted(self.others, (start, stop))
        nodes = np.union1d(likeliest, self.others[first:last])
        rows = np.empty((nodes.size, 0), dtype=np.float32) if columns is None else columns.values[nodes - start]
        came = {_arrived(k): values[nodes - start] for k, values in arrived.items()}
        np.savez(self._file(number), nodes=nodes, rows=rows, **came)

    def reasons(self, classifier: RareCategoryClassifier, asked: np.ndarray) -> np.ndarray:
        """`(n,)` a sentence or two on each node; all of them were kept."""
        kept = self._read(np.union1d(asked, self.others))
        nodes, rows = kept["nodes"], kept["rows"]
        recipe, columns = classifier.state_.recipe, None
        if recipe is not None and rows.shape[1]:
            columns = Columns(rows, recipe.names, recipe.groups, None, recipe.num_spelled)
        graph = some_nodes(self.parts.features.take(nodes), classifier.state_.feature_names, schema=classifier.schema_)
        came = {one: kept[_arrived(k)] for k, one in enumerate(classifier.members_) if _arrived(k) in kept}
        inputs = FoundInputs(graph, recipe, self.parts.degree.take(nodes)[:, 0], columns, came)
        told = _Told(classifier, inputs, np.searchsorted(nodes, self.others))
        review = ["review"] * asked.size
        return told.write(np.searchsorted(nodes, asked), review, np.zeros(asked.size, dtype=bool))

    def _read(self, wanted: np.ndarray) -> dict[str, np.ndarray]:
        found: dict[str, list[np.ndarray]] = {}
        for number in range(len(self.parts)):
            with np.load(self._file(number), allow_pickle=False) as kept:
                mine = np.isin(kept["nodes"], wanted)
                for name in kept.files:
                    found.setdefault(name, []).append(kept[name][mine])
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _file(self, number: int) -> Path:
        return self.parts.folder / f"told-{number:05d}.npz"


class _Told(Reasons):
    """Reasons about nodes for which only the detectors' inputs are at hand."""

    def __init__(self, classifier: RareCategoryClassifier, inputs: FoundInputs, others: np.ndarray) -> None:
        super().__init__(classifier, inputs.graph, inputs.graph.y, wording_of(classifier, 0.9))
        self._inputs, self._others = inputs, others

    def _make_facts(self) -> Facts:
        recipe = self._clf.state_.recipe
        means = None if recipe is None else recipe.means
        return Facts(self._graph, self._inputs.found, self._others, means)

    def _shares(self, nodes: np.ndarray) -> Iterable[Contributions]:
        return self._clf.shares_of(self._inputs, nodes, _is_at_hand)


def _arrived(k: int) -> str:
    return f"arrived-{k}"


def _is_at_hand(detector: Detector) -> bool:
    reads_words = isinstance(detector, Linear) and detector.main_.design.words is not None
    return not (reads_words or isinstance(detector, Network))
