"""Why a node got its probability: the columns that made it, and the labels that pull it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calirare.detectors.base import Contributions


@dataclass(frozen=True, eq=False)
class Explanation:
    """Two tables. Columns: signed shares of the calibrated logit that add up to it with `base`. Labels: strongest first.

    Args:
        node: The node explained.
        probability: Its P(rare).
        logit: log P(rare) - log P(not rare).
        base: What the logit would be where no column speaks.
        column: `(D,)` readable column names, strongest first.
        group: `(D,)` where each comes from: own, neighbours, edges, structure.
        share: `(D,)` its signed share of the logit; positive pulls towards rare.
        labelled_node: `(m,)` nodes whose labels pull.
        label: `(m,)` their classes.
        pull: `(m,)` P(rare) with the label minus P(rare) without it: positive pulls towards rare.
    """

    node: int
    probability: float
    logit: float
    base: float
    column: np.ndarray
    group: np.ndarray
    share: np.ndarray
    labelled_node: np.ndarray
    label: np.ndarray
    pull: np.ndarray

    def __len__(self) -> int:
        return len(self.pull)

    def with_labels(self, nodes: np.ndarray, labels: np.ndarray, pull: np.ndarray) -> Explanation:
        """With the labelled nodes that pull, their classes and pulls, strongest first."""
        order = np.argsort(-np.abs(pull), kind="stable")
        return replace(self, labelled_node=nodes[order], label=labels[order], pull=pull[order])

    def frame(self) -> dict[str, np.ndarray]:
        """The labels that pull, as columns by name."""
        return {"labelled_node": self.labelled_node, "label": self.label, "pull": self.pull}


def make_explanation(node: int, probability: float, found: Contributions, slope: float) -> Explanation:
    """The shares of the columns, strongest first; labels are added by `with_labels`.

    Args:
        node: The node.
        probability: P(rare).
        found: How the columns made the detector's logit.
        slope: How far the calibrated logit moves per unit of the detector's.
    """
    clipped = min(max(probability, 1e-15), 1 - 1e-15)
    logit = float(np.log(clipped) - np.log1p(-clipped))
    share = slope * found.shares
    order = np.argsort(-np.abs(share), kind="stable")
    none = np.empty(0, dtype=np.int64)
    return Explanation(
        node=node,
        probability=probability,
        logit=logit,
        base=logit - float(share.sum()),
        column=np.array(found.names, dtype=object)[order],
        group=np.array(found.groups, dtype=object)[order],
        share=share[order],
        labelled_node=none,
        label=none,
        pull=np.empty(0),
    )
