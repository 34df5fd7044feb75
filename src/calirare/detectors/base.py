"""What a detector is: a graph and some labels in, logits for every node and left-out logits for the labelled ones out.

That is the whole contract. Calibration, sets, triage, reports and the desk need nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import torch
from sklearn.base import BaseEstimator

from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.data.node_keys import is_known_by, node_keys
from calirare.detectors.words import WordHops
from calirare.errors import LabelError, NotFittedError
from calirare.features.columns import ColumnGroup, Columns
from calirare.features.ends import over_root, row_sums
from calirare.features.recipe import ColumnRecipe
from calirare.features.relations import Relation, relation_matrix
from calirare.features.structure import neighbours

Progress = Callable[[float, str], None]
"""Called with the share of the work that is done, and what is being done."""
State = dict[str, Any]
"""What a fit learned, as plain numbers, texts, lists and NumPy arrays, so that it can be stored without pickle."""


@runtime_checkable
class Sender(Protocol):
    """A detector that says what the nodes of the network of its fit pass on to their neighbours."""

    @property
    def pairs(self) -> np.ndarray:
        """`(E, 2)` keys of the ends of some edges, by which the network is known again."""

    @property
    def over(self) -> Relation:
        """To which neighbours it passes on, and what they count."""

    def passes_on(self, keys: np.ndarray, degree: np.ndarray) -> np.ndarray:
        """`(n, k)` what nodes with these keys, whose neighbours count so much together, pass on."""


@dataclass(frozen=True, eq=False)
class LabelledNodes:
    """The labels that a detector may read, and no others.

    Args:
        nodes: `(n,)` node indices.
        y: `(n,)` their classes.
        weights: `(n,)` their weights in the loss, summing to one.
        num_classes: Number of classes.
        groups: `(n,)` labels with the same number are left out together: copies of one row tell on each other.
    """

    nodes: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    num_classes: int
    groups: np.ndarray

    def __len__(self) -> int:
        return len(self.nodes)

    def require_two_classes(self) -> None:
        """Refuse labels from which nothing can be told apart."""
        if len(np.unique(self.y)) < 2:
            raise LabelError("the labels hold a single class, which says nothing about the other; give labels of both.")

    def take(self, rows: np.ndarray) -> LabelledNodes:
        """Some of the labels; their weights sum to one again."""
        weights = self.weights[rows]
        return LabelledNodes(
            self.nodes[rows], self.y[rows], weights / weights.sum(), self.num_classes, self.groups[rows]
        )


class DetectorInputs:
    """A graph as detectors read it: tensors for networks, columns for the others, each made at first use.

    Args:
        graph: The graph.
        recipe: How its columns are made, as learned at fit; None: learned from this graph when columns are asked for.
        device: Of the tensors.
        seed: Of what is random in learning the recipe.
        apart: Columns of the nodes that may be read of the node itself alone, for those of its neighbours hold its own label
            (`calirare.data.tables.findings.from_labels`).
    """

    def __init__(
        self,
        graph: RareGraph,
        recipe: ColumnRecipe | None = None,
        device: torch.device | str = "cpu",
        seed: int = 0,
        apart: Collection[str] = (),
    ) -> None:
        self.graph, self.recipe, self.device, self.seed = graph, recipe, torch.device(device), seed
        self.apart = apart

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @cached_property
    def alone(self) -> np.ndarray:
        """`(N,)` which nodes have no edges."""
        return self.graph.degree == 0

    @cached_property
    def keys(self) -> np.ndarray:
        """`(N,)` by which nodes of the fit are known again (`calirare.data.node_keys`)."""
        return node_keys(self.graph)

    def from_neighbours(self, sender: Sender) -> np.ndarray:
        """`(N, k)` what the neighbours of each node pass on to it, over the root of what they count; 0 in another network."""
        adjacency = neighbours(self.graph)
        starts, ends = adjacency.indptr, adjacency.indices
        known = is_known_by(sender.pairs, self.keys, lambda one, other: other in ends[starts[one] : starts[one + 1]])
        if sender.over != Relation():
            adjacency = relation_matrix(self.graph, sender.over)
        degree = row_sums(adjacency.indptr, adjacency.data)
        return known * over_root(adjacency, sender.passes_on(self.keys, degree))

    @cached_property
    def tensors(self) -> GraphInputs:
        return GraphInputs(self.graph, self.device)

    @cached_property
    def columns(self) -> Columns:
        if self.recipe is not None:
            return self.recipe.apply(self.graph)
        self.recipe, columns = ColumnRecipe.learn_and_apply(self.graph, self.seed, self.apart)
        return columns

    @cached_property
    def word_hops(self) -> WordHops:
        """The words of each node and of those around it, for detectors that read words as they are."""
        assert self.columns.words is not None
        return WordHops(self.graph, self.columns.words)


@dataclass(frozen=True, eq=False)
class Contributions:
    """How the columns made one node's logit: `base` and the shares add up to it.

    The logit is that of the rare class against the others, log P(rare) - log P(not rare) before calibration.

    Args:
        base: What the detector says where no column speaks.
        names: Readable column names.
        groups: Where each column comes from.
        shares: `(D,)` signed shares; positive pulls towards rare.
    """

    base: float
    names: tuple[str, ...]
    groups: tuple[ColumnGroup, ...]
    shares: np.ndarray

    @property
    def logit(self) -> float:
        return float(self.base + self.shares.sum())


def gather_blocks(blocks: Iterator[tuple[np.ndarray, np.ndarray]], rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """`(len(places), len(rows), …, C)`: what blocks `(some of rows, (N, b, …, C))` say of some places, row by row."""
    told, found = zip(*((part, logits[places]) for part, logits in blocks), strict=True)
    order = {int(row): at for at, row in enumerate(np.concatenate(told))}
    return np.concatenate(found, axis=1)[:, [order[int(row)] for row in rows]]


class Detector(BaseEstimator, ABC):
    """Finds. A member stores its arguments untouched, and `fit` writes only names that end in an underscore."""

    name: ClassVar[str]
    """What `detector=` may be instead of an object."""
    learned: ClassVar[str] = "left_out_"
    """The name of an attribute that only a fitted detector has."""
    left_out_: np.ndarray
    """`(n, C)`: what `left_out_logits` gives, where `fit` finds it."""

    @abstractmethod
    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        """Learn from the labels; nothing else of `inputs.graph.y` is read."""

    def _check_fitted(self) -> None:
        if not hasattr(self, self.learned):
            raise NotFittedError(f"{type(self).__name__} is not fitted; call fit first.")

    @abstractmethod
    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        """`(N, C)` float64 logits of every node."""

    def left_out_logits(self) -> np.ndarray:
        """`(n, C)` float64: what each labelled node would have been told had its label (and its group's) been missing."""
        self._check_fitted()
        return self.left_out_.copy()

    @abstractmethod
    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks `(some of rows, (N, b, C))`: every node's logits by the detector that missed each of these labels."""

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """`(len(nodes), len(rows), …, C)`: the logits of a few nodes by the detector that missed each of these labels."""
        return gather_blocks(self.logits_without(inputs, rows), rows, nodes)

    @property
    def left_out_rows(self) -> np.ndarray:
        """The labels that `logits_without` can answer for, most telling first where there are too many."""
        return np.arange(len(self.left_out_logits()))

    @property
    def nothing(self) -> np.ndarray | None:
        """`(C,)` its logits where it has nothing to say, and a stack hears the others in its place; None: it always speaks."""
        return None

    def skip_with(self, labels: LabelledNodes) -> str | None:
        """Why a stack should not even fit this detector to these labels, or None."""
        return None

    def skip(self) -> str | None:
        """Why a stack should go on without this detector, or None. Asked before its left-out logits, which may cost."""
        return None

    def to(self, device: torch.device) -> Self:
        """Answer on this device from now on."""
        return self

    @abstractmethod
    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        """How the columns made this node's logit."""

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        """The same for several nodes."""
        for node in nodes.tolist():
            yield self.contributions(inputs, node, rare_class)

    @abstractmethod
    def state(self) -> State:
        """What `fit` learned."""

    @abstractmethod
    def restore(self, state: State) -> Self:
        """Take over what `state` gave, checked: a stored file can hold anything."""
