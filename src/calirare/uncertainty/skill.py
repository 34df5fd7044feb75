"""Does the left-out evidence tell the model from the base rate at all?

A model that learned nothing still ranks its own labels, and its report still has a number in every cell. What it says of
each label without that label is the test: if rare labels do not score higher than the others by more than luck would have
it, nothing was shown to have been learned. The measure is the ROC-AUC A of the left-out scores of r rare labels and m
others. Were the scores independent of each other, luck would scatter it by (r + m + 1)/(12 r m), the variance of Mann and
Whitney. They are not: if two rare labels are alike by chance, each lifts the other's score, so that every chance likeness
counts twice, and so does the variance. Random labels on 50 columns, 5 folds, 20 rare labels: deviation of A 0.105, where
independent scores would have 0.067. So

    z = (A − 1/2) / sqrt((r + m + 1) / (6 r m)) ,      luck = P(normal > z) .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from calirare.metrics.detection import roc_auc
from calirare.uncertainty.left_out import check_left_out

LEVEL = 0.01
"""Evidence that luck alone would give more often than this shows nothing."""
WITHOUT_SKILL = 0.25
"""The chance of skill that is left where luck does as well half of the time."""
_AS_GOOD_AS_LUCK = 0.5
_FEWEST_RARE = 3
"""Fewer cannot be tested: without one of two labels, one is left to learn from."""
_ENOUGH_RARE = 10
"""From so many on, little skill stays unseen."""


@dataclass(frozen=True)
class Skill:
    """What the left-out evidence shows.

    Args:
        roc_auc: Chance that a rare label scores above another, without their labels; 0.5 is luck.
        luck: How often luck alone would reach it.
        num_rare: Rare labels.
        num_others: The others.
    """

    roc_auc: float
    luck: float
    num_rare: int
    num_others: int

    @property
    def shown(self) -> bool:
        """Whether the model is shown to know more than the base rate."""
        return self.luck < LEVEL

    @property
    def chance(self) -> float:
        """The chance that there is skill at all, even odds before the evidence.

        Evidence that luck gives with probability q speaks at most −1/(e q ln q) : 1 for skill (key `sellke2001`), where
        q < 1/e. Beyond, the chance falls in proportion to a quarter, where luck does as well half of the time.

        >>> [round(Skill(0.6, luck, 20, 80).chance, 2) for luck in (1e-4, 0.01, 0.05, 0.5, 1.0)]
        [1.0, 0.89, 0.71, 0.25, 0.25]
        """
        luck = max(self.luck, 1e-300)
        if luck < 1 / np.e:
            odds = -1 / (np.e * luck * np.log(luck))
            return float(odds / (1 + odds))
        return float(np.interp(luck, [1 / np.e, _AS_GOOD_AS_LUCK], [0.5, WITHOUT_SKILL]))

    @property
    def keep(self) -> float:
        """How much of what the model says against the base rate is kept: the chance of skill, less where labels are many.

        Skill that r rare labels do not show is small: of order 1/√r in ROC-AUC, and worth the square of that in likelihood.
        Where none is shown, what is kept therefore falls with 10/r from ten rare labels on.

        >>> [round(Skill(0.6, 0.02, r, 80).keep, 2) for r in (5, 10, 20, 100)]
        [0.82, 0.82, 0.41, 0.08]
        >>> Skill(0.6, 1e-4, 100, 80).keep == Skill(0.6, 1e-4, 100, 80).chance
        True
        """
        return self.chance if self.shown else self.chance * min(1.0, _ENOUGH_RARE / self.num_rare)

    def sentence(self, rare: str, base_rate: float | None = None) -> str:
        """What to say first, empty where there is nothing to warn of.

        Args:
            rare: What the rare class is called.
            base_rate: What the probabilities are drawn to; default: the share of rare labels.
        """
        share = f"{self.num_rare / (self.num_rare + self.num_others) if base_rate is None else base_rate:.3g}"
        if self.shown:
            return few_labels(self.num_rare, rare)
        if self.num_rare <= _FEWEST_RARE:  # not even a perfect order of three is below the level
            labels = "one label" if self.num_rare == 1 else f"{self.num_rare} labels"
            return (
                f"Nothing is shown yet: {labels} of {rare} cannot tell this model from the base rate. "
                f"Take every probability as the base rate, {share}; label more."
            )
        return (
            f"No skill is shown: without their own labels, {rare} nodes score no higher than others by more than luck "
            f"(ROC-AUC {self.roc_auc:.2f} on {self.num_rare} labels; luck alone reaches it in "
            f"{100 * self.luck:.{1 if self.luck < 0.1 else 0}f}% of cases, less than {LEVEL:.0%} is asked). "
            f"Take every probability as the base rate, {share}."
        )


def few_labels(num_rare: int, rare: str) -> str:
    """What so few rare labels cannot say; empty from ten on.

    >>> few_labels(3, "fraud")
    'Only 3 labels of fraud: probabilities are rough, see their intervals, and sets at 90% cannot rule fraud out.'
    >>> few_labels(10, "fraud")
    ''
    """
    if num_rare >= 10:
        return ""
    if num_rare == 9:
        return f"Only 9 labels of {rare}: probabilities are rough, see their intervals."
    labels = "label" if num_rare == 1 else "labels"
    return (
        f"Only {num_rare} {labels} of {rare}: probabilities are rough, see their intervals, "
        f"and sets at 90% cannot rule {rare} out."
    )


def measure_skill(left_out_probability: Any, y_rare: Any, *, left_out: bool = True) -> Skill:
    """Whether left-out evidence can tell the model from the base rate.

    Args:
        left_out_probability: `(n,)` P(rare) of the labelled nodes by models that never saw their labels, or any score.
        y_rare: `(n,)` whether each of them is rare.
        left_out: Whether the labels trained the model, each left out; False: it has never read them, and their scores are
            independent.

    >>> measure_skill(np.linspace(1, 0, 60), np.arange(60) < 6).shown
    True
    >>> measure_skill([0.9, 0.1, 0.2, 0.3], [1, 0, 0, 0]).sentence("fraud")
    'Nothing is shown yet: one label of fraud cannot tell this model from the base rate. Take every probability as the base rate, 0.25; label more.'
    """
    score, rare = check_left_out(left_out_probability, y_rare)
    num_rare, num_others = int(rare.sum()), int((~rare).sum())
    auc = roc_auc(rare, score)
    deviation = np.sqrt((num_rare + num_others + 1) / ((6 if left_out else 12) * num_rare * num_others))
    luck = float(ndtr(-(auc - 0.5) / deviation)) if num_rare >= _FEWEST_RARE else 1.0
    return Skill(auc, luck, num_rare, num_others)
