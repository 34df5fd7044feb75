"""What a competitor is: a graph and some labels in, P(rare) of every node out."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from scipy.special import expit, logit
from sklearn.model_selection import train_test_split

from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.detectors.base import DetectorInputs

T = TypeVar("T")
Family = Literal["ours", "tables", "networks", "calibrators", "sets"]
HELD_OUT = 0.25
"""Share of the labels that a method sets aside if it needs held-out ones and the protocol gives none."""
_SMALLEST = 1e-12


class Problem:
    """One graph with the labels that everybody may read, and no others: the rest of `graph.y` is hidden.

    Args:
        graph: With every label; what is not in `split.train` or `split.val` is hidden here, and so is all that a
            benchmark graph brings beside it (original classes, public split, the generator's truth).
        split: The labels to train on, and those for whoever wants to validate.
        seed: Of all that is random.
        rare_share: The population's rare share where the protocol tells it, because the labels do not.
        device: Of our networks and of those as trained; everybody else works on the CPU.
    """

    def __init__(
        self, graph: RareGraph, split: Split, *, seed: int = 0, rare_share: float | None = None, device: str = "cpu"
    ) -> None:
        y = np.full(graph.num_nodes, UNKNOWN)
        y[split.labelled] = (graph.y[split.labelled] == graph.rare_class).astype(np.int64)
        self.graph = replace(
            graph, y=y, rare_class=1, class_names=("normal", "rare"), original_y=None, public_split=None,
            true_probability=None,
        )  # fmt: skip
        self.split = Split(train=split.train, val=split.val)
        self.seed, self.rare_share, self.device = seed, rare_share, device
        self.borrowed = 0.0
        self._kept: dict[Hashable, tuple[Any, float]] = {}

    @property
    def nodes(self) -> np.ndarray:
        """Every labelled node, sorted."""
        return self.split.labelled

    @property
    def y(self) -> np.ndarray:
        """Their labels, 1 for rare."""
        return self.graph.y[self.nodes]

    @property
    def everything(self) -> Split:
        """All labels for training."""
        return Split(train=self.nodes)

    @property
    def held_out(self) -> Split:
        """The protocol's own validation labels, else a quarter of the labels set aside, by class."""
        if self.split.val.size:
            return self.split
        least = int(np.bincount(self.y, minlength=2).min())
        share = max(HELD_OUT, 1.01 / max(least, 1))  # at least one rare label on either side
        train, val = train_test_split(self.nodes, test_size=min(share, 0.5), stratify=self.y, random_state=self.seed)
        return Split(train=np.sort(train), val=np.sort(val))

    @property
    def inputs(self) -> DetectorInputs:
        """The graph as our detectors read it."""
        return self.once("inputs", lambda: DetectorInputs(self.graph, seed=self.seed))

    @property
    def inputs_with_columns(self) -> DetectorInputs:
        """The same, its columns made once and charged to whoever reads them."""
        inputs = self.inputs
        self.once("our columns", lambda: inputs.columns)
        return inputs

    @property
    def network_inputs(self) -> DetectorInputs:
        """The graph as networks read it: where nodes have no attributes, a constant stands in for them."""
        if self.graph.num_features:
            return self.inputs
        ones = replace(self.graph, x=np.ones((self.graph.num_nodes, 1), dtype=np.float32), feature_names=None)
        return self.once("network inputs", lambda: DetectorInputs(ones, seed=self.seed))

    @property
    def device_inputs(self) -> DetectorInputs:
        """`network_inputs` on the device of this problem."""
        found = self.network_inputs
        return found if self.device == "cpu" else DetectorInputs(found.graph, device=self.device, seed=self.seed)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What several competitors need, made once and charged to each of them."""
        if key not in self._kept:
            started, before = time.process_time(), self.borrowed
            value = make()
            self._kept[key] = value, time.process_time() - started + self.borrowed - before
        else:
            self.borrowed += self._kept[key][1]
        return self._kept[key][0]

    def to_population(self, probability: np.ndarray) -> np.ndarray:
        """P(rare) of a model that took the labels for a random sample, moved to the share that the protocol tells.

        logit P' = logit P + logit(share of the population) - logit(share of the labels); the same for everybody who has
        no argument for it.
        """
        if self.rare_share is None:
            return probability
        shift = logit(self.rare_share) - logit(self.y.mean())
        return expit(logit(np.clip(probability, _SMALLEST, 1 - _SMALLEST)) + shift)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a competitor says.

    Args:
        probability: `(N,)` P(rare); None from one that only gives sets.
        sets: `(N, 2)` bool, whether normal and rare belong to the node's set at 90%; None from one that gives none.
    """

    probability: np.ndarray | None
    sets: np.ndarray | None = None


@dataclass(frozen=True)
class Competitor:
    """One line of the leaderboard.

    Args:
        name: Its key, in rows and tables.
        family: Where it stands on the page.
        answer: Reads a problem and nothing else.
        group: Competitors of one group share work and run in one task.
        core: Whether it runs in every protocol, not only with a tenth of the labels.
        slow: Whether it takes so long that it runs only where everything is asked for, and last.
        source: Key in `docs/references.bib`, or what it is.
        reads: Which of the labels it uses for what.
    """

    name: str
    family: Family
    answer: Callable[[Problem], Answer]
    group: str
    core: bool = False
    slow: bool = False
    source: str = ""
    reads: str = "all labels"
