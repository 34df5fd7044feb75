"""How many rare nodes a group holds and what it will cost, as a forecast with an interval.

Two things are unknown. Whether each node is rare is a coin with its probability: the count is Poisson-binomial. And the
probabilities were calibrated on finitely many labels: with twenty rare ones among them the base rate alone is unsure by a
fifth, in the same direction for every node, so no averaging over nodes helps. Both are drawn together.

Calibration is drawn by a Bayesian bootstrap over the left-out predictions of the labelled nodes: each label gets a random
weight, within its class; the population's share of the rare class is drawn as the labels leave it open (and kept where
the user gave it); and, with u = logit P,

    logit P' = a + b · u + c₁ · max(u − k₁, 0) + c₂ · max(u − k₂, 0)

is fitted by weighted likelihood, with knots k at the rare share and at one half. The bends c let a calibration map that
is too simple for the data (a line, in Platt's case) show; a normal prior of width 1/2 keeps them small where the labels
say nothing. The spread of the fits is how far other labels could have moved the probabilities.

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

from calirare.decisions.costs import ACTIONS, Costs, check_actions
from calirare.errors import InputError, LabelError
from calirare.metrics.bootstrap import Estimate

_SMALLEST_PROBABILITY = 1e-9
_MOST_BINS = 256
"""Nodes of nearly the same probability are drawn together; a finer grid changes no digit that is shown."""
_NEWTON_STEPS = 40
_BEND_WIDTH = 0.5


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


@dataclass(frozen=True, eq=False)
class CalibrationDraws:
    """Calibration maps that the labels leave open.

    Args:
        parameters: `(draws, 2 + knots)`: a, b and the bends.
        knots: Where the map may bend, in logits.
    """

    parameters: np.ndarray
    knots: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.parameters)

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        """`(draws, n)`: what each draw makes of logits `(n,)`."""
        return np.asarray(expit(self.parameters @ _basis(z, self.knots).T))


def calibration_draws(
    left_out_probability: Any,
    y_rare: Any,
    *,
    rare_share: float,
    num_share_labels: float | None,
    num_draws: int = 1000,
    seed: int = 0,
) -> CalibrationDraws:
    """The calibration maps that the labelled nodes leave open; see the top of this module.

    Args:
        left_out_probability: `(n,)` P(rare) of the labelled nodes by models that never saw their labels.
        y_rare: `(n,)` whether each of them is rare.
        rare_share: The population's share of rare nodes that the probabilities were calibrated to.
        num_share_labels: How many random labels that share was counted on; None where it is known.
        num_draws: How many.
        seed: Of the draws.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4_000); y = rng.random(4_000) < p
    >>> draws = calibration_draws(p, y, rare_share=0.5, num_share_labels=4_000)
    >>> drawn = draws.probabilities(np.zeros(1))  # at logit 0, which is P = 0.5
    >>> bool(abs(drawn.mean() - 0.5) < 0.03), bool(drawn.std() < 0.03)
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
    knots = tuple(sorted({float(logit(rare_share)), 0.0}))
    features = _basis(np.concatenate(z), knots)
    # A prior of width 1 around the line a = 0, b = 1, so that separable labels have a finite fit too.
    widths = np.array([1.0, 1.0, *(_BEND_WIDTH for _ in knots)])
    start = np.array([0.0, 1.0, *(0.0 for _ in knots)])
    fitted = _fit_maps(features, np.concatenate(target), np.concatenate(weight, axis=1), start, widths**-2 / p.size)
    return CalibrationDraws(fitted, knots)


def _fit_maps(
    features: np.ndarray, target: np.ndarray, weight: np.ndarray, start: np.ndarray, ridge: np.ndarray
) -> np.ndarray:
    """Weighted logistic regressions, one for each row of `weight`, by Newton's method; `ridge` pulls to `start`."""
    theta = np.tile(start, (len(weight), 1))
    for _ in range(_NEWTON_STEPS):
        p = expit(theta @ features.T)
        gradient = (weight * (p - target)) @ features + ridge * (theta - start)
        hessian = np.einsum("bn,nk,nl->bkl", weight * p * (1 - p), features, features, optimize=True) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        # Far from the minimum a whole Newton step may overshoot.
        theta = theta - step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
        if np.abs(step).max() < 1e-8:
            break
    return theta


def forecast(
    probability: Any,
    action: Any,
    costs: Costs,
    draws: CalibrationDraws,
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

    >>> certain = CalibrationDraws(np.tile([0.0, 1.0], (400, 1)))
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


def _draw_counts(probability: np.ndarray, draws: CalibrationDraws, rng: np.random.Generator) -> np.ndarray:
    """Number of rare nodes in each draw, `(draws,)`."""
    if not probability.size:
        return np.zeros(len(draws))
    z, count = _bins(_logit(probability))
    return np.asarray(rng.binomial(count, draws.probabilities(z)).sum(axis=1), dtype=np.float64)


def _cost_of(action: str, costs: Costs, num_rare: Any, num_nodes: int) -> Any:
    """Cost of a group in which so many nodes are rare: all three actions cost a line in the number of rare nodes."""
    of_rare, of_others = (float(costs.expected(p)[action]) for p in (1.0, 0.0))
    return of_rare * num_rare + of_others * (num_nodes - num_rare)


def _estimate(value: float, drawn: np.ndarray, coverage: float) -> Estimate:
    lower = float(np.quantile(drawn, (1 - coverage) / 2, method="lower"))
    upper = float(np.quantile(drawn, (1 + coverage) / 2, method="higher"))
    return Estimate(float(value), min(lower, float(value)), max(upper, float(value)))


def _basis(z: np.ndarray, knots: tuple[float, ...]) -> np.ndarray:
    """`(n, 2 + knots)`: one, z, and what z is above each knot."""
    return np.column_stack([np.ones_like(z), z, *(np.maximum(z - knot, 0.0) for knot in knots)])


def _logit(probability: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(probability, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)))


def _bins(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mean, count) of consecutive runs of the sorted values."""
    parts = np.array_split(np.sort(z), min(z.size, _MOST_BINS))
    return np.array([part.mean() for part in parts]), np.array([part.size for part in parts])
