"""What one scoring run tells about the world: columns, scores and actions beside those of the fit.

Scores are compared by the population stability index over the bins of `calirare.estimator.score_profile.profile_scores`. Nodes
whose label is known are left out on both sides: a model speaks otherwise of what it has learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, get_type_hints

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.shift import Shifts
from calirare.decisions.costs import ACTIONS, Costs, decide
from calirare.decisions.forecast import forecast
from calirare.errors import InputError, LabelError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.score_profile import profile_scores, score_index, scores_without_labels
from calirare.evaluation.monitoring.stored import fits, need
from calirare.uncertainty.calibration_maps import CalibrationDraws
from calirare.uncertainty.posterior import finite_logit
from calirare.uncertainty.prior_shift import estimate_share, mixture_gap, share_of_new_nodes

_REFERENCE = {"profile": {"cuts": list[float], "shares": list[float]}, "alerted": float, "num_nodes": int}
_FEW_DRAWS = 200
"""Of the calibration, for the interval of the share: enough for its two ends, and quick."""


@dataclass(frozen=True)
class Reference:
    """How a model scores the nodes of its fit.

    Args:
        profile: Of logit P(rare); see `calirare.data.tables.schema.profile`.
        alerted: Share of the nodes that would be alerted at the default prices if nobody reviewed.
        num_nodes: How many nodes that is.
        share: Share of rare nodes among them, as their scores have it: labels that people chose to make have another. None:
            not known, as in references of earlier versions.
    """

    profile: dict[str, Any]
    alerted: float
    num_nodes: int
    share: float | None = None

    @classmethod
    def of(cls, probability: np.ndarray, label_share: float | None = None) -> Reference:
        """From P(rare) of nodes like those that will be scored, and the share that they were calibrated to, where it is known."""
        size = int(probability.size)
        share = None if label_share is None else max(estimate_share(probability, label_share), 0.5 / size)
        return cls(profile_scores(probability), alert_share(probability), size, share)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Reference:
        """From a row of the series; what a later version added is not read."""
        need(fits(value, _REFERENCE), "a reference")
        cuts, shares = value["profile"]["cuts"], value["profile"]["shares"]
        need(len(shares) == len(cuts) + 1 and cuts == sorted(cuts) and min(shares) >= 0, "bins")
        need(0 <= value["alerted"] <= 1 and value["num_nodes"] > 0, "a reference")
        share = value.get("share")
        need(share is None or fits(share, float) and 0 < share <= 1, "a reference")
        return cls(value["profile"], value["alerted"], value["num_nodes"], share)

    def bins(self, probability: Any) -> np.ndarray:
        """Bin of each probability, from low to high."""
        return np.searchsorted(self.profile["cuts"], finite_logit(probability), side="left")

    @property
    def num_bins(self) -> int:
        return len(self.profile["cuts"]) + 1

    @property
    def edges(self) -> np.ndarray:
        """`(bins + 1,)` P(rare) at the ends of the bins."""
        inner = 1 / (1 + np.exp(-np.asarray(self.profile["cuts"], dtype=np.float64)))
        return np.concatenate([[0.0], inner, [1.0]])


@dataclass(frozen=True)
class Run:
    """What a scoring run saw.

    Args:
        nodes: How many nodes were scored, those with a known label left out.
        columns: Stability index of every column and what of it is above chance, by "table: column".
        shifted: Columns that have shifted: severity, name and words.
        score_shift: Stability index of the scores, and what of it is above chance.
        counts, said: `(bins,)` nodes and mean P(rare) by score.
        alerted: Share of the nodes that would be alerted at the default prices if nobody reviewed; `actions` counts what was done.
        actions: Nodes by action, under the prices of the run.
        share: Share of rare nodes that the scores suggest, with an interval, and what they suggested at the fit; None where
            more has changed than the share.
        rare, cost: Forecast for all nodes, each with an interval.
    """

    nodes: int
    columns: dict[str, tuple[float, float]]
    shifted: list[tuple[str, str, str]]
    score_shift: tuple[float, float]
    counts: list[int]
    said: list[float]
    alerted: float
    actions: dict[str, int]
    share: dict[str, float] | None
    rare: tuple[float, float, float]
    cost: tuple[float, float, float]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Run:
        """From a row of the series; what a later version added is not read."""
        need(fits(value, _RUN) and (value["share"] is None or fits(value["share"], _SHARE)), "a run")
        need(0 <= value["alerted"] <= 1 and value["nodes"] > 0 and len(value["counts"]) == len(value["said"]), "a run")
        return cls(**{name: value[name] for name in cls.__dataclass_fields__})


_RUN = get_type_hints(Run) | {"share": object}
_SHARE = dict.fromkeys(("before", "now", "lower", "upper"), float)


def make_reference(clf: RareCategoryClassifier, graph: RareGraph) -> Reference:
    """The reference of a model, from the graph of its fit."""
    probability = clf.predict_proba(graph)[:, clf.rare_class_]
    scores = scores_without_labels(probability, clf.left_out_rare()[0], graph.unlabelled)
    return Reference.of(scores, clf.base_rate_ if clf.prior == "natural" else None)


def measure_run(
    probability: Any,
    reference: Reference,
    draws: CalibrationDraws,
    *,
    shifts: Shifts | None = None,
    costs: Costs | None = None,
    action: Any = None,
    left_out: tuple[np.ndarray, np.ndarray, float] | None = None,
) -> Run:
    """What a run saw.

    Args:
        probability: `(n,)` P(rare) of the nodes without a known label.
        reference: Of the model.
        draws: What the labels leave open of its calibration.
        shifts: The tables beside those of the fit; None where they were not compared.
        costs: The prices of the run; default: the usual ones.
        action: `(n,)` what was decided; default: the cheapest at these prices.
        left_out: P(rare) of the labelled nodes without their labels, whether each is rare, and the share at the fit; then
            the share of rare nodes is estimated.
    """
    p = np.asarray(probability, dtype=np.float64)
    if not p.size:
        raise InputError("a run needs at least one node whose label is not known.")
    costs = costs or Costs()
    taken = decide(p, costs).action if action is None else np.asarray(action)
    bins = reference.bins(p)
    counts = np.bincount(bins, minlength=reference.num_bins)
    said = np.bincount(bins, weights=p, minlength=reference.num_bins) / np.maximum(counts, 1)
    every = forecast(p, taken, costs, draws)["all"]
    return Run(
        nodes=int(p.size),
        columns={} if shifts is None else {f"{table}: {name}": pair for (table, name), pair in shifts.indices.items()},
        shifted=_shifted(shifts),
        score_shift=score_index(p, {**reference.profile, "count": reference.num_nodes}),
        counts=counts.tolist(),
        said=said.tolist(),
        alerted=alert_share(p),
        actions={name: int((taken == name).sum()) for name in ACTIONS},
        share=_share(p, draws, left_out, reference.share),
        rare=(every.rare.value, every.rare.lower, every.rare.upper),
        cost=(every.cost.value, every.cost.lower, every.cost.upper),
    )


def _shifted(shifts: Shifts | None) -> list[tuple[str, str, str]]:
    """The columns that have shifted; the scores have a measure of their own here, on nodes without a label alone."""
    found = () if shifts is None else shifts.found
    return [(one.severity, f"{one.table}: {one.column}", one.words) for one in found if one.table != "scores"]


def alert_share(probability: np.ndarray) -> float:
    """Share of nodes for which an alert is cheaper than clearing, at the default prices, so that all runs compare."""
    return float((probability >= Costs().thresholds().alone).mean())


def _share(
    p: np.ndarray,
    draws: CalibrationDraws,
    left_out: tuple[np.ndarray, np.ndarray, float] | None,
    at_fit: float | None,
) -> dict[str, float] | None:
    if left_out is None:
        return None
    own, rare, of_labels = left_out
    try:
        gap, allowed = mixture_gap(p, own, rare, estimate_share(p, of_labels))
        if gap > allowed:  # more has changed than the share
            return None
        few = replace(draws, parameters=draws.parameters[:_FEW_DRAWS])
        found = share_of_new_nodes(p, of_labels, own, rare, few)
    except (InputError, LabelError):  # a share of 0 or 1, labels of one class
        return None
    before = of_labels if at_fit is None else at_fit
    return {"before": before, "now": found.value, "lower": found.lower, "upper": found.upper}
