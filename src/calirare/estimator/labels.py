"""Which labels a method reads, and no others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.checks import check_share
from calirare.data.graph import RareGraph, require_graph
from calirare.data.split import Split
from calirare.data.splits import split_labels
from calirare.errors import InputError, LabelError
from calirare.estimator.methods import Method

_HELD_OUT_SHARE = 0.25
"""Share of the known labels set aside for a method that calibrates on held-out labels when no split is given."""


@dataclass(frozen=True)
class CountedShares:
    """`(C,)` class shares of the population, and how many random labels they were counted on."""

    shares: np.ndarray
    num_labels: int


@dataclass(frozen=True)
class ReadLabels:
    """The labels a method reads, and no others: nodes and classes for training and for calibration on held-out ones."""

    train_nodes: np.ndarray
    train_y: np.ndarray
    val_nodes: np.ndarray
    val_y: np.ndarray

    @classmethod
    def of(cls, method: Method, graph: RareGraph, split: Split | None, seed: int) -> ReadLabels:
        """Pick them by the method's declaration. Without a split: the one that came with the graph,
        else every known label."""
        require_graph(graph)
        if split is not None and not isinstance(split, Split):
            raise InputError(
                f"split must be a Split of train, val and test nodes, or None; got {type(split).__name__}."
            )
        if split is None:
            split = graph.public_split or _split_of_known(method, graph, seed)
        train_nodes = split.labelled if method.trains_on == "train+val" else split.train
        val_nodes = split.val if method.reads_validation else np.empty(0, dtype=np.int64)
        for role, nodes in (("train", train_nodes), ("val", val_nodes)):
            if nodes.size and nodes.max() >= graph.num_nodes:
                raise InputError(
                    f"split.{role} names node {int(nodes.max())}; the graph has nodes 0…{graph.num_nodes - 1}."
                )
            unknown = nodes[graph.y[nodes] == UNKNOWN]
            if unknown.size:
                raise LabelError(
                    f"split.{role} holds {unknown.size} nodes without a label, first {unknown[:5].tolist()}; leave them out."
                )
        labels = cls(train_nodes, graph.y[train_nodes], val_nodes, graph.y[val_nodes])
        labels._check(method, graph)
        return labels

    def _check(self, method: Method, graph: RareGraph) -> None:
        missing = np.setdiff1d(np.arange(graph.num_classes), self.train_y)
        if missing.size:
            names = ", ".join(repr(graph.class_names[c]) for c in missing[:5]) + ", …" * (missing.size > 5)
            way_out = " graph.against_rest() joins all classes but the rare one." if graph.num_classes > 2 else ""
            raise LabelError(
                f"training needs at least one label of every class; none of [{names}] is labelled.{way_out}"
            )
        if method.evidence == "val" and len(np.unique(self.val_y)) < 2:
            raise LabelError(
                f"method {method.name!r} calibrates on validation labels of at least two classes; "
                f"the split has {len(self.val_y)} validation labels of {len(np.unique(self.val_y))} class(es). "
                "Give more, or use method='jackknife', which needs no held-out labels."
            )

    @property
    def all(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and classes of both."""
        return np.concatenate([self.train_nodes, self.val_nodes]), np.concatenate([self.train_y, self.val_y])

    def counted(self, graph: RareGraph) -> CountedShares:
        """Class shares of the population: the validation labels' where they are of every class, else the training labels'."""
        for y in (self.val_y, self.train_y):
            counts = np.bincount(y, minlength=graph.num_classes).astype(np.float64)
            if counts.all():
                break
        return CountedShares(counts / counts.sum(), y.size)


def move_rare_share(shares: np.ndarray, rare_class: int, rare_share: float) -> np.ndarray:
    """Class shares `(C,)` with this one of the rare class; the others keep their proportions.

    >>> move_rare_share(np.array([0.6, 0.3, 0.1]), 2, 0.4)
    array([0.4, 0.2, 0.4])
    """
    check_share(rare_share, "rare_share")
    others = shares.copy()
    others[rare_class] = 0.0
    moved = (1 - rare_share) * others / others.sum()
    moved[rare_class] = rare_share
    return moved


def _split_of_known(method: Method, graph: RareGraph, seed: int) -> Split:
    known = graph.known
    if not known.size:
        raise LabelError("the graph has no known label; give labels to some nodes of each class.")
    if method.evidence != "val" and method.refinement is None:
        return Split(train=known)
    return split_labels(
        graph, train_fraction=1 - _HELD_OUT_SHARE, val_fraction=_HELD_OUT_SHARE, test_fraction=0.0, seed=seed
    )
