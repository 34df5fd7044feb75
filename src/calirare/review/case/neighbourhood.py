"""What to draw around a node: its neighbours, or a fair few of them where there are too many to see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.plots.layout import spring_layout
from calirare.review.snapshot import Snapshot

MOST_NEIGHBOURS = 40
MOST_DRAWN = 64
_MOST_LABELLED = 12
_MOST_PROBABLE = 16


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A small graph around a node.

    Args:
        nodes: `(k,)` drawn nodes; the first is the node itself, then its neighbours, then nodes two steps away.
        step: `(k,)` 0, 1 or 2.
        edges: `(2, E)` positions in `nodes`, each edge once.
        position: `(k, 2)` in [0, 1]², the node itself in the middle.
        said: What is drawn and what is not, in words.
    """

    nodes: np.ndarray
    step: np.ndarray
    edges: np.ndarray
    position: np.ndarray
    said: str


def neighbourhood(snapshot: Snapshot, node: int) -> Neighbourhood:
    """The node with its neighbours; where they are few, also some of their neighbours."""
    near, said = _choose_near(snapshot, node)
    far, total_far = _choose_far(snapshot, node, near) if near.size < MOST_NEIGHBOURS else (near[:0], 0)
    if total_far:
        said += f" {_some(far.size, total_far)} two steps away."
    nodes = np.concatenate([[node], near, far])
    step = np.repeat([0, 1, 2], [1, near.size, far.size])
    edges = _edges_among(snapshot, nodes)
    return Neighbourhood(nodes, step, edges, _place(nodes.size, edges), said)


def _choose_near(snapshot: Snapshot, node: int) -> tuple[np.ndarray, str]:
    """Some neighbours: those with a label, the most probable ones, and the rest at random."""
    every = snapshot.neighbours(node)
    if every.size <= MOST_NEIGHBOURS:
        return every, ("No neighbours.", "Its only neighbour.")[
            every.size
        ] if every.size < 2 else f"All {every.size} neighbours."
    p, label = snapshot.scores.probability[every], snapshot.label[every]
    rng = np.random.default_rng(node)  # the same picture whenever the case is opened
    labelled = rng.permutation(np.flatnonzero(label != UNKNOWN))
    rare_first = np.argsort(label[labelled] != snapshot.graph.rare_class, kind="stable")
    labelled = labelled[rare_first][:_MOST_LABELLED]
    left = np.setdiff1d(np.arange(every.size), labelled)
    scored = left[[one not in snapshot.other_kind for one in every[left].tolist()]]
    probable = scored[np.argsort(-p[scored], kind="stable")[:_MOST_PROBABLE]]
    left = np.setdiff1d(left, probable)
    rest = rng.choice(left, MOST_NEIGHBOURS - labelled.size - probable.size, replace=False)
    said = f"{MOST_NEIGHBOURS} of {every.size:,} neighbours"
    if labelled.size or probable.size:
        said += f": {labelled.size} with a label, the {probable.size} most probable, {rest.size} at random."
    else:
        said += ", at random; their kind is not scored."
    return every[np.concatenate([labelled, probable, rest])], said


def _choose_far(snapshot: Snapshot, node: int, near: np.ndarray) -> tuple[np.ndarray, int]:
    """Nodes two steps away, the most probable ones, and how many there are.

    A neighbour that is a hub brings thousands; of each neighbour's row only a bounded part is looked at.
    """
    rows = [snapshot.neighbours(one)[:2_000] for one in near]
    reached = np.setdiff1d(np.concatenate([*rows, near[:0]]), np.append(near, node))
    room = max(MOST_DRAWN - 1 - near.size, 0)
    best = np.argsort(-snapshot.scores.probability[reached], kind="stable")[:room]
    return reached[best], reached.size


def _edges_among(snapshot: Snapshot, nodes: np.ndarray) -> np.ndarray:
    part = snapshot.adjacency[nodes][:, nodes].tocoo()
    once = part.row < part.col
    return np.vstack([part.row[once], part.col[once]]).astype(np.int64)


def _place(count: int, edges: np.ndarray) -> np.ndarray:
    """Springs, turned so that the first node lies in the middle and the farthest on the rim."""
    if count == 1:
        return np.full((1, 2), 0.5)
    position = spring_layout(count, edges, iterations=80)
    offset = position - position[0]
    return 0.5 + offset / (2 * max(float(np.abs(offset).max()), 1e-9))


def _some(shown: int, total: int) -> str:
    return f"All {total:,} nodes" if shown == total else f"The {shown:,} most probable of {total:,} nodes"
