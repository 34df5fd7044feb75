"""How many rare nodes a group holds and what it will cost, as a forecast with an interval.

Two things are unknown. Whether each node is rare is a coin with its probability: the count is Poisson-binomial. And the
probabilities were calibrated on finitely many labels: with twenty rare ones among them the base rate alone is unsure by a
fifth, in the same direction for every node, so no averaging over nodes helps. Both are drawn together.

Calibration is drawn by a Bayesian bootstrap over the left-out predictions of the labelled nodes: each label gets a random
weight, within its class; the population's share of the rare class is drawn as the labels leave it open (and kept where
the user gave it); and logit P' = a + b · logit P is fitted by weighted likelihood. Where the model was calibrated on the
same left-out predictions the fit is (0, 1) on average; the spread of (a, b) is how far other labels could have moved it.

Note:
    Given its probability, each node is an own coin. Where rare nodes come in clusters that the probabilities do not
    explain, the true spread is wider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from calirare.decision import ACTIONS, Costs, check_actions
from calirare.errors import InputError, LabelError
from calirare.metrics.bootstrap import Estimate

_SMALLEST_PROBABILITY = 1e-9
_MOST_BINS = 256
"""Nodes of nearly the same probability are drawn together; a finer grid changes no digit that is shown."""
_NEWTON_STEPS = 30


@dataclass(frozen=True)
class Group:
    """One line of the forecast.

    Args:
        action: `"alert"`, `"review"`, `"clear"`, or `"all"` for the three together.
        num_nodes: Nodes in it.
        rare: Expected number of rare nodes, with an interval.
        cost: Expected cost, with an interval.
    """

    action: str
    num_nodes: int
    rare: Estimate
    cost: Estimate


def calibration_draws(
    left_out_probability: Any,
    y_rare: Any,
    *,
    rare_share: float,
    num_share_labels: float | None,
    num_draws: int = 1000,
    seed: int = 0,
) -> np.ndarray:
    """`(num_draws, 2)`: a and b of logit P' = a + b · logit P that the labelled nodes leave open.

    Args:
        left_out_probability: `(n,)` P(rare) of the labelled nodes by models that never saw their labels.
        y_rare: `(n,)` whether each of them is rare.
        rare_share: The population's share of rare nodes that the probabilities were calibrated to.
        num_share_labels: How many random labels that share was counted on; None where it is known.
        num_draws: How many.
        seed: Of the draws.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2_000); y = rng.random(2_000) < p
    >>> draws = calibration_draws(p, y, rare_share=0.5, num_share_labels=2_000)
    >>> bool(np.abs(draws.mean(axis=0) - [0, 1]).max() < 0.2), bool((draws.std(axis=0) < 0.1).all())
    (True, True)
    """
    p, rare = np.asarray(left_out_probability, dtype=np.float64), np.asarray(y_rare, dtype=bool)
    if p.shape != rare.shape or p.ndim != 1:
        raise InputError(
            f"left_out_probability and y_rare must have one value per label; got {p.shape} and {rare.shape}."
        )
    if not rare.any() or rare.all():
        raise LabelError("the forecast needs labelled nodes of the rare class and of another.")
    if not 0 < rare_share < 1:
        raise InputError(f"rare_share must lie between 0 and 1; got {rare_share!r}.")
    rng = np.random.default_rng(seed)
    share = np.full(num_draws, rare_share)
    if num_share_labels is not None:
        # Half a label to each side, as in Jeffreys' prior: a handful of rare labels says little about the upper end.
        share = rng.beta(rare_share * num_share_labels + 0.5, (1 - rare_share) * num_share_labels + 0.5, num_draws)
    z, weight, target = [], [], []
    for flag, part in ((True, share), (False, 1 - share)):
        centre, count = _bins(_logit(p[rare == flag]))
        drawn = rng.gamma(count, size=(num_draws, count.size))
        weight.append(drawn / drawn.sum(axis=1, keepdims=True) * part[:, None])
        z.append(centre)
        target.append(np.full(centre.size, float(flag)))
    return _fit_lines(np.concatenate(z), np.concatenate(target), np.concatenate(weight, axis=1), 1 / p.size)


def _fit_lines(z: np.ndarray, target: np.ndarray, weight: np.ndarray, ridge: float) -> np.ndarray:
    """Weighted logistic regressions on one column, a row of `weight` each, by Newton's method from (0, 1).

    `ridge` pulls (a, b) to (0, 1) with the strength of one label, so that separable labels have a finite fit.
    """
    line = np.tile([0.0, 1.0], (len(weight), 1))
    for _ in range(_NEWTON_STEPS):
        p = expit(line[:, :1] + line[:, 1:] * z)
        slope, curve = weight * (p - target), weight * p * (1 - p)
        g_a = slope.sum(axis=1) + ridge * line[:, 0]
        g_b = slope @ z + ridge * (line[:, 1] - 1)
        h_aa, h_ab, h_bb = curve.sum(axis=1) + ridge, curve @ z, curve @ z**2 + ridge
        determinant = h_aa * h_bb - h_ab**2
        step = np.column_stack([h_bb * g_a - h_ab * g_b, h_aa * g_b - h_ab * g_a]) / determinant[:, None]
        # Far from the minimum a whole Newton step may overshoot.
        step /= np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
        line = line - step
        if np.abs(step).max() < 1e-8:
            break
    return line


def forecast(
    probability: Any,
    action: Any,
    costs: Costs,
    draws: np.ndarray,
    *,
    coverage: float = 0.9,
    seed: int = 0,
) -> dict[str, Group]:
    """The groups by action, and `"all"`: expected rare nodes and cost with intervals.

    Args:
        probability: `(n,)` P(rare).
        action: `(n,)` what is done with each node.
        costs: The prices.
        draws: From `calibration_draws`.
        coverage: Of the intervals.
        seed: Of the coins.

    >>> certain = np.tile([0.0, 1.0], (400, 1))
    >>> groups = forecast([0.9, 0.9, 0.01], ["alert", "alert", "clear"], Costs(50, 5, 1), certain)
    >>> groups["alert"].rare.value, groups["clear"].cost.value, groups["all"].num_nodes
    (1.8, 0.5, 3)
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage!r}.")
    p, taken = np.asarray(probability, dtype=np.float64), check_actions(action)
    if p.shape != taken.shape:
        raise InputError(f"probability and action must speak of the same nodes; got {p.shape} and {taken.shape}.")
    rng = np.random.default_rng(seed)
    found: dict[str, Group] = {}
    all_rare, all_cost = np.zeros(len(draws)), np.zeros(len(draws))
    for name in ACTIONS:
        inside = p[taken == name]
        rare = _draw_counts(inside, draws, rng)
        cost = _cost_of(name, costs, rare, inside.size)
        all_rare, all_cost = all_rare + rare, all_cost + cost
        expected_cost = float(_cost_of(name, costs, inside.sum(), inside.size))
        found[name] = Group(
            name, inside.size, _estimate(inside.sum(), rare, coverage), _estimate(expected_cost, cost, coverage)
        )
    total = sum(group.cost.value for group in found.values())
    found["all"] = Group("all", p.size, _estimate(p.sum(), all_rare, coverage), _estimate(total, all_cost, coverage))
    return found


def groups_frame(groups: Mapping[str, Group]) -> dict[str, np.ndarray]:
    """The forecast as columns."""
    rows = list(groups.values())
    return {
        "group": np.array([row.action for row in rows]),
        "nodes": np.array([row.num_nodes for row in rows]),
        **{
            f"{what}{suffix}": np.array([getattr(getattr(row, what), part) for row in rows])
            for what in ("rare", "cost")
            for suffix, part in (("", "value"), ("_lower", "lower"), ("_upper", "upper"))
        },
    }


def _draw_counts(probability: np.ndarray, draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Number of rare nodes in each draw, `(draws,)`."""
    if not probability.size:
        return np.zeros(len(draws))
    z, count = _bins(_logit(probability))
    return np.asarray(rng.binomial(count, expit(draws[:, :1] + draws[:, 1:] * z)).sum(axis=1), dtype=np.float64)


def _cost_of(action: str, costs: Costs, num_rare: Any, num_nodes: int) -> Any:
    """Cost of a group in which so many nodes are rare: all three actions cost a line in the number of rare nodes."""
    of_rare, of_others = (float(costs.expected(p)[action]) for p in (1.0, 0.0))
    return of_rare * num_rare + of_others * (num_nodes - num_rare)


def _estimate(value: float, drawn: np.ndarray, coverage: float) -> Estimate:
    lower = float(np.quantile(drawn, (1 - coverage) / 2, method="lower"))
    upper = float(np.quantile(drawn, (1 + coverage) / 2, method="higher"))
    return Estimate(float(value), min(lower, float(value)), max(upper, float(value)))


def _logit(probability: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(probability, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)))


def _bins(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mean, count) of consecutive runs of the sorted values."""
    parts = np.array_split(np.sort(z), min(z.size, _MOST_BINS))
    return np.array([part.mean() for part in parts]), np.array([part.size for part in parts])
