"""Trees on bootstrap samples of the labels, and what those that did not see a label say of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.detectors.left_out.folds import rarest_of_groups
from calirare.detectors.trees.arrays import Trees


@dataclass(frozen=True, eq=False)
class Grove:
    """Trees, and their votes on each of n labels, added up over those that did not see it.

    The level of a tree is its mean vote on all labels that it did not see. Without a rare label the other rare ones are
    drawn more often in its place, and leaves made of fewer, heavier labels vote otherwise everywhere; that is no evidence
    about the label.

    Args:
        trees: T trees.
        out_of_bag: `(T, G)` which groups of labels a tree did not see.
        votes: `(n, C)`.
        level: `(n, C)` the levels of the same trees.
        count: `(n, 1)` how many they are.
    """

    trees: Trees
    out_of_bag: np.ndarray
    votes: np.ndarray
    level: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, trees: Trees, out_of_bag: np.ndarray, rows: np.ndarray, groups: np.ndarray) -> Grove:
        """Args: the trees; the groups that each did not see; `(n, D)` columns and `(n,)` groups of the labels."""
        unseen = out_of_bag[:, groups].T
        votes = trees.value[trees.leaves(rows)] * unseen[:, :, None]
        level = votes.sum(axis=0) / np.maximum(unseen.sum(axis=0), 1)[:, None]
        return cls(trees, out_of_bag, votes.sum(axis=1), unseen @ level, unseen.sum(axis=1, keepdims=True))

    def beside(self, other: Grove) -> Grove:
        """Both together."""
        return Grove(
            self.trees.beside(other.trees),
            np.concatenate([self.out_of_bag, other.out_of_bag]),
            self.votes + other.votes,
            self.level + other.level,
            self.count + other.count,
        )

    def shares(self, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`(n, C)` twice: mean votes and mean levels; the prior where every tree saw a label."""
        count, some = np.maximum(self.count, 1), self.count > 0
        return np.where(some, self.votes / count, prior), np.where(some, self.level / count, prior)


def bootstrap_counts(y: np.ndarray, groups: np.ndarray, trees: int, rng: np.random.Generator) -> np.ndarray:
    """`(trees, G)`: how often each tree draws each group, as many of each class as there are.

    A group counts as of its rarest class. The only group of a class would be drawn by every tree and have no left-out
    evidence; it is drawn by two of three.

    >>> rng = np.random.default_rng(0)
    >>> counts = bootstrap_counts(np.array([0, 0, 0, 1, 1]), np.arange(5), 100, rng)
    >>> np.unique(counts.sum(axis=1)), np.unique(counts[:, 3:].sum(axis=1)), (counts == 0).any(axis=0).all().item()
    (array([5]), array([2]), True)
    """
    label = rarest_of_groups(y, groups)
    counts = np.zeros((trees, len(label)), dtype=np.int32)
    for one in np.unique(label):
        mine = np.flatnonzero(label == one)
        if len(mine) == 1:
            counts[:, mine[0]] = rng.permutation(np.arange(trees) % 3 > 0)
            continue
        drawn = mine[rng.integers(0, len(mine), (trees, len(mine)))]
        np.add.at(counts, (np.arange(trees)[:, None], drawn), 1)
    nothing = np.flatnonzero(~counts.any(axis=1))  # where every class has a single group
    counts[nothing, rng.integers(0, len(label), nothing.size)] = 1
    return counts
