"""Why a node got its probability: the columns that made it, and the labels that pull it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from calirare.data.named_columns import NamedColumns
from calirare.detectors.base import Contributions

_SHOWN = 3
"""Columns and labels in the short form."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Two tables. Columns: signed shares of the calibrated logit that add up to it with `base`. Labels: strongest first.

    Args:
        node: The node explained.
        probability: Its P(rare).
        logit: log P(rare) - log P(not rare).
        base: What the logit would be where no column speaks.
        column: `(D,)` readable column names, strongest first.
        group: `(D,)` where each comes from: own, neighbours, edges, structure, labels.
        share: `(D,)` its signed share of the logit; positive pulls towards rare.
        labelled_node: `(m,)` nodes whose labels pull.
        label: `(m,)` their classes.
        pull: `(m,)` P(rare) with the label minus P(rare) without it: positive pulls towards rare.
        ids: `(N,)` the user's names of the nodes; None: their numbers.
        of_graph: Whether the labelled nodes are of this graph, and have its names.
        class_names: One per class.
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
    ids: np.ndarray | None = None
    of_graph: bool = True
    class_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pull)

    def __repr__(self) -> str:
        columns = zip(self.share[:_SHOWN], self.column[:_SHOWN], strict=True)
        labels = zip(self.pull[:_SHOWN], self.labelled_node[:_SHOWN], self.label[:_SHOWN], strict=True)
        lines = [
            f"Explanation of node {self._name(self.node)}: P(rare) {self.probability:.3f}",
            f"  logit {self.logit:+.2f} = base {self.base:+.2f} and the shares of {len(self.column):,} columns: "
            + _first((f"{share:+.2f} {name}" for share, name in columns), len(self.column)),
            f"  labels that pull P(rare), of {len(self):,}: "
            + _first(
                (f"{pull:+.3f} {self._named(node)} ({self.class_names[k]})" for pull, node, k in labels), len(self)
            ),
        ]
        return "\n".join(lines if len(self) else lines[:2])

    def _name(self, node: int) -> str:
        return str(node if self.ids is None else self.ids[node])

    def _named(self, labelled: int) -> str:
        return self._name(labelled) if self.of_graph else f"training node {labelled}"

    def with_labels(
        self,
        nodes: np.ndarray,
        labels: np.ndarray,
        pull: np.ndarray,
        *,
        ids: np.ndarray,
        class_names: tuple[str, ...],
        of_graph: bool = True,
    ) -> Explanation:
        """With the labelled nodes that pull, their classes and pulls, strongest first, and the names of all nodes and classes."""
        order = np.argsort(-np.abs(pull), kind="stable")
        found = replace(self, labelled_node=nodes[order], label=labels[order], pull=pull[order])
        return replace(found, ids=ids, class_names=class_names, of_graph=of_graph)

    def frame(self) -> NamedColumns:
        """The labels that pull, as columns by name; `columns_frame` has what the node's columns say."""
        return NamedColumns(labelled_node=self.labelled_node, label=self.label, pull=self.pull)

    def columns_frame(self) -> NamedColumns:
        """What each column says, strongest first, as columns by name: its signed share of the logit."""
        return NamedColumns(column=self.column, group=self.group, share=self.share)


def _first(words: Iterable[str], count: int) -> str:
    return "; ".join(words) + ("; …" if count > _SHOWN else "")


def make_explanation(node: int, probability: float, found: Contributions, slope: float) -> Explanation:
    """The shares of the columns, strongest first; labels are added by `with_labels`.

    Args:
        node: The node.
        probability: P(rare).
        found: How the columns made the detector's logit.
        slope: How far the calibrated logit moves per unit of the detector's, from where no column speaks to the node.
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
