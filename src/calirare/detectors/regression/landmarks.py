"""Words seen from a few labelled nodes (*landmarks*).

With X the words (rows of length one), A the row-normalised adjacency and S the landmarks, a node's columns are its
likeness to each of them, k_S(v) = Σ_h s_h (AʰX)_v · (AᵍX)_S with g = min(h, 2), times T = K_SS^(-1/2), K_SS the products of
the landmarks' rows AᵍX. A penalised linear model on these is one on all words of all hops whose coefficients are mixtures
of the landmarks' rows; with every label a landmark and up to two hops that is no restriction. Words of three hops are
nearly those of two, left-out labels are as likely with either, and to find them would be most of the work. Nothing of size
nodes × words is ever made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh

from calirare.data.sparse.products import single_product
from calirare.detectors.logistic.leverage import whitened
from calirare.detectors.words import WordColumns, WordHops

MOST_LANDMARKS = 256
_FURTHEST = 2
"""Hops up to which the landmarks' own words are read."""
_SAY_BEYOND = 2.0
"""How much likeness beyond `_FURTHEST` hops varies, relative to likeness at that distance."""
_COLUMNS_AT_ONCE = 96
_LEAST_EIGENVALUE = 1e-5
"""Smaller eigenvalues, relative to the largest, are rounding: likeness is measured in single precision."""
_LEAST_APART = 1e-3
"""All landmarks are kept if each adds at least this share of a landmark's mean likeness to itself."""


def choose_landmarks(y: np.ndarray, groups: np.ndarray, seed: int, most: int = MOST_LANDMARKS) -> np.ndarray:
    """Rows of the labels that serve as landmarks: one per group, classes in equal numbers as far as they go, from the first on.

    >>> choose_landmarks(np.array([0, 0, 0, 0, 1, 0]), np.array([0, 1, 2, 3, 4, 0]), seed=0, most=3).tolist()
    [2, 4, 3]
    """
    rows = np.unique(groups, return_index=True)[1]
    order = np.random.default_rng(seed).permutation(rows)
    ranks = np.empty(len(order))
    for label in np.unique(y):
        mine = y[order] == label
        ranks[mine] = np.arange(mine.sum())
    return order[np.argsort(ranks, kind="stable")[:most]]


class WithinReach:
    """The nodes within reach of some, hop by hop; nothing is computed for others.

    Args:
        words: The words of all hops.
        nodes: `(n,)` the nodes in the middle.
    """

    def __init__(self, words: WordHops, nodes: np.ndarray) -> None:
        self.words, self.nodes = words, [nodes]
        self.said = [single_product(words.single[nodes])]
        self.means: list[Callable[[np.ndarray], np.ndarray]] = []

    def _further(self) -> None:
        mean = self.words.mean[self.nodes[-1]]
        within = np.zeros(len(self.words), dtype=bool)
        within[mean.indices] = True
        self.nodes.append(np.flatnonzero(within))
        self.said.append(single_product(self.words.single[self.nodes[-1]]))
        arrays = mean.data, (np.cumsum(within) - 1)[mean.indices], mean.indptr
        self.means.append(single_product(sp.csr_array(arrays, shape=(mean.shape[0], len(self.nodes[-1])))))

    def likeness(self, hops: int, matrix: np.ndarray, columns: range) -> np.ndarray:
        """`(n, k)` float32: these columns of AʰX W of the nodes in the middle, so few at a time that caches hold them."""
        while len(self.nodes) <= hops:
            self._further()
        blocks = []
        for start in columns[::_COLUMNS_AT_ONCE]:
            stop = min(start + _COLUMNS_AT_ONCE, columns.stop)
            found = self.said[hops](np.ascontiguousarray(matrix[:, start:stop]))
            for mean in reversed(self.means[:hops]):
                found = mean(found)
            blocks.append(found)
        return np.concatenate(blocks, axis=1)


class LikenessToLandmarks:
    """How alike the labelled nodes are to the landmarks, for each number of hops, measured when first asked for.

    Of up to two hops it is measured to all of them at once, further to as many as are asked about.

    Args:
        words: The words of all hops.
        nodes: `(n,)` the labelled nodes.
        landmarks: `(S,)` rows of the labels.
        few: By how many of them, the first, hops are chosen and scales are told; None: all.
    """

    def __init__(self, words: WordHops, nodes: np.ndarray, landmarks: np.ndarray, few: int | None = None) -> None:
        self.words, self.nodes, self.landmarks = words, nodes, landmarks
        self.few = len(landmarks) if few is None else min(few, len(landmarks))
        self.around = WithinReach(words, nodes)
        self.said: list[sp.csr_array] = []
        self._words: list[np.ndarray] = []
        self.scales: list[float] = []
        self._tables: list[np.ndarray] = []
        self._columns: dict[tuple[int, int], tuple[WordColumns, np.ndarray]] = {}

    def columns(self, hops: int, count: int | None = None) -> tuple[WordColumns, np.ndarray]:
        """The columns with this many hops, and those of the labelled nodes, `(n, R)`; made once.

        Args:
            hops: How far words are carried.
            count: By how many landmarks, the first, they are seen, on the scales that the few have; None: all.
        """
        count = len(self.landmarks) if count is None else count
        if (hops, count) not in self._columns:
            if len(self.said) <= min(hops, _FURTHEST):
                self._read(min(hops, _FURTHEST))
            for hop in range(hops + 1):
                self._measure(hop, count)
            self._columns[hops, count] = self._turned(hops, count)
        return self._columns[hops, count]

    def _read(self, hops: int) -> None:
        """`(S, F)` float32: the landmarks' words of each number of hops, sparse, and dense on their side."""
        walks = self.words.walks(self.nodes[self.landmarks], hops)
        self.said = [sp.csr_array(walk.astype(np.float32) @ self.words.single) for walk in walks]
        self._words += [one.T.toarray(order="C") for one in self.said[len(self._words) :]]

    def _measure(self, hop: int, count: int) -> None:
        """Measure the likeness `(n, count)` or more at this many hops, and its scale.

        A spread of one; from the third hop on such that it varies twice as much as that of two hops.
        """
        if hop == len(self._tables):
            self._tables.append(np.empty((len(self.nodes), 0), dtype=np.float32))
        known = self._tables[hop].shape[1]
        new = range(known, count if hop > _FURTHEST else len(self.landmarks))
        if known < count:
            found = self.around.likeness(hop, self._words[min(hop, _FURTHEST)], new)
            self._tables[hop] = np.concatenate([self._tables[hop], found], axis=1)
        few = self._tables[hop][:, : self.few]
        if hop == len(self.scales) and hop <= _FURTHEST:
            among = few[self.landmarks[: self.few]]
            self.scales.append(1.0 / max(float(among.diagonal().mean() - among.mean()), 1e-12))
        elif hop == len(self.scales):
            beside = self.scales[_FURTHEST] * _variation(self._tables[_FURTHEST][:, : self.few])
            self.scales.append(_SAY_BEYOND * beside / max(_variation(few), 1e-12))

    def _turned(self, hops: int, count: int) -> tuple[WordColumns, np.ndarray]:
        reads = [min(hop, _FURTHEST) for hop in range(hops + 1)]
        scales = [scale / (hops + 1) for scale in self.scales[: hops + 1]]
        tables = [one[:, :count] for one in self._tables]
        table = sum(np.float32(s) * one for s, one in zip(scales, tables, strict=False))
        products = sum(scales[read] * tables[read][self.landmarks[:count]].astype(np.float64) for read in reads)
        turn, middle = _inverse_root(np.asarray(products)), np.asarray(np.mean(table, axis=0, dtype=np.float64))
        turned = (table - middle.astype(np.float32)) @ turn.astype(np.float32)
        return WordColumns([self.said[read] for read in reads], scales, turn, middle), turned.astype(np.float64)


def _variation(table: np.ndarray) -> float:
    """Root mean square about the means of the columns."""
    return float(np.sqrt(table.var(axis=0, dtype=np.float64).mean()))


def _inverse_root(table: np.ndarray) -> np.ndarray:
    """T `(S, R)` with T Tᵀ the inverse of the symmetric table, without directions in which it is next to nothing."""
    try:
        lower = cholesky(table, lower=True, check_finite=False)
        if lower.diagonal().min() ** 2 > _LEAST_APART * table.diagonal().mean():
            return whitened(lower, np.eye(len(table)))
    except LinAlgError:  # some landmarks are alike
        pass
    values, vectors = eigh(table)
    kept = values > _LEAST_EIGENVALUE * max(float(values[-1]), 1e-300)
    return vectors[:, kept] / np.sqrt(values[kept])
