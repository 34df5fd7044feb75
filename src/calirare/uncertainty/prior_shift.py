"""When the share of rare nodes is another than at the fit: shift the probabilities, or read the new share off the scores.

If rare nodes still look as rare nodes did, and the others as the others did, only the odds move (prior shift):

    odds' = odds · [π'/(1 − π')] / [π/(1 − π)] ,      π the share at the fit, π' the new one.

π' can be estimated without a single label: it is the share under which the new probabilities are likeliest, the fixed point
π' = mean of the shifted probabilities, which EM steps towards (key `saerens2002`) and bisection finds at once. That is worth
as much as the calibration, and as the nodes are many: under each map that the labels leave open, with Jeffreys' prior, the
scores say how likely each share is; one is drawn, and by it which nodes are rare. The interval is the middle of their shares.

It fails where more has changed than the share. Then no mixture of the scores that rare and other labels had explains the
new scores, and the answer says so (`Share.explained`): the largest gap between the two distribution functions, beside the
gap that chance allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calirare.data.arrays import check_chances
from calirare.data.checks import check_share
from calirare.errors import InputError
from calirare.uncertainty.calibration_maps import CalibrationDraws
from calirare.uncertainty.left_out import check_left_out
from calirare.uncertainty.posterior import equal_runs

_MOST_BINS = 512
_HALVINGS = 40
_STEPS = 40
"""From one end of the shares that are looked at to the other."""
_UNHEARD_OF = 12.0
"""A share that is so many natural logarithms less likely than the likeliest is not looked at more closely."""
_MOST_DRAWS = 400
"""Maps of which the interval is the middle; more change no digit that is shown."""
_WORTH = 0.5
"""What a score tells of the share, of what it would tell if scores were independent under a map: its errors are common to nodes that are alike."""
_GAP = 1.63
"""Kolmogorov and Smirnov: chance passes this many standard units in one case of a hundred."""


@dataclass(frozen=True)
class Share:
    """A share of rare nodes read off scores.

    Args:
        value: The estimate.
        lower, upper: Its interval, from the uncertainty of the calibration and the number of nodes.
        gap: Largest difference between the new scores and the best mixture of old ones, as shares of nodes.
        allowed: The gap that chance allows.
    """

    value: float
    lower: float
    upper: float
    gap: float
    allowed: float

    @property
    def explained(self) -> bool:
        """Whether a change of the share alone explains the new scores."""
        return self.gap <= self.allowed

    def sentence(self, rare: str, old_share: float) -> str:
        """What was found, and whether to believe it.

        >>> Share(0.2, 0.15, 0.26, 0.01, 0.05).sentence("fraud", 0.05)
        'By their scores 20% of these nodes are fraud (15% to 26%); 5% at the fit.'
        >>> Share(0.2, 0.15, 0.26, 0.31, 0.05).sentence("fraud", 0.05).split(": ")[1]
        'label some of these nodes at random, and give their share.'
        """
        said = (
            f"By their scores {self.value:.2%} of these nodes are {rare} ({self.lower:.2%} to {self.upper:.2%}); "
            f"{old_share:.2%} at the fit."
        ).replace(".00%", "%")
        if self.explained:
            return said
        return (
            f"{said} This cannot be trusted, since more has changed than the share (scores differ by {self.gap:.3f} from every "
            f"mixture of what labels scored, where chance allows {self.allowed:.3f}): label some of these nodes at random, and "
            "give their share."
        )


def estimate_share(probability: Any, old_share: float) -> float:
    """The share of rare nodes under which these probabilities are likeliest, by EM.

    >>> rng = np.random.default_rng(0)
    >>> rare = rng.random(50_000) < 0.2
    >>> score = rng.normal(np.where(rare, 1.0, -1.0))
    >>> odds = np.exp(2 * score) * 0.05 / 0.95  # calibrated where 5% are rare
    >>> bool(abs(estimate_share(odds / (1 + odds), old_share=0.05) - 0.2) < 0.01)
    True
    """
    p = _sorted(probability, old_share)
    if not p.size:
        raise InputError("probability must hold at least one node.")
    mean, size = equal_runs(p, _MOST_BINS)
    return float(_likeliest(mean[None], size[None], np.array([old_share]))[0])


def share_of_new_nodes(
    probability: Any,
    old_share: float,
    left_out_probability: Any,
    y_rare: Any,
    draws: CalibrationDraws,
    *,
    coverage: float = 0.9,
    seed: int = 0,
) -> Share:
    """The share of rare nodes among new ones, with an interval, and a check whether prior shift explains their scores.

    Args:
        probability: `(n,)` P(rare) of the new nodes by the model as fitted.
        old_share: The share that the probabilities were calibrated to.
        left_out_probability: `(m,)` of the labelled nodes.
        y_rare: `(m,)` whether each of them is rare.
        draws: The calibration maps that the labels leave open.
        coverage: Of the interval.
        seed: Of the shares that are drawn.
    """
    p = _sorted(probability, old_share)
    value = estimate_share(p, old_share)
    own, rare = check_left_out(left_out_probability, y_rare)
    weight = np.where(rare, old_share / rare.sum(), (1 - old_share) / (~rare).sum())
    draws = replace(draws, parameters=draws.parameters[:_MOST_DRAWS])
    old_shares = draws.probabilities(draws.scores(own)) @ weight  # each map has its own
    mean, size = equal_runs(p, _MOST_BINS // 2)
    rng, densities = np.random.default_rng(seed), _densities(draws.probabilities(draws.scores(mean)), old_shares)
    share = _drawn(*densities, _WORTH * size, rng.random(len(draws)))
    found = rng.binomial(size, share[:, None] * densities[0] / _mixed(*densities, share)).sum(axis=1) / p.size
    lower, upper = np.quantile(found, [(1 - coverage) / 2, (1 + coverage) / 2])
    gap, allowed = mixture_gap(p, left_out_probability, y_rare, value)
    return Share(value, min(float(lower), value), max(float(upper), value), gap, allowed)


def mixture_gap(probability: Any, left_out_probability: Any, y_rare: Any, share: float) -> tuple[float, float]:
    """(largest gap between the new scores and share · rare + (1 − share) · others, the gap that chance allows).

    >>> old, y = np.linspace(0.01, 0.99, 99), np.arange(99) >= 90
    >>> gap, allowed = mixture_gap(old, old, y, share=9 / 99)
    >>> round(gap, 6), gap < allowed
    (0.0, True)
    """
    new, old, rare = np.sort(np.asarray(probability, dtype=np.float64)), *check_left_out(left_out_probability, y_rare)
    points = np.unique(np.concatenate([new, old]))

    def below(values: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.sort(values), points, side="right") / values.size

    mixture = share * below(old[rare]) + (1 - share) * below(old[~rare])
    allowed = _GAP * np.sqrt(share**2 / rare.sum() + (1 - share) ** 2 / (~rare).sum() + 1 / new.size)
    return float(np.abs(below(new) - mixture).max()), float(allowed)


def _likeliest(p: np.ndarray, count: np.ndarray, old_share: np.ndarray) -> np.ndarray:
    """`(draws,)`: where Σ count · (rare − other) / (share · rare + (1 − share) · other), which falls, crosses zero."""
    rare, other = _densities(p, old_share)
    low, high = np.zeros(len(p)), np.ones(len(p))
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        rising = (count * (rare - other) / _mixed(rare, other, share)).sum(axis=1) > 0
        low, high = np.where(rising, share, low), np.where(rising, high, share)
    return np.asarray((low + high) / 2)


def _drawn(rare: np.ndarray, other: np.ndarray, count: np.ndarray, tick: np.ndarray) -> np.ndarray:
    """`(draws,)`: of each map's shares the one that ticks `(draws,)` between 0 and 1 choose, by how likely each is.

    share = sin² of an angle; Jeffreys' prior of the share is an even one of the angle.
    """
    low, high, maps = np.zeros(len(rare)), np.full(len(rare), np.pi / 2), np.arange(len(rare))
    for closer in (False, True):
        steps = np.linspace(low, high, _STEPS + 1)  # (steps + 1, draws)
        fit = np.array([np.log(_mixed(rare, other, share)) @ count for share in np.sin(steps) ** 2])
        fit -= fit.max(axis=0)
        if not closer:
            heard = fit > -_UNHEARD_OF
            first, last = heard.argmax(axis=0), _STEPS - heard[::-1].argmax(axis=0)
            low = steps[np.maximum(first - 1, 0), maps]
            high = steps[np.minimum(last + 1, _STEPS), maps]
    weight = np.exp(fit)
    below = np.cumsum((weight[1:] + weight[:-1]) / 2, axis=0)
    below = np.vstack([np.zeros(len(rare)), below]) / below[-1]
    chosen = [np.interp(at, by, angle) for at, by, angle in zip(tick, below.T, steps.T, strict=True)]
    return np.asarray(np.sin(chosen) ** 2)


def _densities(p: np.ndarray, old_share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the scores in the two classes, but for a factor: p/π and (1 − p)/(1 − π)."""
    return p / old_share[:, None], (1 - p) / (1 - old_share[:, None])


def _mixed(rare: np.ndarray, other: np.ndarray, share: np.ndarray) -> np.ndarray:
    return np.maximum(share[:, None] * rare + (1 - share[:, None]) * other, 1e-300)


def _sorted(probability: Any, old_share: float) -> np.ndarray:
    check_share(old_share, "old_share")
    return np.sort(check_chances(probability))
