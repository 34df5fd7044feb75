"""The few labels that pull each of many predictions most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_BLOCK = 4_096


@dataclass(frozen=True, eq=False)
class Pulls:
    """For each of n nodes its k strongest labelled nodes, strongest first.

    Args:
        node: `(n, k)` labelled nodes; -1 where nothing is told of a node.
        label: `(n, k)` their classes; likewise.
        pull: `(n, k)` P(rare) with the label minus P(rare) without it: positive pulls towards rare; 0 where nothing is told.
    """

    node: np.ndarray
    label: np.ndarray
    pull: np.ndarray

    @property
    def told(self) -> np.ndarray:
        """`(n,)` bool: the nodes of which something is told."""
        return np.asarray((self.node >= 0).any(axis=1))

    def among(self, told: np.ndarray) -> Pulls:
        """The same among more nodes, told of those of a mask alone, in their order."""
        found = Pulls(*(np.full((len(told), self.node.shape[1]), empty) for empty in (-1, -1, 0.0)))
        for whole, part in zip(vars(found).values(), vars(self).values(), strict=True):
            whole[told] = part
        return found


def strongest_pulls(
    table: np.ndarray, probability: np.ndarray, labelled_nodes: np.ndarray, labels: np.ndarray, count: int
) -> Pulls:
    """The `count` labels whose removal would change each P(rare) most.

    Args:
        table: `(n, m)` P(rare) of each node by the model without each of m labels.
        probability: `(n,)` P(rare) by the whole model.
        labelled_nodes: `(m,)` the labelled nodes.
        labels: `(m,)` their classes.
        count: How many to keep.

    >>> found = strongest_pulls(np.array([[0.5, 0.2, 0.4]]), np.array([0.4]), np.array([7, 8, 9]), np.array([0, 1, 0]), 2)
    >>> found.node.tolist(), found.pull.round(3).tolist()
    ([[8, 7]], [[0.2, -0.1]])
    """
    kept = min(max(count, 0), table.shape[1])
    place = np.empty((len(table), kept), dtype=np.int64)
    pull = np.empty((len(table), kept))
    for start in range(0, len(table) if kept else 0, _BLOCK):
        part = slice(start, start + _BLOCK)
        change = probability[part, None] - table[part]
        size = np.abs(change)
        best = np.argpartition(-size, kept - 1, axis=1)[:, :kept]
        order = np.argsort(-np.take_along_axis(size, best, axis=1), axis=1, kind="stable")
        place[part] = np.take_along_axis(best, order, axis=1)
        pull[part] = np.take_along_axis(change, place[part], axis=1)
    return Pulls(labelled_nodes[place], labels[place], pull)
