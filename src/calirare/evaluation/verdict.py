"""What the numbers mean, in words: does the model find, can its probabilities be believed, and what to beware of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calirare.estimator.evidence import Evidence, Source
from calirare.metrics import METRICS, Summary
from calirare.metrics.summary import say
from calirare.uncertainty.skill import Skill

Level = Literal["good", "caution", "no skill"]
FEW_RARE = 20
"""Below this many rare labels, every number about the rare class is a rough one."""
_SURPRISE = 2.6
"""Standard errors between what was predicted and what happened that chance explains once in a hundred times."""
_SKEWED = 1.5
_CHOSEN = "Labelled nodes judge it, and the others are unlike them: of the others these numbers say little."
_NO_ORDER = "It is not shown to find rare nodes better than chance: do not use its order or its alerts."
_OFF = "Its probabilities do not agree with what happened: thresholds and costs will be off."
_NOTES: dict[Source, tuple[str, ...]] = {
    "unread": (),
    "both": (),
    "left_out": ("There is no test set: the labels that trained the model judge it, each left out.",),
}
"""Worth knowing, but no reason to doubt the model."""


@dataclass(frozen=True)
class Verdict:
    """The judgement.

    Args:
        level: `"good"`; `"caution"`: read the warnings; `"no skill"`: no better than the rare share alone.
        words: What was found, in two sentences.
        warnings: What to beware of, one sentence each.
    """

    level: Level
    words: str
    warnings: tuple[str, ...]


def judge(
    evidence: Evidence,
    before: Summary,
    after: Summary,
    population_share: float,
    skill: Skill,
    leaks: Sequence[str] = (),
    undecided: Sequence[str] = (),
    chosen: bool = False,
) -> Verdict:
    """The verdict on a model.

    Args:
        evidence: The nodes that judge it.
        before: Their metrics before calibration.
        after: Their metrics after it.
        population_share: The rare share that the probabilities were calibrated to.
        skill: Whether these nodes tell the model from the base rate.
        leaks: Columns that give the label away.
        undecided: What is to be said of classes that nobody may have decided.
        chosen: Whether the labels that trained it are no random sample.
    """
    share = float(evidence.y_rare.mean())
    skewed = not 1 / _SKEWED < share / population_share < _SKEWED
    finds, found = skill.shown, _finding(after, share)
    believed, trust = (True, "") if skewed else _trust(evidence)
    serious = [
        *([f"Columns that give the label away made these numbers: {', '.join(map(repr, leaks))}."] if leaks else []),
        *undecided,
        *_warn_of_labels(evidence, share, population_share, skewed),
        *([_CHOSEN] if chosen else []),
        *([] if finds else [_NO_ORDER]),
        *([] if believed else [_OFF]),
        *_warn_of_calibration(evidence, before, after, skewed),
    ]
    level: Level = "no skill" if not finds else "caution" if serious else "good"
    return Verdict(level, f"{found} {trust}".strip(), (*serious, *_NOTES[evidence.source]))


def _finding(after: Summary, share: float) -> str:
    """How good the order is; a random one has the rare share as its average precision."""
    found, metric = after["average_precision"], METRICS["average_precision"]
    times = f", {found.value / share:.1f} times that of a random order" if share > 0 else ""
    return f"{metric.title} {say(found, 2)}{times}."


def _trust(evidence: Evidence) -> tuple[bool, str]:
    """Whether P(rare) agrees with the labels, in the mean and (Spiegelhalter's test) in its spread."""
    p, y = np.clip(evidence.probability, 1e-12, 1 - 1e-12), evidence.y_rare.astype(np.float64)
    variance = p * (1 - p)
    mean = (y - p).sum() / np.sqrt(variance.sum())
    slope = 1 - 2 * p
    scale = np.sqrt((slope**2 * variance).sum())
    # Where there are nothing but even chances, there is no spread to judge.
    spread = ((y - p) * slope).sum() / scale if scale > 0 else 0.0
    said = f"P(rare) is {p.mean():.1%} on average, and {y.mean():.1%} of these nodes are rare"
    if abs(mean) > _SURPRISE:
        return False, f"{said}: the probabilities are too {'low' if mean > 0 else 'high'}."
    if abs(spread) > _SURPRISE:
        return False, f"{said}, but the probabilities are too {'sure' if spread > 0 else 'cautious'} of themselves."
    return True, f"{said}: the probabilities agree with what happened, as far as these labels can tell."


def _warn_of_labels(evidence: Evidence, share: float, population: float, skewed: bool) -> list[str]:
    warnings, num_rare = [], int(evidence.y_rare.sum())
    if num_rare < FEW_RARE:
        warnings.append(f"Only {num_rare} rare labels judge this model: every number about them is a rough one.")
    if skewed:
        warnings.append(
            f"{share:.1%} of these nodes are rare, of the population {population:.1%}: they are no random draw of it, so "
            "points of the reliability diagram lie off the line."
        )
    return warnings


def _warn_of_calibration(evidence: Evidence, before: Summary, after: Summary, skewed: bool) -> list[str]:
    metric = METRICS["negative_log_likelihood"]
    old, new = before[metric.name], after[metric.name]
    if not evidence.calibrates:
        return ["This method does not calibrate: its probabilities are as trained."]
    if not skewed and metric.improves(old.value, new.lower):
        return [f"Calibration made the {metric.title.lower()} worse, {old.value:.3f} before and {new.value:.3f} after."]
    return []
