"""The designs of a linear model among which left-out likelihood chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.detectors.regression.design import Design
from calirare.detectors.regression.landmarks import LikenessToLandmarks, choose_landmarks
from calirare.detectors.regression.squash import Squash
from calirare.features.propagation import plain_means

_FIRST_HOPS, _MOST_HOPS = 2, 3
Reach = Literal["attributes", "own", "plain", "all", "means"]
"""Which dense columns are read. `attributes`: the node's own. `own`: also what its edges and its place say. `plain`: also the
plain means of attributes over neighbours. `all`: every column. `means`: attributes and plain means alone."""
_MOST_BESIDE_WORDS = 256
_FEW_LANDMARKS = 96
"""Number of landmarks by which the number of hops is chosen."""


def scales_by_family(families: Sequence[str]) -> np.ndarray:
    """1/√(F m) for a column of a family of m, among F families.

    Under one penalty every family so has the same say beforehand: a node's own dozen columns are not drowned by the hundreds
    that its neighbours bring.

    >>> scales_by_family(["own", "neighbours", "neighbours", "neighbours", "neighbours"]) ** 2
    array([0.5  , 0.125, 0.125, 0.125, 0.125])
    """
    found, family, size = np.unique(np.asarray(families, dtype=np.str_), return_inverse=True, return_counts=True)
    return 1.0 / np.sqrt(len(found) * size[family])


class DesignChoices:
    """The designs among which left-out likelihood chooses.

    Args:
        inputs: The graph and its columns.
        labels: The labels; their classes only choose landmarks, and a label that is left out is no landmark.
        groups: `(n,)` groups of labels, 0…G-1.
        hops: What the user wants.
        seed: Of the landmarks.
    """

    def __init__(
        self,
        inputs: DetectorInputs,
        labels: LabelledNodes,
        groups: np.ndarray,
        hops: int | Literal["left_out"],
        seed: int,
    ) -> None:
        columns = inputs.columns
        self.columns, self.labels, self.groups, self.seed = columns, labels, groups, seed
        self.num_twice = columns.num_spelled if inputs.graph.num_words else 0  # words of texts, which are columns too
        self._fixed = None if isinstance(hops, str) else int(hops)
        self._likeness: LikenessToLandmarks | None = None
        self._all_landmarks = False
        if columns.words is not None:
            landmarks, few = choose_landmarks(labels.y, groups, seed), _FEW_LANDMARKS if self._fixed is None else None
            self._likeness = LikenessToLandmarks(inputs.word_hops, labels.nodes, landmarks, few)
        families: dict[Reach, tuple[str, ...]] = dict.fromkeys(("attributes", "own", "all"), columns.groups)
        self._families = families | dict.fromkeys(("plain", "means"), plain_means(columns))
        self._hops = _FIRST_HOPS if self._fixed is None else self._fixed
        self.first = self._design(self._hops, self._reaches[0] if self._likeness is None else None)

    @property
    def _reaches(self) -> list[Reach]:
        """The reaches that differ. The leanest that reads neighbours comes first, because of equals the first is kept."""
        if self._hops == 0 or "neighbours" not in self.columns.groups:
            return ["own"]
        if len(self._columns("plain")) == len(self._columns("own")):
            return ["all"] if self._fixed is not None else ["all", "own"]
        some: list[Reach] = ["plain", "all"] if self._fixed is not None else ["plain", "all", "own"]
        return [*some, "means"] if 2 * len(self._columns("means")) <= len(self._columns("plain")) else some

    def others(self) -> Iterator[Design]:
        """Other reaches or numbers of hops; each is made when it is asked for, and far hops are the costly ones."""
        if self._likeness is None:
            for reach in self._reaches[1:]:
                yield self._design(0 if reach == "own" else self._hops, reach)
        elif self._fixed is None:
            yield from (self._design(hops, None) for hops in (1, _MOST_HOPS))

    def with_all_landmarks(self, design: Design) -> Design:
        """The same hops, seen from all landmarks; few were enough to choose them by."""
        if self._likeness is None or self._likeness.few == len(self._likeness.landmarks):
            return design
        self._all_landmarks = True
        return self._design(design.hops, None)

    def with_dense(self, design: Design) -> Iterator[Design]:
        """The dense columns beside the words, where they are not too many, and in their place."""
        if design.words is not None:
            reach: Reach = "all" if design.hops else "own"
            few = [one for one in (reach, "own") if len(self._columns(one, with_words=True)) <= _MOST_BESIDE_WORDS]
            if few:
                yield self._design(design.hops, few[0])
            yield self._design(design.hops, reach, with_words=False)

    def without_edges(self, design: Design) -> Design:
        """What is left of a design where edges say nothing: the node's attributes and words; few landmarks are enough."""
        self._all_landmarks = False
        return self._design(0, "attributes" if len(design.dense) else None, design.words is not None)

    def _columns(self, reach: Reach, with_words: bool = False) -> np.ndarray:
        """The places of the dense columns, without spelled words of texts where words are read beside them."""
        families = np.asarray(self._families[reach])
        found = np.ones(len(families), dtype=bool)
        if reach == "attributes":
            found = families == "own"
        elif reach == "means":
            found = ~np.isin(families, ["edges", "structure", "neighbours"])
        elif reach != "all":
            found = families != "neighbours"
        return np.flatnonzero(found)[self.num_twice if with_words else 0 :]

    @cached_property
    def _squash(self) -> Squash:
        """The normal scores of all dense columns, learned once, without labels."""
        return Squash.learn(self.columns.values, self.seed)

    @cached_property
    def _scores(self) -> np.ndarray:
        """`(n, D)` the labelled nodes' normal scores of all dense columns: every choice of them reads some of these."""
        return self._squash(self.columns.values[self.labels.nodes])

    def _design(self, hops: int, reach: Reach | None, with_words: bool = True) -> Design:
        with_words = with_words and self._likeness is not None
        dense = np.empty(0, dtype=np.int64) if reach is None else self._columns(reach, with_words)
        squash, scores = Squash(np.empty((0, 1)), np.empty((0, 1))), np.empty((len(self.labels), 0))
        if reach is not None:
            squash, scores = self._squash.take(dense), self._scores[:, dense]
        middle = scores.mean(axis=0)
        scale = scales_by_family([self._families[reach][k] for k in dense] if reach else [])
        blocks = [(scores - middle) * scale]
        words, ties = None, None
        if self._likeness is not None and with_words:
            count = None if self._all_landmarks else self._likeness.few
            words, found = self._likeness.columns(hops, count)
            landmarks = self._likeness.landmarks[:count]
            blocks.insert(0, found)
            if len(landmarks) < int(self.groups.max()) + 1:
                vectors = np.zeros((found.shape[1] + len(dense), len(landmarks)))
                vectors[: found.shape[1]] = words.turn.T
                ties = vectors, self.groups[landmarks]
        labelled = np.ascontiguousarray(np.concatenate(blocks, axis=1))
        return Design(self.columns.values.shape[1], dense, squash, middle, scale, None, words, hops, labelled, ties)
