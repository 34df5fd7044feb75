"""Boosted trees of several folds, grown side by side, with what they say of the labels that each misses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import numpy as np

from calirare.detectors.trees.arrays import Trees


class Stages:
    """Scores of labels left out in folds, after 0, 1, … rounds of boosting.

    A fold's scores are shifted by what its trees say of all nodes that they did not see, so that all folds are on one level.

    Folds are grown in a `with` block, each on one thread from first to last: LightGBM's silence is a thread's own.

    Args:
        growing: Of each fold, the trees of the next rounds, again and again.
        folds: `(n,)` the fold that leaves each label out.
        rows: `(n, D)` columns of the labelled nodes.
        around: Columns of nodes without a label.
        num_values: K, of a tree; as many trees make a round.
        jobs: Threads.
    """

    def __init__(
        self,
        growing: list[Iterator[Trees]],
        folds: np.ndarray,
        rows: np.ndarray,
        around: np.ndarray,
        num_values: int,
        jobs: int,
    ) -> None:
        self.growing, self.folds, self.jobs = growing, folds, jobs
        self._of_fold = [folds == fold for fold in range(len(growing))]
        self._unseen = [np.concatenate([rows[mine], around]) for mine in self._of_fold]
        self._grown: list[list[Trees]] = [[] for _ in growing]
        self._scores = np.zeros((1, len(folds), num_values))
        self._levels = np.zeros((1, len(growing), num_values))

    def __enter__(self) -> Self:
        self._threads = [ThreadPoolExecutor(1) for _ in range(min(self.jobs, len(self.growing)))]
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.shutdown()

    @property
    def rounds(self) -> int:
        """Grown so far."""
        return len(self._scores) - 1

    def grow(self) -> None:
        """The next rounds of every fold."""
        threads = itertools.cycle(self._threads)
        waiting = [next(threads).submit(self._grow_fold, fold) for fold in range(len(self.growing))]
        found = [one.result() for one in waiting]
        scores, levels = (np.empty((len(found[0]), *each.shape[1:])) for each in (self._scores, self._levels))
        for fold, (mine, added) in enumerate(zip(self._of_fold, found, strict=True)):
            scores[:, mine], levels[:, fold] = added[:, : mine.sum()], added.mean(axis=1)
        self._scores = np.concatenate([self._scores, self._scores[-1] + scores])
        self._levels = np.concatenate([self._levels, self._levels[-1] + levels])

    def _grow_fold(self, fold: int) -> np.ndarray:
        """`(rounds, N, K)`: what the new trees add, round by round, at labels left out and at nodes around."""
        trees = next(self.growing[fold])
        self._grown[fold].append(trees)
        leaves = trees.leaves(self._unseen[fold])
        by_round = trees.value[leaves].reshape(len(leaves), -1, trees.num_values, trees.num_values)
        return by_round.sum(axis=2).cumsum(axis=1).transpose(1, 0, 2)

    def shifts(self, rounds: int) -> np.ndarray:
        """`(n, K)` what brings each label's fold to the level of all."""
        levels = self._levels[rounds]
        found: np.ndarray = (levels.mean(axis=0) - levels)[self.folds]
        return found

    def scores(self, rounds: int) -> np.ndarray:
        """`(n, K)` of the labels, each by the fold that misses it, on one level."""
        found: np.ndarray = self._scores[rounds] + self.shifts(rounds)
        return found

    def trees(self, rounds: int) -> list[Trees]:
        """The first rounds of each fold."""
        found = []
        for batches in self._grown:
            every = batches[0]
            for more in batches[1:]:
                every = every.beside(more)
            found.append(every.take(np.arange(rounds * every.num_values)))
        return found
