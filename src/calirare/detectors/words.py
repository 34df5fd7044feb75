"""Words of a node and of those around it, thousands of sparse columns, as operators and as columns of a linear model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import all_below
from calirare.data.graph import RareGraph
from calirare.detectors.stored import need, numbers, whole
from calirare.features.words import unit_rows


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
        self._stored = words
        self.mean = over_neighbours(graph.adjacency())

    @cached_property
    def words(self) -> sp.csr_array:
        """X."""
        return unit_rows(self._stored)

    @cached_property
    def single(self) -> sp.csr_array:
        """X in single precision: likeness is measured in it."""
        return unit_rows(self._stored, np.float32)

    def rows(self, nodes: np.ndarray, hops: int) -> list[sp.csr_array]:
        """`(len(nodes), F)`: (AʰX) of some nodes, for each number of hops up to `hops`."""
        walk, there = sp.eye_array(len(nodes), format="csr"), nodes
        found = [self._words(nodes)]
        for _ in range(hops):
            step, there = self._step(there)
            walk = walk @ step
            found.append(sp.csr_array(walk @ self._words(there)))
        return found

    def at(self, nodes: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
        """`(len(nodes), k)`: Σ_h AʰX W_h of some nodes, from the outermost hop inwards, no further than they reach."""
        steps, levels = [], [nodes]
        for _ in matrices[1:]:
            step, there = self._step(levels[-1])
            steps.append(step)
            levels.append(there)
        found = self._words(levels[-1]) @ matrices[-1]
        for step, level, matrix in zip(steps[::-1], levels[-2::-1], matrices[-2::-1], strict=True):
            found = step @ found + self._words(level) @ matrix
        return np.asarray(found)

    def _words(self, nodes: np.ndarray) -> Any:
        return self.words[nodes]

    def _step(self, nodes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
        """(mean over the neighbours of each node, the neighbours, ascending)."""
        rows = self.mean[nodes]
        there, places = np.unique(rows.indices, return_inverse=True)
        return sp.csr_array((rows.data, places, rows.indptr), shape=(len(nodes), len(there))), there

    def walks(self, nodes: np.ndarray, hops: int) -> list[sp.csr_array]:
        """`(len(nodes), N)`: (Aʰ) of some nodes, for each number of hops up to `hops`."""
        walk = sp.csr_array((np.ones(len(nodes)), nodes, np.arange(len(nodes) + 1)), shape=(len(nodes), len(self)))
        found = [walk]
        for _ in range(hops):
            found.append(found[-1] @ self.mean if len(found) > 1 else self.mean[nodes])
        return found

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    def everywhere(self, matrices: list[np.ndarray]) -> np.ndarray:
        """`(N, k)`: Σ_h AʰX W_h, from the outermost hop inwards."""
        found = self.words @ matrices[-1]
        for matrix in reversed(matrices[:-1]):
            found = self.mean @ found + self.words @ matrix
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class WordColumns:
    """φ(v) = (Σ_h s_h (AʰX)_v · said_h - middle) turn, s being the scales.

    Args:
        said: Per hop `(S, F)` sparse, the landmarks' words; perhaps of more landmarks behind them.
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
        said = (one[: len(self.turn)].astype(np.float64) for one in self.said)
        return [sp.csr_array(one * s) for one, s in zip(said, self.scales, strict=True)]

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
    need(all_below(indices, shape[1]), "the columns of words")
    return sp.csr_array((data, indices, ends), shape=shape)
