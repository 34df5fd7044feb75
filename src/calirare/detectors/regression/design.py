"""The columns that a linear model reads: normal scores of dense columns, words seen from landmarks, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import all_below
from calirare.data.threads import in_threads
from calirare.detectors.base import DetectorInputs, State
from calirare.detectors.regression.guess import NeighboursGuess
from calirare.detectors.regression.squash import Squash
from calirare.detectors.stored import inside, need, numbers, under, whole
from calirare.detectors.words import WordColumns
from calirare.errors import InputError
from calirare.features.columns import ColumnGroup, Columns

_BLOCK = 8_192
_MOST_HELD = 40_000_000
"""Most numbers that are held for several products: 320 MB."""
_STRONGEST_WORDS = 32
_WHERE = ("", ", mean over neighbours", ", mean over neighbours two steps away", ", mean over neighbours {} steps away")


@dataclass(frozen=True, eq=False)
class ColumnShares:
    """A node's score, taken apart: `base` `(K,)` and `shares` `(D, K)` add up to it."""

    base: np.ndarray
    names: tuple[str, ...]
    groups: tuple[ColumnGroup, ...]
    shares: np.ndarray

    def and_words(self, names: list[str], shares: np.ndarray, hops: int) -> ColumnShares:
        """With the shares of words this many hops away."""
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
        return (scores - self.middle) * self.scale

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
            return values @ theta[first:]

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
            found = found + inputs.word_hops.at(nodes, coefficients) - offset
        return np.asarray(found)

    def shares(self, inputs: DetectorInputs, nodes: np.ndarray, theta: np.ndarray) -> Iterator[ColumnShares]:
        """What each column adds to the scores of each of some nodes."""
        columns = inputs.columns
        self._check(columns)
        first = self.num_word_columns
        called = _called(inputs.graph.feature_names, 0 if columns.words is None else columns.words.shape[1])
        names = tuple(columns.names[k] for k in self.dense)
        groups = tuple(columns.groups[k] for k in self.dense)
        base, words = np.zeros(theta.shape[1]), list[tuple[sp.csr_array, np.ndarray]]()
        if self.words is not None:
            coefficients, offset = self.words.coefficients(theta[:first])
            base = base - offset
            words = list(zip(inputs.word_hops.rows(nodes, len(coefficients) - 1), coefficients, strict=True))
        for place, dense in enumerate(self._dense(columns.values[nodes])):
            found = ColumnShares(base, names, groups, dense[:, None] * theta[first:])
            for hops, (rows, matrix) in enumerate(words):
                ends = slice(rows.indptr[place], rows.indptr[place + 1])
                word, count = rows.indices[ends], rows.data[ends]
                found = found.and_words(*_strongest(word, count[:, None] * matrix[word], hops, called), hops)
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
        need(all_below(dense, num_columns), "which columns are read")
        squash = Squash.restore(inside("squash", state))
        need(len(squash.knots) == len(dense), "the knots")
        middle, scale = (numbers(state, name, 1, size=len(dense)) for name in ("middle", "scale"))
        said, guessed = inside("words", state), inside("guess", state)
        words = WordColumns.restore(said) if said else None
        guess = NeighboursGuess.restore(guessed, num_columns, len(dense)) if guessed else None
        size = len(dense) + (0 if words is None else words.turn.shape[1])
        hops, nobody = whole(state, "hops"), np.empty((0, size))
        return cls(num_columns, dense, squash, middle, scale, guess, words, hops, nobody, None)


def _called(names: Sequence[str] | None, count: int) -> Sequence[str]:
    """Names of the words, which are the last `count` attributes; numbered where there are no names."""
    return names[len(names) - count :] if names else [f"word {k}" for k in range(count)]


def _strongest(words: np.ndarray, shares: np.ndarray, hops: int, called: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The words with the largest shares by name, and all others as one."""
    where = _WHERE[min(hops, 3)].format(hops)
    order = np.argsort(-np.abs(shares).max(axis=1), kind="stable") if len(shares) else np.empty(0, dtype=np.int64)
    kept, rest = order[:_STRONGEST_WORDS], order[_STRONGEST_WORDS:]
    names = [called[words[k]] + where for k in kept]
    found = shares[kept]
    if rest.size:
        names.append(f"{rest.size} other words{where}")
        found = np.concatenate([found, shares[rest].sum(axis=0, keepdims=True)])
    return names, found
