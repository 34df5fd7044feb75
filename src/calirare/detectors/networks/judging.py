"""What the left-out evidence of one Newton step is worth: how likely it makes the labels, and whether it can be believed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp
from scipy.stats import mannwhitneyu

from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks.evidence import step_logits
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.rest import STEEPEST

_MOST_LEVERAGE = 0.3
"""Mean leverage, the share of its labels that a network can learn by their own pull alone, beyond which a step flatters
or exaggerates (measured against ten-fold refits of random labels: `benchmarks/left_out_evidence.py`)."""
_MOST_BENT = 0.15
"""Of how far left-out logits lie from the trained ones: how far the network at the end of the step may lie from its tangent.
Measured as the leverage above: a GAT whose step was a sixth off refits is beyond it, a GCN far below."""
_ASKED = 16
"""Labels for which that is looked at, a forward pass each."""
_NO_SKILL = 0.05
"""p-value above which left-out logits cannot be told from noise."""


def left_out_loss(engine: LeaveOneOut, labels: LabelledNodes) -> float:
    """Weighted negative log-likelihood of the left-out logits, at the best of a few temperatures."""
    logits = step_logits(engine)
    losses = []
    for sharpness in np.geomspace(0.1, 3.0, 18):
        log_p = sharpness * logits - logsumexp(sharpness * logits, axis=1, keepdims=True)
        losses.append(float(-(labels.weights * log_p[np.arange(len(labels)), labels.y]).sum()))
    return min(losses)


def learns_anything(engine: LeaveOneOut) -> bool:
    """Whether the network could learn its labels whatever they are."""
    return float(engine.curvature.leverage.diagonal(dim1=1, dim2=2).mean()) > _MOST_LEVERAGE


def bent(engine: LeaveOneOut, labels: LabelledNodes) -> str | None:
    """That the network is too curved for its tangent: asked at θ₋ᵢ itself, it says something else of label i; or None."""
    draw, classes = np.random.default_rng(0), np.unique(labels.y)
    each = max(1, _ASKED // len(classes))
    rows = np.concatenate([draw.permutation(np.flatnonzero(labels.y == c))[:each] for c in classes])
    straight = engine.left_out_logits[rows]
    apart, moved = engine.stepped_logits(rows) - straight, straight - engine.logits[engine.index[rows]]
    apart, moved = (change - change.mean(dim=1, keepdim=True) for change in (apart, moved))
    if float(apart.abs().sum()) <= _MOST_BENT * float(moved.abs().sum()):
        return None
    return "a Newton step leads to where the network bends"


def no_skill(engine: LeaveOneOut, labels: LabelledNodes) -> str | None:
    """That left-out predictions cannot be told from noise, or None where those of some class can."""
    y, logits = labels.y, step_logits(engine)
    for c in np.unique(y):
        inside = y == c
        if 0 < inside.sum() < len(y):
            found = mannwhitneyu(logits[inside, c], logits[~inside, c], alternative="greater")
            if float(found.pvalue) < _NO_SKILL:
                return None
    return "left-out predictions cannot be told from noise"


def doubt(
    make: Callable[[], LeaveOneOut | None], labels: LabelledNodes, rests: bool, slope: float | None
) -> str | None:
    """Why one step cannot speak for a refit, or None.

    Args:
        make: Gives the engine at the trained network, None where it can take no step; not called where the slope says
            enough.
        labels: What it was trained on.
        rests: Whether training was to end at rest.
        slope: Where it ended; see `calirare.detectors.networks.rest`.
    """
    if rests and (slope is None or slope > STEEPEST):
        return "training did not come to rest"
    engine = make()
    if engine is None:
        return "no Newton step can be taken from where training ended"
    if engine.tells_copies_apart:
        return "the network tells labelled copies apart"
    if learns_anything(engine):
        return "the network could learn its labels whatever they are"
    return no_skill(engine, labels) or bent(engine, labels)
