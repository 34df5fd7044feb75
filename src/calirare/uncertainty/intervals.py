"""Of the nodes that score like this one, what share is rare, and how well do the labels pin that down?

The score of a node is u = logit P(rare). The labelled nodes have left-out scores, honest ones, and known answers; they are
what is known about the share of rare nodes at each score. Say that this share is

    logit share(u) = a + b · x + Σ_k c_k · max(x − t_k, 0) ,      x = (u − mean) / deviation ,

a line that may bend at six scores t_k (20, 50, 80, 90, 95 and 98% of the population lie below them). Where a map that was
fitted to the labels is too simple, the bends show it. The priors are weak: b ~ N(1.5, 2²), since detectors usually find
something, c_k ~ N(0, 2²), and a is nearly free. The posterior given the labels is drawn from: a multivariate t around its
peak, weighted by the exact density and resampled; no chain, nothing to converge. Each draw is a calibration map that the
labels leave open. The interval of a node holds the middle 90% of what the draws say at its score: it is wide where labels
are few, and where few of them score alike.

A line in logits is sure too soon. Where the few labels of the highest scores are all rare, it is certain of the next one after
ten, and no ten labels can know that. So half a label of either class is added in the middle of the top 5%, as Jeffreys
does before he counts: with k labels there, all of them rare, the share stays open down to about 1 − 2/(k + 1). It fades as
labels come.

Two more things are unsure. The left-out predictions themselves: a model without one of r rare labels knows less of the rare
class than the model that is used, and scores otherwise. It has seen m = r − 1 of them, so each left-out prediction counts as
e = m/(m + 2) of an independent one: not at all with one rare label, half with three, nearly all of it with a hundred. And they
lie elsewhere than the population's scores: with two or three rare labels by 0.3 deviations, with ten by 0.1, with thirty by 0.05
to 0.1, with a hundred by 0.05 (generated networks and real graphs, root mean square). So each map is brought to its share of rare
nodes over a population that lies a normal number of 0.4/√r deviations apart.

That share is the one that the map has over the labels' own scores. A count of n random labels would leave a share s open by
s (1 − s)/n, the scores leave E p (1 − p)/n: how many rare labels came by luck shows in how high they score. What a left-out
prediction does not count, 1 − e of a label, counts without its score: a Beta of (1 − e) n labels, and the two are weighed by how
sure each is. Where the share was counted on other labels it is drawn by their Beta, and where the user gave it, it is kept.

Labels that were left out together (copies, rows of one patient) may be rare together, and say less than as many others. Each then
counts as `independent_share` says, by how alike those of one group are beyond their scores.

The map is one for nodes of every degree. How far those of a degree may lie from it, well or poorly labelled as they are, is
drawn beside it (`calirare.uncertainty.by_degree`), and the interval of a node whose degree is given holds that too.
`python benchmarks/interval_coverage.py` counts how often the interval holds the true share, and how far the scores lie apart.

The forecast of `calirare.decisions.forecast` uses the same maps; over many nodes what is apart by degree evens out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from calirare.data.checks import check_share
from calirare.uncertainty.by_degree import degree_group, draw_effects
from calirare.uncertainty.calibration_maps import CalibrationDraws, Drawn
from calirare.uncertainty.left_out import check_left_out, independent_share
from calirare.uncertainty.posterior import at_share, bent_line, draw_posterior, draw_shares, finite_logit

_BENDS_BELOW = (0.2, 0.5, 0.8, 0.9, 0.95, 0.98)
_TOP_MIDDLE = 0.975
"""So much of the population lies below the middle of the top 5%."""
_HALF_A_LABEL = 0.5
_APART = 0.4
"""Deviations by which left-out scores lie elsewhere than the population's, times the root of the number of rare labels."""
_MOST_BINS = 256
"""Labels of one class with nearly the same score are counted together; more bins change no digit that is shown. They are
equally wide, not equally full: the few others among the highest scores must not be taken for lower ones."""
_ALIKE = 1e-9
"""Scores whose spread is below this are one score."""


def calibration_draws(
    left_out_probability: Any,
    y_rare: Any,
    *,
    rare_share: float,
    num_share_labels: float | None,
    num_draws: int = 1000,
    seed: int = 0,
    undo: Drawn | None = None,
    degree: Any = None,
    groups: Any = None,
) -> CalibrationDraws:
    """The calibration maps that the labelled nodes leave open; see the top of this module.

    Args:
        left_out_probability: `(n,)` P(rare) of the labelled nodes by models that never saw their labels.
        y_rare: `(n,)` whether each of them is rare.
        rare_share: The population's share of rare nodes that the probabilities were calibrated to.
        num_share_labels: How many random labels that share was counted on; None where it is known.
        num_draws: How many.
        seed: Of the draws.
        undo: What was done to the probabilities after their calibration; default: nothing.
        degree: `(n,)` how many neighbours each of them has; without it the interval does not know of degrees.
        groups: `(n,)` numbers of those that were left out together; default: each label stands alone.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4_000); y = rng.random(4_000) < p
    >>> draws = calibration_draws(p, y, rare_share=0.5, num_share_labels=4_000)
    >>> drawn = draws.probabilities(np.zeros(1))  # at logit 0, which is P = 0.5
    >>> bool(abs(drawn.mean() - 0.5) < 0.03), bool(drawn.std() < 0.03)
    (True, True)
    """
    p, rare = check_left_out(left_out_probability, y_rare)
    check_share(rare_share, "rare_share")
    rng, undo = np.random.default_rng(seed), undo or Drawn()
    counts = 1.0 if groups is None else independent_share(p, rare, np.asarray(groups))
    scores = undo.scores(p)
    score, target, count = _counted(scores, rare)
    weight = count * np.where(target == 1, rare_share / rare.sum(), (1 - rare_share) / (~rare).sum())
    centre = float(weight @ score)
    spread = float(np.sqrt(weight @ (score - centre) ** 2))
    scale = spread if spread > _ALIKE else 1.0
    knots = _weighted_quantiles(score, weight, _BENDS_BELOW)
    top = _weighted_quantiles(score, weight, (_TOP_MIDDLE,))
    z, bends, num_rare = (score - centre) / scale, (knots - centre) / scale, int(rare.sum())
    features = bent_line(np.append(z, np.repeat((top - centre) / scale, 2)), bends)
    answers = np.append(target, [1.0, 0.0])
    each = counts * evidence_of_a_label(num_rare)
    evidence = np.append(count * each, [_HALF_A_LABEL, _HALF_A_LABEL])
    drawn = draw_posterior(features, answers, evidence, num_draws, rng)
    effects = None
    if degree is not None:
        said = bent_line((scores - centre) / scale, bends) @ drawn.mean(axis=0)
        own = np.random.default_rng([seed, 1])  # so that the maps are the same with degrees and without
        effects = draw_effects(degree_group(degree), said, rare, each, num_draws, own)
    by_map = expit(drawn @ bent_line(z, bends).T) @ weight
    share = _population_shares(by_map, rare, rare_share, num_share_labels, rng, counts)
    apart = _APART / np.sqrt(num_rare) * spread / scale * rng.standard_normal((num_draws, 1))
    drawn = at_share(drawn, z + apart, bends, weight, share)
    # From standardised scores back to logits: a + b (u - m)/s + Σ c max((u - m)/s - t, 0).
    parameters = drawn / np.concatenate([[1.0], np.full(drawn.shape[1] - 1, scale)])
    parameters[:, 0] -= parameters[:, 1] * centre
    return CalibrationDraws(parameters, tuple(knots.tolist()), undo, effects)


def evidence_of_a_label(num_rare: int) -> float:
    """What a left-out prediction counts, measured in independent ones, with so many rare labels in all.

    >>> [round(evidence_of_a_label(r), 2) for r in (1, 3, 10, 100)]
    [0.0, 0.5, 0.82, 0.98]
    """
    return (num_rare - 1) / (num_rare + 1)


def _population_shares(
    by_map: np.ndarray,
    rare: np.ndarray,
    rare_share: float,
    num_share_labels: float | None,
    rng: np.random.Generator,
    counts: float = 1.0,
) -> np.ndarray:
    """`(draws,)`: what the population's share of rare nodes may be, where the maps have the shares `by_map` over the labels."""
    if num_share_labels != rare.size or not np.isclose(rare_share, rare.mean()):
        labels = None if num_share_labels is None else counts * num_share_labels
        return draw_shares(rare_share, labels, by_map.size, rng)
    without_score = (1 - evidence_of_a_label(int(rare.sum()))) * counts * rare.size
    by_score, by_count = map(finite_logit, (by_map, draw_shares(rare_share, without_score, by_map.size, rng)))
    trust = by_count.var() / (by_score.var() + by_count.var())
    return np.asarray(expit(trust * by_score + (1 - trust) * by_count))


def _counted(score: np.ndarray, rare: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean score, class, count) of the labels of each class that share one of equally wide bins of the score."""
    width = float(np.ptp(score)) / _MOST_BINS
    place = ((score - score.min()) / width).astype(np.int64).clip(0, _MOST_BINS - 1) if width > _ALIKE else 0 * rare
    where, group, count = np.unique(2 * place + rare, return_inverse=True, return_counts=True)
    return np.bincount(group, weights=score) / count, (where % 2).astype(np.float64), count.astype(np.float64)


def _weighted_quantiles(values: np.ndarray, weight: np.ndarray, levels: tuple[float, ...]) -> np.ndarray:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order]) - weight[order] / 2
    return np.unique(np.interp(levels, below / weight.sum(), values[order]))
