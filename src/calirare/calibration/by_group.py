"""A calibration map that may differ between groups of nodes, as far as evidence says so.

One map over all nodes is wrong where a detector treats some of them otherwise: a network that averages over neighbours
gives a node without any a score that scatters three times as wide. Two remedies, in this order.

**Scores that scatter wider.** Where the scores u = logit P of a group spread more than half as wide again as those of all nodes
(median absolute deviations, no label read), the group's scores are brought to the centre and spread of all. Its labels may
object: where they are likelier by a standard error with scores as they came, these stay.

**Labels that say otherwise.** With g a node's group and x the standardised score,

    logit P' = a + b · x + α_g + β_g · x ,      α_g ~ N(0, σ²) ,   β_g ~ N(0, σ²/4) ,

by the likelihood of the left-out scores of the labelled nodes; convex. σ is the best of 1/2, 1, 2 and 4 by ten-fold
likelihood, and a group has its own α and β only where they help its labels by more than a standard error.

A detector that knows a node's degree by itself is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from calirare.errors import InputError, LabelError

DEGREES = (0, 1, 2, 5, 10)
"""The least degree of each group: none, 1, 2–4, 5–9, 10 or more neighbours."""
_WIDTHS = (0.5, 1.0, 2.0, 4.0)
_FOLDS = 10
_NEWTON_STEPS = 100
_SMALLEST_PROBABILITY = 1e-9
_SURE = 1.0
"""By how many standard errors a map of its own must pay for a group."""
_WIDER = 1.5
_FEWEST_LABELS = 5
_FEWEST_NODES = 10
"""Of a group, to speak of the spread of its scores."""


def degree_groups(degree: Any) -> np.ndarray:
    """The group of each degree, 0 … 4.

    >>> degree_groups([0, 1, 2, 4, 5, 9, 10, 300])
    array([0, 1, 2, 2, 3, 3, 4, 4])
    """
    return np.asarray(np.searchsorted(DEGREES, np.asarray(degree), side="right") - 1)


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The fitted map.

    Args:
        centre, scale: What scores are standardised by.
        move: `(G, 2)`: logits of a group become move[g, 0] + move[g, 1] · u first; (0, 1) leaves them.
        shift: `(G,)` a + α of each group.
        slope: `(G,)` b + β of each group.
        labels: `(G,)` labelled nodes of each group.
    """

    centre: float
    scale: float
    move: np.ndarray
    shift: np.ndarray
    slope: np.ndarray
    labels: np.ndarray

    def probabilities(self, probability: Any, group: Any) -> np.ndarray:
        """P(rare) of nodes, `(n,)`, from that before the map and their groups."""
        z, g = _logit(probability), np.asarray(group)
        if g.shape != z.shape or g.size and not (0 <= g.min() and g.max() < self.shift.size):
            raise InputError(f"group must hold one of 0…{self.shift.size - 1} for each of the {z.size} nodes.")
        x = (self.move[g, 0] + self.move[g, 1] * z - self.centre) / self.scale
        return np.asarray(expit(self.shift[g] + self.slope[g] * x))

    def unlike(self, group: Any) -> np.ndarray:
        """Whether each node is of a group that has no labels: unlike anything labelled."""
        return np.asarray(self.labels[np.asarray(group)] == 0)


def fit_group_map(
    left_out_probability: Any,
    y_rare: Any,
    group: Any,
    probability: Any,
    group_of_all: Any,
    *,
    weights: Any = None,
    num_groups: int = len(DEGREES),
) -> GroupMap:
    """Fit a map by groups to left-out predictions.

    Args:
        left_out_probability: `(n,)` P(rare) of the labelled nodes by models that never saw their labels.
        y_rare: `(n,)` whether each of them is rare.
        group: `(n,)` their groups, 0 … `num_groups` - 1.
        probability: `(N,)` P(rare) of all nodes.
        group_of_all: `(N,)` the groups of all nodes.
        weights: `(n,)` of the labels, for instance `calirare.calibration.base.share_weights`; default: all alike.
        num_groups: How many groups there are, with labels or without.

    >>> rng = np.random.default_rng(0)
    >>> z, group = rng.normal(-2, 1, 4000), np.arange(4000) % 2
    >>> y = rng.random(4000) < expit(np.where(group == 0, z, -2))  # scores of group 1 say nothing
    >>> found = fit_group_map(expit(z), y, group, expit(z), group, num_groups=2)
    >>> bool(abs(found.slope[1] / found.slope[0]) < 0.2)
    True
    """
    z, rare, g = _logit(left_out_probability), np.asarray(y_rare, dtype=bool), np.asarray(group)
    if not z.shape == rare.shape == g.shape or z.ndim != 1:
        raise InputError(
            f"probabilities, labels and groups must speak of the same nodes; got {z.shape}, {rare.shape}, {g.shape}."
        )
    if not rare.any() or rare.all():
        raise LabelError("a calibration map needs labelled nodes of the rare class and of another.")
    count = np.ones(z.size) if weights is None else np.asarray(weights, dtype=np.float64)
    count = count * (z.size / count.sum())
    move = _moves(z, rare, g, _logit(probability), np.asarray(group_of_all), num_groups)
    z = move[g, 0] + move[g, 1] * z
    centre, scale = float(z.mean()), float(z.std()) or 1.0
    features = _features((z - centre) / scale, g, num_groups)
    theta = _fit(features, rare, count, *_choose(features, rare, count, g, num_groups))
    shift, slope = theta[0] + theta[2 : 2 + num_groups], theta[1] + theta[2 + num_groups :]
    return GroupMap(centre, scale, move, shift, slope, np.bincount(g, minlength=num_groups))


def _moves(
    z: np.ndarray, rare: np.ndarray, group: np.ndarray, all_z: np.ndarray, all_groups: np.ndarray, num_groups: int
) -> np.ndarray:
    """`(G, 2)`: what brings the scores of groups that scatter wider to those of all nodes."""
    move = np.tile([0.0, 1.0], (num_groups, 1))
    centre, spread = _middle(all_z)
    for g in range(num_groups):
        own = all_z[all_groups == g]
        if own.size < _FEWEST_NODES:
            continue
        own_centre, own_spread = _middle(own)
        if own_spread <= _WIDER * spread or spread == 0:
            continue
        ratio = spread / own_spread
        moved = np.array([centre - ratio * own_centre, ratio])
        u, flag = z[group == g], rare[group == g]
        gain = _loss(moved[0] + moved[1] * u, flag) - _loss(u, flag)
        if not _pays(gain):
            move[g] = moved
    return move


def _pays(gain: np.ndarray) -> bool:
    """Whether labels gain by more than a standard error; too few have no say."""
    return gain.size >= _FEWEST_LABELS and bool(gain.sum() > _SURE * gain.std() * np.sqrt(gain.size))


def _middle(values: np.ndarray) -> tuple[float, float]:
    centre = float(np.median(values))
    return centre, float(np.median(np.abs(values - centre)))


def _loss(line: np.ndarray, rare: np.ndarray) -> np.ndarray:
    """Minus the log-likelihood of each label."""
    return np.asarray(np.logaddexp(0.0, np.where(rare, -line, line)))


def _features(x: np.ndarray, group: np.ndarray, num_groups: int) -> np.ndarray:
    member = (group[:, None] == np.arange(num_groups)).astype(np.float64)
    return np.column_stack([np.ones_like(x), x, member, member * x[:, None]])


def _choose(
    features: np.ndarray, rare: np.ndarray, count: np.ndarray, group: np.ndarray, num_groups: int
) -> tuple[float, np.ndarray]:
    """(σ, which groups have a map of their own), by held-out likelihood."""
    fold = np.empty(rare.size, dtype=np.int64)
    for flag in (True, False):  # every fold has its part of the rare labels
        rows = np.flatnonzero(rare == flag)
        fold[np.random.default_rng(0).permutation(rows)] = np.arange(rows.size) % _FOLDS
    everyone, nobody = np.ones(num_groups, dtype=bool), np.zeros(num_groups, dtype=bool)
    loss = {width: np.zeros(rare.size) for width in (0.0, *_WIDTHS)}
    for k in range(_FOLDS):
        inside, outside = fold != k, fold == k
        for width, values in loss.items():
            theta = _fit(features[inside], rare[inside], count[inside], width, everyone if width else nobody)
            values[outside] = count[outside] * _loss(features[outside] @ theta, rare[outside])
    width = min(_WIDTHS, key=lambda width: float(loss[width].sum()))
    gain = loss[0.0] - loss[width]
    own = nobody.copy()
    for g in range(num_groups):
        part = gain[group == g]
        own[g] = _pays(part)
    return width, own


def _fit(features: np.ndarray, rare: np.ndarray, count: np.ndarray, width: float, own: np.ndarray) -> np.ndarray:
    """Penalised likelihood by damped Newton steps; groups that are not `own` have no α and β."""
    used = np.concatenate([[True, True], own, own])
    columns = features[:, used]
    strength = np.repeat([width**-2.0, 4 * width**-2.0], int(own.sum())) if own.any() else np.empty(0)
    penalty = np.concatenate([[1e-6, 1e-2], strength])
    theta = np.zeros(columns.shape[1])
    theta[0] = logit(np.clip(count @ rare / count.sum(), 1e-6, 1 - 1e-6))
    for _ in range(_NEWTON_STEPS):
        p = expit(columns @ theta)
        gradient = columns.T @ (count * (p - rare)) + penalty * theta
        curvature = (columns.T * (count * p * (1 - p))) @ columns + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        theta = theta - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    found = np.zeros(features.shape[1])
    found[used] = theta
    return found


def _logit(probability: Any) -> np.ndarray:
    p = np.asarray(probability, dtype=np.float64)
    return np.asarray(logit(np.clip(p, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)))
