"""How many rare nodes a group holds and what it will cost, as a forecast with an interval.

Two things are unknown. Whether each node is rare is a coin with its probability: the count is Poisson-binomial. And the
probabilities were calibrated on finitely many labels: with twenty rare ones among them the base rate alone is unsure by up
to a fifth, in the same direction for every node, so no averaging over nodes helps. Both are drawn together: a calibration map
that the labels leave open (`calirare.uncertainty.intervals`, the maps that the intervals of single nodes come from), then a
coin for each node.

Note:
    Given its probability, each node is an own coin. Where rare nodes come in clusters that the probabilities do not
    explain, the true spread is wider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.data.checks import check_coverage
from calirare.data.named_columns import NamedColumns
from calirare.decisions.costs import ACTIONS, Costs, check_actions
from calirare.errors import InputError
from calirare.metrics.bootstrap import Estimate
from calirare.uncertainty.calibration_maps import CalibrationDraws
from calirare.uncertainty.posterior import equal_runs

_MOST_BINS = 256
"""Nodes of nearly the same probability are drawn together; a finer grid changes no digit that is shown."""
_MOST_SINGLE = 2_000
"""With prices per node, this many nodes with the largest stakes are drawn one by one; the others in bins."""


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
        costs: The prices, each a number or one per node.
        draws: From `calirare.uncertainty.intervals.calibration_draws`.
        coverage: Of the intervals.
        seed: Of the coins.

    >>> certain = CalibrationDraws(np.tile([0.0, 1.0], (400, 1)))
    >>> groups = forecast([0.9, 0.9, 0.01], ["alert", "alert", "clear"], Costs(50, 5, 1), certain)
    >>> groups["alert"].rare.value, groups["clear"].cost.value, groups["all"].num_nodes
    (1.8, 0.5, 3)
    """
    check_coverage(coverage)
    p, taken = np.asarray(probability, dtype=np.float64), check_actions(action)
    if p.shape != taken.shape:
        raise InputError(f"probability and action must speak of the same nodes; got {p.shape} and {taken.shape}.")
    rng = np.random.default_rng(seed)
    found: dict[str, Group] = {}
    all_rare, all_cost = np.zeros(len(draws)), np.zeros(len(draws))
    of_rare, of_others, expected = (costs.expected(share) for share in (np.ones_like(p), np.zeros_like(p), p))
    for name in ACTIONS:
        inside = taken == name
        stake = (of_rare[name] - of_others[name])[inside]
        rare, at_stake = _draw_coins(p[inside], stake, draws, rng)
        cost = of_others[name][inside].sum() + at_stake
        all_rare, all_cost = all_rare + rare, all_cost + cost
        found[name] = Group(
            name,
            int(inside.sum()),
            _estimate(p[inside].sum(), rare, coverage),
            _estimate(expected[name][inside].sum(), cost, coverage),
        )
    total = sum(group.cost.value for group in found.values())
    found["all"] = Group("all", p.size, _estimate(p.sum(), all_rare, coverage), _estimate(total, all_cost, coverage))
    return found


def groups_frame(groups: Mapping[str, Group]) -> NamedColumns:
    """The forecast as columns."""
    rows = list(groups.values())
    return NamedColumns(
        group=np.array([row.action for row in rows]),
        nodes=np.array([row.num_nodes for row in rows]),
        **{
            f"{what}{suffix}": np.array([getattr(getattr(row, what), part) for row in rows])
            for what in ("rare", "cost")
            for suffix, part in (("", "value"), ("_lower", "lower"), ("_upper", "upper"))
        },
    )


def _draw_coins(
    probability: np.ndarray, stake: np.ndarray, draws: CalibrationDraws, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(number of rare nodes, sum of their stakes) in each draw, `(draws,)` each."""
    if not probability.size:
        return np.zeros(len(draws)), np.zeros(len(draws))
    z = draws.scores(probability)
    if (stake == stake[0]).all():
        rare = rng.binomial(*_bins(z, draws)).sum(axis=1).astype(np.float64)
        return rare, stake[0] * rare
    matters = probability * (1 - probability) * stake**2
    order = np.argsort(-matters, kind="stable")
    single, others = order[:_MOST_SINGLE], order[_MOST_SINGLE:]
    coins = rng.random((len(draws), single.size)) < draws.probabilities(z[single])
    rare, at_stake = coins.sum(axis=1).astype(np.float64), coins @ stake[single]
    if others.size:
        more, more_at_stake = _draw_many(z[others], stake[others], draws, rng)
        rare, at_stake = rare + more, at_stake + more_at_stake
    return rare, at_stake


def _draw_many(
    z: np.ndarray, stake: np.ndarray, draws: CalibrationDraws, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The same for many nodes of small stakes: of a bin's n nodes k are rare, a random k, so that their stakes sum to
    nearly a normal number of mean k·mean(stake) and variance k·(1 − k/n)·var(stake)."""
    order = np.argsort(z, kind="stable")
    size, chance = _bins(z, draws)
    parts = np.array_split(stake[order], size.size)
    mean, deviation = np.array([part.mean() for part in parts]), np.array([part.std() for part in parts])
    rare = rng.binomial(size, chance)
    spread = np.sqrt(rare * (1 - rare / size)) * deviation
    at_stake = rare @ mean + np.sqrt((spread**2).sum(axis=1)) * rng.standard_normal(len(draws))
    return rare.sum(axis=1).astype(np.float64), at_stake


def _bins(z: np.ndarray, draws: CalibrationDraws) -> tuple[np.ndarray, np.ndarray]:
    """(size `(bins,)`, P(rare) by each draw `(draws, bins)`) of consecutive runs of the sorted logits."""
    mean, size = equal_runs(np.sort(z), _MOST_BINS)
    return size, draws.probabilities(mean)


def _estimate(value: float, drawn: np.ndarray, coverage: float) -> Estimate:
    lower = float(np.quantile(drawn, (1 - coverage) / 2, method="lower"))
    upper = float(np.quantile(drawn, (1 + coverage) / 2, method="higher"))
    return Estimate(float(value), min(lower, float(value)), max(upper, float(value)))
