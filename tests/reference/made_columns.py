"""Tables whose columns are made from neighbours' labels, and the same columns made from the truth, one plain loop each."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class World:
    """People who know each other at random, or rare ones each other.

    Args:
        y: `(n,)` 1 where rare.
        known: `(n,)` whose label is known.
        pairs: `(m, 2)` who knows whom.
    """

    y: np.ndarray
    known: np.ndarray
    pairs: np.ndarray

    @classmethod
    def draw(cls, seed=0, n=1500, rare=0.06, labelled=0.35, degree=4, alike=0.0):
        rng = np.random.default_rng(seed)
        y, known = (rng.random(n) < rare).astype(int), rng.random(n) < labelled
        pairs = rng.integers(0, n, (n * degree // 2, 2))
        moved = (y[pairs[:, 0]] == 1) & (rng.random(len(pairs)) < alike)
        pairs[moved, 1] = rng.choice(np.flatnonzero(y), moved.sum())
        return cls(y, known, pairs[pairs[:, 0] != pairs[:, 1]])

    @property
    def around(self):
        """Each one's acquaintances, each once."""
        found = [set() for _ in self.y]
        for one, other in self.pairs.tolist():
            found[one].add(other)
            found[other].add(one)
        return found

    def sums(self, values):
        """Over the acquaintances."""
        return np.array([sum(values[other] for other in around) for around in self.around], dtype=float)

    def distance(self, rare):
        """Steps to the nearest other node of these; 9 where there is none so near."""
        found, around = np.full(self.y.size, 9.0), self.around
        for node in range(self.y.size):
            seen, queue = {node}, deque([(node, 0)])
            while queue and found[node] == 9:
                here, steps = queue.popleft()
                for other in around[here] - seen:
                    seen.add(other)
                    queue.append((other, steps + 1))
                    if rare[other]:
                        found[node] = min(found[node], steps + 1)
                if steps >= 3:
                    break
        return found

    def columns(self, rare, known):
        """What an analyst may put into her table, from these labels."""
        count, labelled, degree = self.sums(rare), self.sums(known), self.sums(np.ones(self.y.size))
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "known bad contacts": count,
                "bad share": count / np.maximum(degree, 1),
                "bad share of known": np.where(labelled > 0, count / labelled, np.nan),
                "next to fraud": np.where(count > 0, "yes", "no"),
                "steps to fraud": self.distance(rare),
            }

    def tables(self, **columns):
        """Nodes with an age and these columns, and edges."""
        age = np.random.default_rng(1).integers(18, 80, self.y.size)
        label = np.where(self.known, np.where(self.y == 1, "yes", "no"), None)
        nodes = {"id": np.arange(self.y.size), "age": age, **columns, "fraud": label}
        return nodes, {"source": self.pairs[:, 0], "target": self.pairs[:, 1]}
