"""Were the labelled nodes chosen by score?

Where labels are a random sample, what the model says of a labelled node without its label is spread as what it says of the
others: the chance that a labelled node scores above an unlabelled one is one half. Labels that somebody chose, cases that
looked worth a look, score higher, and have too many rare ones among them: their share says nothing about the population's.
What holds is P(rare) at each score, as long as some of every score were labelled, and the share of the population is then
the mean of P over all nodes. `python benchmarks/selected_labels.py` measures it.

Labels that were drawn within each class, with the population's share given, are weighed to that share first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.errors import InputError

_DEVIATIONS = 3.0
_SLACK = 0.02
"""Left-out models know a label less than the one that scores the others: so far apart the two may lie without selection."""

_ALIKE = 1.02
"""Of two P(rare): up to this ratio nobody chose between them. Where a model says nearly the same of every node, what a label changes
in all answers is as large as any difference between them."""


@dataclass(frozen=True)
class Selection:
    """How labelled nodes score beside the others.

    Args:
        area: Chance that a labelled node scores above an unlabelled one; one half for a random sample.
        deviation: By how much luck scatters it.
        mean: Mean P(rare) of the others.
    """

    area: float
    deviation: float
    mean: float

    @property
    def noticed(self) -> bool:
        """Whether it is more than luck."""
        return abs(self.area - 0.5) > _DEVIATIONS * self.deviation + _SLACK

    def sentence(self, label_share: float, given: bool) -> str:
        """What to beware of; empty where labels look like a random sample.

        Args:
            label_share: Of rare nodes among the labels.
            given: Whether the population's share was given at the fit.

        >>> Selection(0.52, 0.01, 0.2).sentence(0.2, given=False)
        ''
        >>> Selection(0.71, 0.01, 0.2).sentence(0.4, given=False).split(": ")[0]
        'Labels follow the scores'
        """
        if not self.noticed:
            return ""
        start = (
            f"Labels follow the scores: a labelled node scores above an unlabelled one in {self.area:.0%} of pairs, where a "
            "random sample would have 50%."
        )
        if given:
            return (
                f"{start} The given share of rare nodes corrects for labels drawn at random within each class, not for labels "
                "chosen by score: label some nodes at random."
            )
        return (
            f"{start} {label_share:.1%} of the labels are rare, and by the scores {self.mean:.1%} of the others. Probabilities "
            "hold only where nodes of that score were labelled: label some nodes at random."
        )


def label_selection(left_out_probability: Any, others_probability: Any, weights: Any = None) -> Selection:
    """How the labelled nodes score beside the others.

    Args:
        left_out_probability: `(n,)` P(rare) of the labelled nodes by models that never saw their labels.
        others_probability: `(m,)` P(rare) of nodes without a label.
        weights: `(n,)` of the labels, as `calirare.calibration.base.share_weights`; default: all alike.

    >>> found = label_selection([0.6, 0.7, 0.8, 0.9] * 10, np.linspace(0, 1, 100))
    >>> round(found.area, 2), found.noticed
    (0.75, True)
    """
    own = np.asarray(left_out_probability, dtype=np.float64)
    others = np.sort(np.asarray(others_probability, dtype=np.float64))
    if not own.size or not others.size:
        raise InputError("both labelled and unlabelled nodes are needed.")
    weight = np.full(own.size, 1 / own.size) if weights is None else np.asarray(weights) / np.sum(weights)
    below = np.searchsorted(others, own / _ALIKE, side="left") + np.searchsorted(others, own * _ALIKE, side="right")
    area = float(weight @ below / (2 * others.size))
    size = 1 / float(weight @ weight)  # equal labels that would scatter as these weighed ones do
    deviation = float(np.sqrt((size + others.size + 1) / (12 * size * others.size)))
    return Selection(area, deviation, float(others.mean()))
