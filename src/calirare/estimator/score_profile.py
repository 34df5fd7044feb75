"""The scores of the fit in a few numbers, so that scoring and monitoring can tell when they are not as they were.

P(rare) of the nodes without a label is compared, at the fit and now: a model speaks otherwise of what it has learned. The measure
and the rule are those of `calirare.data.tables.shift`, in bins that are cut more finely where alerts come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calirare.data.tables.schema.profile import of_numbers
from calirare.data.tables.shift import LARGE, MODERATE, Shift, Shifts, stability_index
from calirare.uncertainty.posterior import finite_logit

UNLABELLED = "unlabelled"
"""Under which a model keeps the profile of its fit; those of earlier versions keep others, which are not read."""
_LEVELS = (*np.arange(1, 10) / 10, 0.95, 0.99)
_FEWEST = 100
"""Fewer nodes without a label are no distribution to compare with."""


def scores_without_labels(probability: np.ndarray, left_out: np.ndarray, unlabelled: np.ndarray) -> np.ndarray:
    """P(rare) of nodes like those that will be scored: the ones without a label.

    Where nearly all nodes of the fit have one, what the model says of these without their labels stands in.

    Args:
        probability: `(N,)` P(rare) of every node.
        left_out: `(n,)` P(rare) of the labelled nodes without their labels.
        unlabelled: The nodes without a label.
    """
    return probability[unlabelled] if unlabelled.size >= _FEWEST else left_out


def profile_scores(probability: np.ndarray) -> dict[str, Any]:
    """Profile of logit P(rare), cut where 10, 20, … 90, 95 and 99% of the nodes lie below, and the mean of P(rare).

    >>> len(profile_scores(np.linspace(0.01, 0.99, 200))["cuts"])
    11
    """
    z = finite_logit(probability)
    cuts = np.unique(np.quantile(z, _LEVELS, method="lower")).tolist()
    found = of_numbers(z, {"cuts": cuts, "least": float(z.min()), "greatest": float(z.max())})
    return found | {"mean": float(np.mean(probability))}


def score_index(probability: np.ndarray, then: Mapping[str, Any]) -> tuple[float, float]:
    """Stability index of scores beside those of the fit, and its part above chance.

    Args:
        probability: `(n,)` P(rare) of the nodes without a label that are scored now.
        then: `profile_scores` of the fit.
    """
    shares = _shares(probability, then)
    return stability_index(np.array(then["shares"]), shares, then["count"], len(probability))


def and_scores(shifts: Shifts, probability: np.ndarray, seen: Mapping[str, Any] | None) -> Shifts:
    """The shifts of tables with their scores compared too, where the model knows those of its fit.

    Args:
        shifts: Of the columns.
        probability: `(n,)` P(rare) of the nodes without a label that are scored now.
        seen: What the model keeps of its fit; None: nothing.
    """
    then = (seen or {}).get(UNLABELLED)
    return shifts.and_one(compare_scores(probability, then)) if then and len(probability) else shifts


def compare_scores(probability: np.ndarray, then: Mapping[str, Any]) -> Shift | None:
    """How far the scores lie from those of the fit; None where chance would explain it. Arguments as of `score_index`.

    >>> rng = np.random.default_rng(0)
    >>> then = profile_scores(rng.beta(1, 9, 2_000))
    >>> compare_scores(rng.beta(1, 9, 500), then)
    >>> compare_scores(np.ones(500), then).words
    'P(rare) is 10.1% on average at fit, 100.0% now; the 10% that scored highest at fit scored above 0.226, as 100% do now.'
    """
    psi, excess = score_index(probability, then)
    if excess <= MODERATE:
        return None
    words = f"P(rare) is {then['mean']:.1%} on average at fit, {np.mean(probability):.1%} now"
    above, now = (1 - np.cumsum(shares)[:-1] for shares in (then["shares"], _shares(probability, then)))
    if above.size:
        top = int(np.abs(above - 0.1).argmin())
        least = 1 / (1 + np.exp(-then["cuts"][top]))
        words += f"; the {above[top]:.0%} that scored highest at fit scored above {least:.3g}, as {now[top]:.0%} do now"
    return Shift("scores", "probability", psi, "large" if excess > LARGE else "moderate", words + ".")


def scores_have_moved(probability: np.ndarray, seen: Mapping[str, Any] | None) -> bool:
    """Whether the scores are surely not those of the fit, however little they differ; True where these are not known.

    >>> rng = np.random.default_rng(0)
    >>> seen = {UNLABELLED: profile_scores(rng.beta(1, 9, 2_000))}
    >>> scores_have_moved(rng.beta(1, 9, 2_000), seen), scores_have_moved(rng.beta(1, 7, 2_000), seen)
    (False, True)
    """
    then = (seen or {}).get(UNLABELLED)
    return then is None or (len(probability) > 0 and score_index(probability, then)[1] > 0)


def _shares(probability: np.ndarray, then: Mapping[str, Any]) -> np.ndarray:
    return np.array(of_numbers(finite_logit(probability), then)["shares"])
