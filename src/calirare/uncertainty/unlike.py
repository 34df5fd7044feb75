"""Are the labelled nodes unlike the others?

Where labels are a random sample, nothing that the tables say tells a labelled node from another. So a logistic regression on
the columns is asked to: a thousand labelled nodes and a thousand others, each left out in turn. The chance A that it tells a
labelled node from another is one half for a random sample, up to luck (`calirare.uncertainty.skill`).

What the model says of the others cannot show it. Where labels are from one corner alone, from the top of an earlier list,
the model has learned nothing of the rest, and may score it as high as the corner (`python benchmarks/selected_labels.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.data.tables.findings.finding import ignore
from calirare.detectors.base import Detector, DetectorInputs, LabelledNodes
from calirare.detectors.linear import Linear
from calirare.uncertainty.skill import measure_skill

_MOST = 1_000
"""Nodes of each kind: so many tell an A of 0.56 from luck."""
_SHOWN = 50
"""Of each kind, whose reasons tell which column it is."""
_LUCK = 0.001
"""What luck reaches more often is not said."""
_LEAST_AREA = 0.52
"""Nor is a smaller A, which many labels tell from luck and nobody needs to know."""


@dataclass(frozen=True)
class Unlike:
    """How well columns tell labelled nodes from the others.

    Args:
        area: A of the top of this module.
        luck: How often luck alone would reach it.
        column: The one that tells most.
        gaps_of: The column of the table whose gaps that is; empty where it is no gaps.
    """

    area: float
    luck: float
    column: str
    gaps_of: str = ""

    @property
    def noticed(self) -> bool:
        """Whether it is more than luck."""
        return self.luck < _LUCK and self.area > _LEAST_AREA

    def sentence(self) -> str:
        """What to beware of; empty where labels look like a random sample.

        >>> Unlike(0.51, 0.2, "age").sentence()
        ''
        >>> Unlike(0.85, 1e-9, "age").sentence().split(". ")[1]
        "Most telling is 'age'"
        >>> Unlike(0.99, 1e-9, "reviewer is missing", "reviewer").sentence().split(". ")[2]
        'If it is filled because of the label, leave it out (--type reviewer=ignore)'
        """
        if not self.noticed:
            return ""
        without = (
            f"If it is filled because of the label, leave it out ({ignore(self.gaps_of)}). " if self.gaps_of else ""
        )
        return (
            f"Labels are no random sample: what the tables say tells a labelled node from another in {self.area:.0%} of pairs, "
            f"where a random sample would have 50%. Most telling is {self.column!r}. {without}"
            "Probabilities hold only for nodes like the labelled ones: label some nodes at random."
        )


def labels_unlike(
    inputs: DetectorInputs, labels: LabelledNodes, others: np.ndarray, shares: np.ndarray, seed: int = 0
) -> Unlike | None:
    """How well columns tell the labelled nodes from others; None where a few of either cannot be compared.

    Args:
        inputs: The graph.
        labels: Those that trained a model.
        others: Nodes without a label.
        shares: `(C,)` of the classes in the population. Labels that were drawn within each class have others, and are thinned.
        seed: Of which nodes are compared.
    """
    rng = np.random.default_rng(seed)
    rows = _at_shares(labels.y, shares, rng)
    others = np.sort(rng.permutation(others)[:_MOST])
    if min(rows.size, others.size) < 2:
        return None
    nodes = np.concatenate([labels.nodes[rows], others])
    labelled = np.arange(nodes.size) < rows.size
    groups = np.concatenate([labels.groups[rows], labels.groups.max() + 1 + np.arange(others.size)])
    weights = np.full(nodes.size, 1 / nodes.size)
    # One penalty and one hop: the choice of better ones costs twice as much and tells hardly more.
    detector = Linear(penalty=1e-2, hops=1).fit(
        inputs, LabelledNodes(nodes, labelled.astype(np.int64), weights, 2, groups), seed=seed
    )
    found = measure_skill(detector.left_out_logits() @ [-1.0, 1.0], labelled)
    return Unlike(found.roc_auc, found.luck, _most_telling(detector, inputs, nodes[labelled], others))


def _at_shares(y: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of at most a thousand labels, drawn within each class so that the classes have the given shares."""
    counts = np.bincount(y, minlength=len(shares))
    there = shares > 0
    size = min(_MOST, float((counts[there] / shares[there]).min()))
    order = rng.permutation(y.size)
    chosen = [order[y[order] == c][: round(size * share)] for c, share in enumerate(shares)]
    return np.sort(np.concatenate(chosen))


def _most_telling(detector: Detector, inputs: DetectorInputs, labelled: np.ndarray, others: np.ndarray) -> str:
    """The column whose shares of the logit lie furthest apart."""
    apart: dict[str, float] = {}
    for nodes, sign in ((labelled, 1.0), (others, -1.0)):
        some = nodes[np.linspace(0, nodes.size - 1, min(nodes.size, _SHOWN)).astype(np.int64)]
        for found in detector.contributions_of(inputs, some, 1):
            for name, share in zip(found.names, found.shares.tolist(), strict=True):
                apart[name] = apart.get(name, 0.0) + sign * share / some.size
    return max(apart, key=lambda name: apart[name])
