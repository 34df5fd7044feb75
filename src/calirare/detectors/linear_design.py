"""The columns that a linear model reads: normal scores of dense columns, words seen from landmarks, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp

from calirare.data.graph import RareGraph
from calirare.data.sparse import in_threads
from calirare.detectors.base import DetectorInputs, LabelledNodes, State
from calirare.detectors.guess import NeighboursGuess
from calirare.detectors.landmarks import LikenessToLandmarks, choose_landmarks
from calirare.detectors.squash import Squash
from calirare.detectors.stored import inside, need, numbers, under, whole
from calirare.detectors.words import WordColumns
from calirare.errors import InputError
from calirare.features.columns import ColumnGroup, Columns
from calirare.features.propagation import plain_means

MOST_HOPS = 3
Reach = Literal["attributes", "own", "plain", "all", "means"]
"""Of the dense columns: the node's attributes, with them what its edges and its place say, with these the plain means of
attributes over neighbours, or all; or attributes and plain means alone."""
_MOST_BESIDE_WORDS = 256
_BLOCK = 8_192
_MOST_HELD = 40_000_000
"""Numbers that are held for several products: 320 MB."""
_STRONGEST_WORDS = 32
_FEW_LANDMARKS = 96
"""From which the number of hops is chosen."""
_WHERE = ("", ", mean over neighbours", ", mean over neighbours two steps away", ", mean over neighbours {} steps away")


@dataclass(frozen=True, eq=False)
class ColumnShares:
    """A node's score, taken apart: `base` `(K,)` and `shares` `(D, K)` add up to it."""

    base: np.ndarray
    names: tuple[str, ...]
    groups: tuple[ColumnGroup, ...]
    shares: np.ndarray

    def and_words(self, names: list[str], shares: np.ndarray, hops: int) -> ColumnShares:
        """With those of words so many hops away."""
        groups: tuple[ColumnGroup, ...] = ("neighbours" if hops else "own",) * len(names)
        return ColumnShares(
            self.base, self.names + tuple(names), self.groups + groups, np.concatenate([self.shares, shares])
        )


@dataclass(frozen=True, eq=False)
class Design:
    """Which columns there are, how each is made, and those of the labelled nodes.

    Args:
        num_columns: How many dense columns a graph has.
        dense: Which of them are read.
        squash: Their normal scores.
        middle: Their means among the labelled nodes.
        scale: What each is multiplied by: `scales_by_family`.
        guess: In models of 0.11: what those of neighbours are where there are none; None: they stay as they are.
        words: Columns of words, or None.
        hops: How far the neighbours' columns reach.
        labelled: `(n, R)`; empty once restored.
        ties: See `WithoutGroups`.
    """

    num_columns: int
    dense: np.ndarray
    squash: Squash
    middle: np.ndarray
    scale: np.ndarray
    guess: NeighboursGuess | None
    words: WordColumns | None
    hops: int
    labelled: np.ndarray
    ties: tuple[np.ndarray, np.ndarray] | None

    @property
    def num_word_columns(self) -> int:
        return 0 if self.words is None else self.words.turn.shape[1]

    @property
    def size(self) -> int:
        return self.num_word_columns + len(self.dense)

    @cached_property
    def basis(self) -> np.ndarray | None:
        """`(R, n)` orthonormal, spanning the rows of `labelled` where these are fewer than its columns.

        The optimum lies in their span, and so does every left-out one, but for those that ties bend.
        """
        few = self.ties is None and len(self.labelled) < self.size
        return np.linalg.qr(self.labelled.T)[0] if few else None

    @cached_property
    def coordinates(self) -> np.ndarray:
        """`(n, min(n, R))`: the labelled nodes' columns in that basis, so that a fit is as small as its labels are few."""
        return self.labelled if self.basis is None else self.labelled @ self.basis

    def in_columns(self, found: np.ndarray) -> np.ndarray:
        """`(R, …)`: what was fitted to `coordinates`, for the columns."""
        return found if self.basis is None else np.asarray(self.basis @ found)

    def _dense(self, values: np.ndarray) -> np.ndarray:
        scores = self.squash(values[:, self.dense])
        if self.guess is not None:
            scores = self.guess(values, scores)
        return np.asarray((scores - self.middle) * self.scale)

    def _check(self, columns: Columns) -> None:
        words = 0 if self.words is None else self.words.num_words
        if (
            columns.values.shape[1] != self.num_columns
            or words
            and (columns.words is None or columns.words.shape[1] != words)
        ):
            raise InputError(f"the graph must have the {self.num_columns} columns and {words} words of the fit.")

    def dense_values(self, inputs: DetectorInputs) -> np.ndarray | None:
        """`(N, D)` the dense columns as `scores` reads them, for several calls of it; None where they are too large."""
        self._check(inputs.columns)
        return self._dense(inputs.columns.values) if inputs.num_nodes * len(self.dense) <= _MOST_HELD else None

    def scores(self, inputs: DetectorInputs, theta: np.ndarray, dense: np.ndarray | None = None) -> np.ndarray:
        """`(N, K)`: the columns times θ `(R, K)`, without ever holding words of all nodes; `dense`: `dense_values`."""
        columns = inputs.columns
        self._check(columns)
        first, found = self.num_word_columns, np.zeros((inputs.num_nodes, theta.shape[1]))

        def of_block(start: int) -> np.ndarray:
            block = slice(start, start + _BLOCK)
            values = self._dense(columns.values[block]) if dense is None else dense[block]
            return np.asarray(values @ theta[first:])

        if len(self.dense):
            found = np.concatenate(list(in_threads(of_block, range(0, inputs.num_nodes, _BLOCK))))
        if self.words is not None:
            coefficients, offset = self.words.coefficients(theta[:first])
            found += inputs.word_hops.everywhere(coefficients) - offset
        return found

    def scores_at(self, inputs: DetectorInputs, nodes: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """`(n, K)`: the rows of `scores` of a few nodes."""
        self._check(inputs.columns)
        first = self.num_word_columns
        found = self._dense(inputs.columns.values[nodes]) @ theta[first:]
        if self.words is not None:
            coefficients, offset = self.words.coefficients(theta[:first])
            for hops, matrix in enumerate(coefficients):
                found = found + inputs.word_hops.rows(nodes, hops) @ matrix
            found = found - offset
        return np.asarray(found)

    def shares(self, inputs: DetectorInputs, nodes: np.ndarray, theta: np.ndarray) -> Iterator[ColumnShares]:
        """What each column adds to the scores of each of some nodes."""
        columns = inputs.columns
        self._check(columns)
        first = self.num_word_columns
        names = tuple(columns.names[k] for k in self.dense)
        groups = tuple(columns.groups[k] for k in self.dense)
        base, words = np.zeros(theta.shape[1]), list[tuple[sp.csr_array, np.ndarray]]()
        if self.words is not None:
            coefficients, offset = self.words.coefficients(theta[:first])
            base = base - offset
            words = [(inputs.word_hops.rows(nodes, hops), matrix) for hops, matrix in enumerate(coefficients)]
        for place, dense in enumerate(self._dense(columns.values[nodes])):
            found = ColumnShares(base, names, groups, dense[:, None] * theta[first:])
            for hops, (rows, matrix) in enumerate(words):
                ends = slice(rows.indptr[place], rows.indptr[place + 1])
                word, count = rows.indices[ends], rows.data[ends]
                found = found.and_words(*_strongest(word, count[:, None] * matrix[word], hops, inputs.graph), hops)
            yield found

    def state(self) -> State:
        found: State = {"num_columns": self.num_columns, "dense": self.dense, "hops": self.hops}
        found |= {"middle": self.middle, "scale": self.scale} | under("squash", self.squash.state())
        found |= {} if self.guess is None else under("guess", self.guess.state())
        return found if self.words is None else found | under("words", self.words.state())

    @classmethod
    def restore(cls, state: State) -> Design:
        num_columns = whole(state, "num_columns")
        dense = numbers(state, "dense", 1, kind="i")
        need(not dense.size or bool(0 <= dense.min() and dense.max() < num_columns), "which columns are read")
        squash = Squash.restore(inside("squash", state))
        need(len(squash.knots) == len(dense), "the knots")
        middle, scale = (numbers(state, name, 1, size=len(dense)) for name in ("middle", "scale"))
        said, guessed = inside("words", state), inside("guess", state)
        words = WordColumns.restore(said) if said else None
        guess = NeighboursGuess.restore(guessed, num_columns, len(dense)) if guessed else None
        size = len(dense) + (0 if words is None else words.turn.shape[1])
        hops, nobody = whole(state, "hops"), np.empty((0, size))
        return cls(num_columns, dense, squash, middle, scale, guess, words, hops, nobody, None)


def scales_by_family(families: Sequence[str]) -> np.ndarray:
    """1/√(F m) for a column of a family of m, among F families.

    Under one penalty every family so has the same say beforehand: a node's own dozen columns are not drowned by the hundreds
    that its neighbours bring.

    >>> scales_by_family(["own", "neighbours", "neighbours", "neighbours", "neighbours"]) ** 2
    array([0.5  , 0.125, 0.125, 0.125, 0.125])
    """
    found, family, size = np.unique(np.asarray(families, dtype=np.str_), return_inverse=True, return_counts=True)
    return np.asarray(1.0 / np.sqrt(len(found) * size[family]))


def _strongest(words: np.ndarray, shares: np.ndarray, hops: int, graph: RareGraph) -> tuple[list[str], np.ndarray]:
    """The words with the largest shares by name, and all others as one."""
    where = _WHERE[min(hops, 3)].format(hops)
    order = np.argsort(-np.abs(shares).max(axis=1), kind="stable") if len(shares) else np.empty(0, dtype=np.int64)
    kept, rest = order[:_STRONGEST_WORDS], order[_STRONGEST_WORDS:]
    called = graph.feature_names
    names = [(called[words[k]] if called else f"word {words[k]}") + where for k in kept]
    found = shares[kept]
    if rest.size:
        names.append(f"{rest.size} other words{where}")
        found = np.concatenate([found, shares[rest].sum(axis=0, keepdims=True)])
    return names, found


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
        self._fixed = None if isinstance(hops, str) else int(hops)
        self._likeness: LikenessToLandmarks | None = None
        self._all_landmarks = False
        if columns.words is not None:
            landmarks, few = choose_landmarks(labels.y, groups, seed), _FEW_LANDMARKS if self._fixed is None else None
            self._likeness = LikenessToLandmarks(inputs.word_hops, labels.nodes, landmarks, few)
        families: dict[Reach, tuple[str, ...]] = dict.fromkeys(("attributes", "own", "all"), columns.groups)
        self._families = families | dict.fromkeys(("plain", "means"), plain_means(columns))
        self._hops = min(2, MOST_HOPS) if self._fixed is None else self._fixed
        self.first = self._design(self._hops, self._reaches[0] if self._likeness is None else None)

    @property
    def _reaches(self) -> list[Reach]:
        """Those that differ, the leanest that hears of neighbours first: of equals it is kept."""
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
            yield from (self._design(hops, None) for hops in (1, MOST_HOPS))

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
            if len(self._columns(reach)) <= _MOST_BESIDE_WORDS:
                yield self._design(design.hops, reach)
            yield self._design(design.hops, reach, with_words=False)

    def without_edges(self, design: Design) -> Design:
        """What is left of a design where edges say nothing: the node's attributes and words; few landmarks are enough."""
        self._all_landmarks = False
        return self._design(0, "attributes" if len(design.dense) else None, design.words is not None)

    def _columns(self, reach: Reach) -> np.ndarray:
        """The places of the dense columns."""
        families = np.asarray(self._families[reach])
        if reach == "attributes":
            return np.flatnonzero(families == "own")
        if reach == "means":
            return np.flatnonzero(~np.isin(families, ["edges", "structure", "neighbours"]))
        return np.arange(len(families)) if reach == "all" else np.flatnonzero(families != "neighbours")

    @cached_property
    def _squash(self) -> Squash:
        """Of all dense columns, once, without labels."""
        return Squash.learn(self.columns.values, self.seed)

    @cached_property
    def _scores(self) -> np.ndarray:
        """`(n, D)` the labelled nodes' normal scores of all dense columns: every choice of them reads some of these."""
        return self._squash(self.columns.values[self.labels.nodes])

    def _design(self, hops: int, reach: Reach | None, with_words: bool = True) -> Design:
        dense = np.empty(0, dtype=np.int64) if reach is None else self._columns(reach)
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
