"""What the left-out evidence of one Newton step is worth: how likely it makes the labels, and whether it can be believed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import log_softmax
from scipy.stats import mannwhitneyu
from torch import Tensor

from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks.evidence import FoldEvidence, step_logits
from calirare.detectors.networks.fitting.rest import STEEPEST
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut

logger = logging.getLogger(__name__)
_MOST_LEVERAGE = 0.3
"""Mean leverage, the share of its labels that a network can learn by their own pull alone, beyond which a step flatters
or exaggerates (measured against ten-fold refits of random labels: `benchmarks/left_out_evidence.py`)."""
_MOST_BENT = 0.15
"""How far the network at the end of the step may lie from its tangent, as a share of how far left-out logits lie from the
trained ones. Measured as the leverage above: a GAT whose step was a sixth off refits is beyond it."""
_STRAIGHT = 0.05
"""The same for a network that can be asked itself at the end of every step, as GCN, SAGE and GIN can. Beyond it, it is asked."""
_ASKED = (16, 0.5), (64, 1.0)
"""Number of labels that are checked, and the share of the limit that they may reach: a few can mislead either way."""
_ASKED_OF_OTHERS = (16, 0.2), (64, 1.0)
"""The same for a network that cannot be asked everywhere, where nothing else shows that the few were straighter than most."""
_FAR = 0.02
"""Change of a logit up to which the tangent is used even if the network bends."""
_NO_SKILL = 0.05
"""p-value above which left-out logits cannot be told from noise."""


def loss(logits: np.ndarray, labels: LabelledNodes) -> float:
    """Weighted negative log-likelihood of left-out logits `(n, C)`, at the best of a few temperatures."""
    losses = []
    for sharpness in np.geomspace(0.1, 3.0, 18):
        log_p = log_softmax(sharpness * logits, axis=1)[np.arange(len(labels)), labels.y]
        losses.append(float(-(labels.weights * log_p).sum()))
    return min(losses)


def no_better_than_trained(found: FoldEvidence, own: np.ndarray, labels: LabelledNodes) -> FoldEvidence:
    """For a network that was trained elsewhere: where refits do better on its labels than it does, its own answers `own`.

    Leaving a label out makes no network better at it; the refits are other networks then.
    """
    if loss(own, labels) <= loss(found.logits, labels):
        return found
    logger.warning(
        "refits without the labels tell them better than the module that saw them. It is not trained to the end, or with "
        "another weight_decay or class_costs than were given; it is judged by what it says of its own labels."
    )
    return replace(found, logits=own)


def learns_anything(engine: LeaveOneOut) -> bool:
    """Whether the network could learn its labels whatever they are."""
    return float(engine.curvature.leverage.diagonal(dim1=1, dim2=2).mean()) > _MOST_LEVERAGE


def believed(engine: LeaveOneOut, labels: LabelledNodes) -> np.ndarray | None:
    """`(n, C)` left-out logits that speak for refits, None where there are none.

    Those of the tangent where the network is straight. Where it bends, what a network that can be asked says itself at the end
    of every step that leads anywhere.
    """
    limit, asked = (_MOST_BENT, _ASKED_OF_OTHERS) if engine.may_bend is None else (_STRAIGHT, _ASKED)
    for count, share in asked:
        rows = _some_of_each(labels.y, count)
        if _bend(engine, rows, engine.stepped_logits(rows)) <= share * limit:
            return step_logits(engine)
    if engine.may_bend is None:
        return None
    far = np.flatnonzero(_moved(engine).abs().amax(dim=1).cpu().numpy() > _FAR)
    said = engine.left_out_logits.clone()
    if far.size:
        said[far] = engine.stepped_logits(far)
    return step_logits(engine, said) if _bend(engine, far, said[far]) <= engine.may_bend else None


def _some_of_each(y: np.ndarray, count: int) -> np.ndarray:
    """Rows of about `count` labels drawn at random, equally many of each class as far as it has them."""
    draw, classes = np.random.default_rng(0), np.unique(y)
    each = max(1, count // len(classes))
    return np.concatenate([draw.permutation(np.flatnonzero(y == c))[:each] for c in classes])


def _bend(engine: LeaveOneOut, rows: np.ndarray, stepped: Tensor) -> float:
    """How far the network at θ₋ᵢ lies from its tangent at label i's node, of how far the tangent leads."""
    apart = stepped - engine.left_out_logits[rows]
    apart, moved = apart - apart.mean(dim=1, keepdim=True), _moved(engine)[rows]
    return float(apart.abs().sum() / moved.abs().sum().clamp(min=1e-300))


def _moved(engine: LeaveOneOut) -> Tensor:
    """`(n, C)`: how far the tangent leads from the trained logits, centred."""
    moved = engine.left_out_logits - engine.logits[engine.index]
    return moved - moved.mean(dim=1, keepdim=True)


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
    """Why no step can speak for a refit, or None; whether `believed` has one is asked apart.

    Args:
        make: Gives the engine at the trained network, None where it can take no step; not called where the slope says
            enough.
        labels: What it was trained on.
        rests: Whether training was to end at rest.
        slope: Where it ended; see `calirare.detectors.networks.fitting.rest`.
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
    return no_skill(engine, labels)
