"""Words of a node and of those around it, thousands of sparse columns, seen from a few labelled nodes (*landmarks*).

With X the words (rows of length one), A the row-normalised adjacency and S the landmarks, a node's columns are its
likeness to each of them, k_S(v) = Σ_h s_h (AʰX)_v · (AᵍX)_S with g = min(h, 2), times T = K_SS^(-1/2), K_SS the products of
the landmarks' rows AᵍX. A penalised linear model on these is one on all words of all hops whose coefficients are mixtures
of the landmarks' rows; with every label a landmark and up to two hops that is no restriction. Words of three hops are
nearly those of two, left-out labels are as likely with either, and to find them would be most of the work. Nothing of size
nodes × words is ever made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh

from calirare.data.graph import RareGraph
from calirare.data.sparse import SPARSE_COST, single_product
from calirare.detectors.leverage import whitened
from calirare.detectors.stored import need, numbers, whole
from calirare.features.words import unit_rows

MOST_LANDMARKS = 256
_FURTHEST = 2
"""How many hops away the landmarks' own words are read."""
_SAY_BEYOND = 2.0
"""How much likeness further away varies, beside that of so many hops."""
_MOST_HELD = 16_000_000
"""Numbers that are held for a second use: 64 MB."""
_LEAST_EIGENVALUE = 1e-5
"""Relative to the largest: likeness is measured in single precision."""
_LEAST_APART = 1e-3
"""Of its mean likeness to itself: what of each landmark none of those before it shows, where all are kept."""


def choose_landmarks(y: np.ndarray, groups: np.ndarray, seed: int, most: int = MOST_LANDMARKS) -> np.ndarray:
    """Rows of the labels that serve as landmarks: one per group, classes in equal numbers as far as they go.

    >>> choose_landmarks(np.array([0, 0, 0, 0, 1, 0]), np.array([0, 1, 2, 3, 4, 0]), seed=0, most=3).tolist()
    [2, 3, 4]
    """
    rows = np.unique(groups, return_index=True)[1]
    order = np.random.default_rng(seed).permutation(rows)
    ranks = np.empty(len(order))
    for label in np.unique(y):
        mine = y[order] == label
        ranks[mine] = np.arange(mine.sum())
    return np.sort(order[np.argsort(ranks, kind="stable")[:most]])


def over_neighbours(adjacency: sp.csr_array) -> sp.csr_array:
    """A: the adjacency, each row divided by its sum."""
    matrix = adjacency.astype(np.float64)
    total = np.asarray(matrix.sum(axis=1)).ravel()
    matrix.data /= np.repeat(np.where(total > 0, total, 1.0), np.diff(matrix.indptr))
    return matrix


class WordHops:
    """X, AX, A²X, … as operators.

    Args:
        graph: Who is joined to whom.
        words: `(N, F)` sparse.
    """

    def __init__(self, graph: RareGraph, words: sp.csr_array) -> None:
        self.words = unit_rows(words)
        self.mean = over_neighbours(graph.adjacency())

    def rows(self, nodes: np.ndarray, hops: int) -> sp.csr_array:
        """`(len(nodes), F)`: (AʰX) of some nodes."""
        return sp.csr_array(self.walk(nodes, hops) @ self.words)

    def walk(self, nodes: np.ndarray, hops: int) -> sp.csr_array:
        """`(len(nodes), N)`: (Aʰ) of some nodes."""
        walk = sp.csr_array((np.ones(len(nodes)), nodes, np.arange(len(nodes) + 1)), shape=(len(nodes), len(self)))
        for _ in range(hops):
            walk = walk @ self.mean
        return walk

    def said(self, nodes: np.ndarray, hops: int) -> list[sp.csr_array]:
        """`(len(nodes), F)` float32, as stored: (AʰX) of some nodes, for each number of hops up to `hops`."""
        walk, found = self.walk(nodes, 0), list[sp.csr_array]()
        for hop in range(hops + 1):
            walk = walk @ self.mean if hop else walk
            found.append(sp.csr_array(walk @ self.words).astype(np.float32))
        return found

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    def everywhere(self, matrices: list[np.ndarray]) -> np.ndarray:
        """`(N, k)`: Σ_h AʰX W_h, from the outermost hop inwards."""
        found = self.words @ matrices[-1]
        for matrix in reversed(matrices[:-1]):
            found = self.mean @ found + self.words @ matrix
        return np.asarray(found)


class _Said(NamedTuple):
    """X W of some nodes: W, where each node of the graph stands among them (-1: nowhere), and the product."""

    matrix: np.ndarray
    place: np.ndarray
    values: np.ndarray


class Surroundings:
    """The nodes within reach of some, hop by hop; nothing is computed for others.

    Args:
        words: The words of all hops.
        nodes: `(n,)` the nodes in the middle.
    """

    def __init__(self, words: WordHops, nodes: np.ndarray) -> None:
        self.words, self.nodes = words, [nodes]
        self.means: list[Callable[[np.ndarray], np.ndarray]] = []
        self._held: _Said | None = None

    def _further(self) -> None:
        mean = self.words.mean[self.nodes[-1]]
        within = np.zeros(len(self.words), dtype=bool)
        within[mean.indices] = True
        self.nodes.append(np.flatnonzero(within))
        parts = mean.data, (np.cumsum(within) - 1)[mean.indices], mean.indptr
        self.means.append(single_product(sp.csr_array(parts, shape=(mean.shape[0], len(self.nodes[-1])))))

    def product(self, matrices: list[np.ndarray | None], scales: list[float]) -> np.ndarray:
        """`(n, k)` float32: Σ_h s_h AʰX W_h of the nodes in the middle, from the outermost hop inwards; W_h may be missing."""
        while len(self.nodes) < len(matrices):
            self._further()
        found: Any = np.float32(0.0)
        for hop in reversed(range(len(matrices))):
            matrix = matrices[hop]
            if matrix is not None:
                found = found + self._said(hop, matrix) * np.float32(scales[hop])
            found = self.means[hop - 1](found) if hop else found
        return np.asarray(found)

    def _said(self, hop: int, matrix: np.ndarray) -> np.ndarray:
        """`(m, k)`: X W of the nodes so many hops away.

        From the second hop on W is the same and most nodes are, so what was made of it last is not made again.
        """
        nodes, held = self.nodes[hop], self._held
        if held is None or held.matrix is not matrix:
            found = single_product(self.words.words[nodes])(matrix)
        else:
            found, new = held.values[held.place[nodes]], np.flatnonzero(held.place[nodes] < 0)
            found[new] = single_product(self.words.words[nodes[new]])(matrix)
        if hop >= _FURTHEST and found.size <= _MOST_HELD:
            place = np.full(len(self.words), -1)
            place[nodes] = np.arange(len(nodes))
            self._held = _Said(matrix, place, found)
        return found


class LikenessToLandmarks:
    """For each number of hops how alike the labelled nodes are to the landmarks, measured when it is first asked for.

    Args:
        words: The words of all hops.
        nodes: `(n,)` the labelled nodes.
        landmarks: `(S,)` rows of the labels.
    """

    def __init__(self, words: WordHops, nodes: np.ndarray, landmarks: np.ndarray) -> None:
        self.words, self.nodes, self.landmarks = words, nodes, landmarks
        self.around = Surroundings(words, nodes)
        self.said: list[sp.csr_array] = []
        self._words: list[np.ndarray] = []
        self.scales: list[float] = []
        self.likeness: list[np.ndarray] = []
        self.products: list[np.ndarray] = []
        self._columns: dict[int, tuple[WordColumns, np.ndarray]] = {}

    def _measure(self, hops: int) -> None:
        """One more hop: `(S, F)` sparse, the landmarks' words, `(n, S)` and `(S, S)`.

        Scaled to a spread of one; from the third hop on so that likeness varies twice as much as that of two hops.
        """
        table = self.around.product([None] * hops + [self._words[min(hops, _FURTHEST)]], [1.0] * (hops + 1))
        if hops <= _FURTHEST:
            among = table[self.landmarks]
            self.scales.append(1.0 / max(float(among.diagonal().mean() - among.mean()), 1e-12))
            self.products.append(among * np.float32(self.scales[-1]))
        else:
            self.scales.append(_SAY_BEYOND * _variation(self.likeness[_FURTHEST]) / max(_variation(table), 1e-12))
            self.products.append(self.products[_FURTHEST])
        self.likeness.append(table * np.float32(self.scales[-1]))

    def columns(self, hops: int) -> tuple[WordColumns, np.ndarray]:
        """The columns with this many hops, and those of the labelled nodes, `(n, R)`; made once."""
        if len(self.said) <= min(hops, _FURTHEST):
            self.said = self.words.said(self.nodes[self.landmarks], min(hops, _FURTHEST))
            self._words += [_dense(one) for one in self.said[len(self._words) :]]
        while len(self.likeness) <= hops:
            self._measure(len(self.likeness))
        if hops not in self._columns:
            table, products = (np.sum(some[: hops + 1], axis=0) for some in (self.likeness, self.products))
            self._columns[hops] = self._turned(table, products, self.said, hops)
        return self._columns[hops]

    def columns_of_all(self, landmarks: np.ndarray, hops: int) -> tuple[WordColumns, np.ndarray]:
        """The same seen from more landmarks, those here among them, on the scales that these here have.

        What is known of these here is not measured again; of the others all hops are measured in one go.
        """
        known, products = self.columns(hops), np.sum(self.products[: hops + 1], axis=0)
        fresh = np.setdiff1d(landmarks, self.landmarks)
        if not fresh.size:
            return known
        more = self.words.said(self.nodes[fresh], min(hops, _FURTHEST))
        dense = [_dense(one) for one in more]
        table = self.around.product([dense[min(hop, _FURTHEST)] for hop in range(hops + 1)], self.scales)
        # Σ_h s_h (AᵍX)_S · (AᵍX)_S: beyond two hops the landmarks' own words stay those of two.
        weights = np.bincount(np.minimum(np.arange(hops + 1), _FURTHEST), self._scales_among(hops)).astype(np.float32)
        across, among = (
            np.sum([w * _products(*three) for w, *three in zip(weights, *some, dense, strict=False)], axis=0)
            for some in ((self.said, self._words), (more, dense))
        )
        order = np.argsort(np.concatenate([self.landmarks, fresh]))
        products = np.block([[products, across], [across.T, among]])[order][:, order]
        table = np.concatenate([np.sum(self.likeness[: hops + 1], axis=0), table], axis=1)[:, order]
        said = [sp.csr_array(sp.vstack(pair, "csr")[order]) for pair in zip(self.said, more, strict=False)]
        return self._turned(table, products, said, hops)

    def _scales_among(self, hops: int) -> list[float]:
        """What products among the landmarks are multiplied by; beyond two hops those of two count again."""
        return [self.scales[min(hop, _FURTHEST)] for hop in range(hops + 1)]

    def _turned(
        self, table: np.ndarray, products: np.ndarray, said: list[sp.csr_array], hops: int
    ) -> tuple[WordColumns, np.ndarray]:
        share = 1.0 / (hops + 1)
        table = table * np.float32(share)
        turn = _inverse_root(share * products.astype(np.float64))
        middle = table.mean(axis=0, dtype=np.float64)
        turned = (table - middle.astype(np.float32)) @ turn.astype(np.float32)
        said = [said[min(hop, _FURTHEST)] for hop in range(hops + 1)]
        scales = [scale * share for scale in self.scales[: hops + 1]]
        return WordColumns(said, scales, turn, middle), turned.astype(np.float64)


def _dense(said: sp.csr_array) -> np.ndarray:
    return np.asarray(said.T.toarray(order="C"))


def _products(said: sp.csr_array, dense: np.ndarray, other: np.ndarray) -> np.ndarray:
    """`(S, k)`: the rows `said`, which are the columns of `dense` too, times `other`, `(F, k)`."""
    return np.asarray(said @ other if SPARSE_COST * said.nnz < dense.size else dense.T @ other)


def _variation(table: np.ndarray) -> float:
    """Root mean square about the means of the columns."""
    return float(np.sqrt(table.var(axis=0, dtype=np.float64).mean()))


def _inverse_root(table: np.ndarray) -> np.ndarray:
    """T `(S, R)` with T Tᵀ the inverse of the symmetric table, of which next to nothing is left out."""
    try:
        lower = cholesky(table, lower=True, check_finite=False)
        if lower.diagonal().min() ** 2 > _LEAST_APART * table.diagonal().mean():
            return whitened(lower, np.eye(len(table)))
    except LinAlgError:  # some landmarks are alike
        pass
    values, vectors = eigh(table)
    kept = values > _LEAST_EIGENVALUE * max(float(values[-1]), 1e-300)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


@dataclass(frozen=True, eq=False)
class WordColumns:
    """φ(v) = (Σ_h s_h (AʰX)_v · said_h - middle) turn, s being the scales.

    Args:
        said: Per hop `(S, F)` sparse, the landmarks' words.
        scales: Per hop what they are multiplied by.
        turn: T, `(S, R)`.
        middle: `(S,)`, the labelled nodes' mean.
    """

    said: list[sp.csr_array]
    scales: list[float]
    turn: np.ndarray
    middle: np.ndarray

    @cached_property
    def rows(self) -> list[sp.csr_array]:
        """Per hop `(S, F)` sparse float64, scaled; of most designs nobody asks."""
        return [sp.csr_array(one.astype(np.float64) * s) for one, s in zip(self.said, self.scales, strict=True)]

    def coefficients(self, theta: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Per hop `(F, k)`, what each word counts, and `(k,)` what is to be taken off, for θ `(R, k)`."""
        mixture = self.turn @ theta
        return [matrix.T @ mixture for matrix in self.rows], self.middle @ mixture

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = {"hops": len(self.rows) - 1, "turn": self.turn, "middle": self.middle}
        for hops, matrix in enumerate(self.rows):
            found |= {f"data_{hops}": matrix.data, f"indices_{hops}": matrix.indices, f"ends_{hops}": matrix.indptr}
        return found | {"num_words": self.num_words}

    @property
    def num_words(self) -> int:
        return int(self.said[0].shape[1])

    @classmethod
    def restore(cls, state: dict[str, Any]) -> WordColumns:
        hops, num_words = whole(state, "hops"), whole(state, "num_words", 1)
        need(hops <= 16, "the number of hops")
        turn = numbers(state, "turn", 2)
        middle = numbers(state, "middle", 1, size=len(turn))
        said = [_restore_rows(state, hop, (len(turn), num_words)) for hop in range(hops + 1)]
        return cls(said, [1.0] * len(said), turn, middle)


def _restore_rows(state: dict[str, Any], hop: int, shape: tuple[int, int]) -> sp.csr_array:
    ends = numbers(state, f"ends_{hop}", 1, size=shape[0] + 1, kind="i")
    data = numbers(state, f"data_{hop}", 1)
    indices = numbers(state, f"indices_{hop}", 1, size=len(data), kind="i")
    need(ends[0] == 0 and ends[-1] == len(data) and bool((np.diff(ends) >= 0).all()), "the ends of the rows of words")
    need(not indices.size or bool(0 <= indices.min() and indices.max() < shape[1]), "the columns of words")
    return sp.csr_array((data, indices, ends), shape=shape)
