"""Words of a node and of those around it, thousands of sparse columns, seen from a few labelled nodes (*landmarks*).

With X the words (rows of length one), A the row-normalised adjacency and S the landmarks, a node's columns are its
likeness to each of them, k_S(v) = Σ_h s_h (AʰX)_v · (AᵍX)_S with g = min(h, 2), times T = K_SS^(-1/2), K_SS the products of
the landmarks' rows AᵍX. A penalised linear model on these is one on all words of all hops whose coefficients are mixtures
of the landmarks' rows; with every label a landmark and up to two hops that is no restriction. Words of three hops are
nearly those of two, left-out labels are as likely with either, and to find them would be most of the work. Nothing of size
nodes × words is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from calirare.data.graph import RareGraph
from calirare.detectors.stored import need, numbers, whole
from calirare.features.words import unit_rows

MOST_LANDMARKS = 256
_FURTHEST = 2
"""How many hops away the landmarks' own words are read."""
_SAY_BEYOND = 2.0
"""How much likeness further away varies, beside that of so many hops."""
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
        self.words = unit_rows(words).astype(np.float64)
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

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    def product(self, nodes: np.ndarray, matrix: np.ndarray, hops: int) -> np.ndarray:
        """`(len(nodes), k)`: (AʰX)_nodes times `(F, k)`, in the precision of that, over the nodes within reach alone."""
        steps, at = [], nodes
        for _ in range(hops):
            step = self.mean[at]
            within = np.zeros(len(self), dtype=bool)
            within[step.indices] = True
            at, columns = np.flatnonzero(within), (np.cumsum(within) - 1)[step.indices]
            parts = step.data.astype(matrix.dtype), columns, step.indptr
            steps.append(sp.csr_array(parts, shape=(step.shape[0], len(at))))
        found = np.asarray(self.words[at].astype(matrix.dtype) @ matrix)
        for step in reversed(steps):
            found = step @ found
        return found

    def everywhere(self, matrices: list[np.ndarray]) -> np.ndarray:
        """`(N, k)`: Σ_h AʰX W_h, from the outermost hop inwards."""
        found = self.words @ matrices[-1]
        for matrix in reversed(matrices[:-1]):
            found = self.mean @ found + self.words @ matrix
        return np.asarray(found)


class LikenessToLandmarks:
    """For each number of hops how alike the labelled nodes are to the landmarks, measured when it is first asked for.

    Args:
        words: The words of all hops.
        nodes: `(n,)` the labelled nodes.
        landmarks: `(S,)` rows of the labels.
    """

    def __init__(self, words: WordHops, nodes: np.ndarray, landmarks: np.ndarray) -> None:
        self.words, self.nodes, self.landmarks = words, nodes, landmarks
        self.rows: list[sp.csr_array] = []
        self.likeness: list[np.ndarray] = []
        self.products: list[np.ndarray] = []
        self._walk = words.walk(nodes[landmarks], 0)
        self._columns: dict[int, tuple[WordColumns, np.ndarray]] = {}

    def _measure(self, hops: int) -> None:
        """One more hop: `(S, F)` sparse, the landmarks' words, `(n, S)` and `(S, S)`.

        Scaled to a spread of one; from the third hop on so that likeness varies twice as much as that of two hops.
        """
        if hops <= _FURTHEST:
            self._walk = self._walk @ self.words.mean if hops else self._walk
            self._said = sp.csr_array(self._walk @ self.words.words).astype(np.float32)  # as they will be stored
        table = self.words.product(self.nodes, self._said.T.toarray(order="C"), hops)
        if hops <= _FURTHEST:
            among = table[self.landmarks]
            scale = 1.0 / max(float(among.diagonal().mean() - among.mean()), 1e-12)
            self.products.append(among * np.float32(scale))
        else:
            scale = _SAY_BEYOND * _variation(self.likeness[_FURTHEST]) / max(_variation(table), 1e-12)
            self.products.append(self.products[_FURTHEST])
        self.rows.append(sp.csr_array(self._said.astype(np.float64) * scale))
        self.likeness.append(table * np.float32(scale))

    def columns(self, hops: int) -> tuple[WordColumns, np.ndarray]:
        """The columns with this many hops, and those of the labelled nodes, `(n, R)`; made once."""
        if hops not in self._columns:
            self._columns[hops] = self._turned(hops)
        return self._columns[hops]

    def _turned(self, hops: int) -> tuple[WordColumns, np.ndarray]:
        while len(self.rows) <= hops:
            self._measure(len(self.rows))
        share = 1.0 / (hops + 1)
        table = np.float32(share) * np.sum(self.likeness[: hops + 1], axis=0)
        turn = _inverse_root(share * np.sum(self.products[: hops + 1], axis=0, dtype=np.float64))
        middle = table.mean(axis=0, dtype=np.float64)
        rows = [sp.csr_array(matrix * share) for matrix in self.rows[: hops + 1]]
        turned = (table - middle.astype(np.float32)) @ turn.astype(np.float32)
        return WordColumns(rows, turn, middle), turned.astype(np.float64)


def _variation(table: np.ndarray) -> float:
    """Root mean square about the means of the columns."""
    return float(np.sqrt(table.var(axis=0, dtype=np.float64).mean()))


def _inverse_root(table: np.ndarray) -> np.ndarray:
    """T `(S, R)` with T Tᵀ the inverse of the symmetric table, of which next to nothing is left out."""
    try:
        lower = cholesky(table, lower=True, check_finite=False)
        if lower.diagonal().min() ** 2 > _LEAST_APART * table.diagonal().mean():
            return np.asarray(solve_triangular(lower, np.eye(len(table)), lower=True, check_finite=False).T)
    except LinAlgError:  # some landmarks are alike
        pass
    values, vectors = eigh(table)
    kept = values > _LEAST_EIGENVALUE * max(float(values[-1]), 1e-300)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


@dataclass(frozen=True, eq=False)
class WordColumns:
    """φ(v) = (Σ_h (AʰX)_v · rows_h - middle) turn.

    Args:
        rows: Per hop `(S, F)` sparse, scaled.
        turn: T, `(S, R)`.
        middle: `(S,)`, the labelled nodes' mean.
    """

    rows: list[sp.csr_array]
    turn: np.ndarray
    middle: np.ndarray

    def coefficients(self, theta: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Per hop `(F, k)`, what each word counts, and `(k,)` what is to be taken off, for θ `(R, k)`."""
        mixture = self.turn @ theta
        return [matrix.T @ mixture for matrix in self.rows], self.middle @ mixture

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = {"hops": len(self.rows) - 1, "turn": self.turn, "middle": self.middle}
        for hops, matrix in enumerate(self.rows):
            found |= {f"data_{hops}": matrix.data, f"indices_{hops}": matrix.indices, f"ends_{hops}": matrix.indptr}
        return found | {"num_words": self.rows[0].shape[1]}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> WordColumns:
        hops, num_words = whole(state, "hops"), whole(state, "num_words", 1)
        need(hops <= 16, "the number of hops")
        turn = numbers(state, "turn", 2)
        middle = numbers(state, "middle", 1, size=len(turn))
        return cls([_restore_rows(state, hop, (len(turn), num_words)) for hop in range(hops + 1)], turn, middle)


def _restore_rows(state: dict[str, Any], hop: int, shape: tuple[int, int]) -> sp.csr_array:
    ends = numbers(state, f"ends_{hop}", 1, size=shape[0] + 1, kind="i")
    data = numbers(state, f"data_{hop}", 1)
    indices = numbers(state, f"indices_{hop}", 1, size=len(data), kind="i")
    need(ends[0] == 0 and ends[-1] == len(data) and bool((np.diff(ends) >= 0).all()), "the ends of the rows of words")
    need(not indices.size or bool(0 <= indices.min() and indices.max() < shape[1]), "the columns of words")
    return sp.csr_array((data, indices, ends), shape=shape)
