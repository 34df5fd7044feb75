"""What decisions say about the probabilities, although people look at the cases that the model picked.

Given the score, which case was looked at tells nothing about its label: then P(rare) of the cases that were decided must come
true whatever they are, and the *test* of calibration needs no correction. The *population's* share of rare nodes does. With
N_b nodes in score bin b, of which n_b were decided, each decided case i stands for N_b / n_b nodes (the inverse of its
chance to be looked at), and what the model says is corrected by what it got wrong:

    rare = Σ_b [ Σ_{v in b} p_v + (N_b / n_b) Σ_{i decided in b} (y_i − p_i) ] ,
    variance = Σ_b N_b² (1 − n_b / N_b) s_b² / n_b ,      s_b² = (Σ_i (y_i − p_i)² + p̄_b(1 − p̄_b)) / (n_b + 1) .

A bin without a decision cannot be corrected. `Observed.covered` is the share of the rare nodes foreseen that lies in bins with
decisions; the estimate speaks of those bins alone, and below 90% it says that it cannot speak of the whole. It cannot know
either whether people picked, at equal score, the cases that looked bad to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from calirare.decisions.costs import ACTIONS, Costs
from calirare.decisions.forecast import forecast
from calirare.evaluation.monitoring.runs import Reference, Run
from calirare.evaluation.monitoring.series import Row
from calirare.evaluation.monitoring.stored import fits, need
from calirare.metrics.bootstrap import Estimate
from calirare.uncertainty.calibration_maps import CalibrationDraws

ENOUGH_COVERED = 0.9


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases that people decided: `(k,)` when, P(rare) before the decision, whether rare, the action and prices then."""

    time: np.ndarray
    probability: np.ndarray
    rare: np.ndarray
    action: np.ndarray
    prices: np.ndarray
    """`(k, 4)`: miss, alarm, review, and the share of reviews that end in the wrong call."""
    unsure: int

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Cases:
        """From rows of the series, oldest first; of each node the last one counts, and one taken back does not."""
        need(all(_is_case(row.value) for row in rows), "a decision")
        last = {row.subject: row for row in rows}
        decided = [row for row in last.values() if row.value["decision"] in ("rare", "normal")]
        return cls(
            np.array([row.time for row in decided], dtype=np.float64),
            np.array([row.value["probability"] for row in decided], dtype=np.float64),
            np.array([row.value["decision"] == "rare" for row in decided], dtype=bool),
            np.array([row.value["action"] for row in decided], dtype=object),
            np.array([row.value["prices"] for row in decided], dtype=np.float64).reshape(-1, 4),
            sum(row.value["decision"] == "unsure" for row in last.values()),
        )

    def __len__(self) -> int:
        return int(self.probability.size)

    def take(self, rows: Any) -> Cases:
        """Some of them."""
        parts = {name: getattr(self, name)[rows] for name in ("time", "probability", "rare", "action", "prices")}
        return replace(self, **parts)

    @property
    def costs(self) -> Costs:
        """The prices of each case; reviewers' errors are counted as they were last."""
        error = float(self.prices[-1, 3]) if len(self) else 0.0
        miss, alarm, review, _ = self.prices.T
        return Costs(miss, alarm, review, error)


def _is_case(value: Mapping[str, Any]) -> bool:
    if not fits(
        value, {"decision": str, "probability": float, "action": str, "prices": tuple[float, float, float, float]}
    ):
        return False
    return 0 <= value["probability"] <= 1 and value["action"] in ACTIONS and min(value["prices"]) >= 0


@dataclass(frozen=True)
class Bin:
    """Cases of like score: bounds of P(rare), nodes there, decisions, what was said and what came true."""

    lower: float
    upper: float
    nodes: int
    decided: int
    said: float
    observed: Estimate


@dataclass(frozen=True)
class Observed:
    """What decisions say of a model.

    Args:
        bins: By score, those with decisions.
        foreseen: Rare nodes that the model foresees in these bins.
        rare: How many there are by the decisions, corrected for which cases were looked at.
        covered: Share of all rare nodes foreseen that lies in these bins.
    """

    bins: tuple[Bin, ...]
    foreseen: float
    rare: Estimate
    covered: float

    @property
    def can_be_corrected(self) -> bool:
        """Whether the decisions reach nearly all of the rare nodes foreseen."""
        return self.covered >= ENOUGH_COVERED

    def say(self) -> str:
        """In words."""
        if not self.bins:
            return "No case has been decided yet."
        said = (
            f"{self.foreseen:,.1f} rare nodes foreseen where cases were decided; by the decisions, weighted by score, "
            f"{self.rare.value:,.1f} ({self.rare.lower:,.1f} to {self.rare.upper:,.1f})."
        )
        if self.can_be_corrected:
            return said
        return (
            f"{said} This cannot be said of the whole network: {1 - self.covered:.0%} of the rare nodes foreseen have scores "
            "at which nobody decided a case."
        )


def observe(cases: Cases, run: Run, reference: Reference, *, coverage: float = 0.9) -> Observed:
    """Calibration as decisions show it, and the number of rare nodes that they suggest.

    Args:
        cases: Decided under this model.
        run: The nodes they were picked from.
        reference: Whose bins are used.
        coverage: Of the intervals.
    """
    bins, size, said = reference.bins(cases.probability), np.array(run.counts), np.array(run.said)
    rest = norm.ppf((1 + coverage) / 2)
    found, foreseen, total, variance = [], 0.0, 0.0, 0.0
    for b in np.unique(bins).tolist():
        inside = bins == b
        y, p = cases.rare[inside].astype(np.float64), cases.probability[inside]
        n, nodes = int(inside.sum()), max(int(size[b]), int(inside.sum()))
        expected = nodes * (said[b] if size[b] else p.mean())
        foreseen += expected
        total += expected + nodes * (y - p).mean()
        spread = (((y - p) ** 2).sum() + p.mean() * (1 - p.mean())) / (n + 1)
        variance += nodes**2 * (1 - n / nodes) * spread / n
        low, high = float(reference.edges[b]), float(reference.edges[b + 1])
        found.append(Bin(low, high, nodes, n, float(p.mean()), _share(y, coverage)))
    width = rest * np.sqrt(variance)
    most = float(sum(one.nodes for one in found))
    low, high = (float(np.clip(total + step, cases.rare.sum(), max(most, 0.0))) for step in (-width, width))
    everything = max(float(size @ said), foreseen, 1e-12)
    value = float(np.clip(total, low, high))
    return Observed(tuple(found), float(foreseen), Estimate(value, low, high), float(foreseen / everything))


@dataclass(frozen=True)
class Outcome:
    """Foreseen against observed for decided cases: each with the interval that chance and calibration leave open."""

    cases: int
    rare: Estimate
    observed_rare: int
    cost: Estimate
    observed_cost: float

    @property
    def rare_agrees(self) -> bool:
        return self.rare.lower <= self.observed_rare <= self.rare.upper

    @property
    def cost_agrees(self) -> bool:
        slack = 1e-9 * max(1.0, abs(self.cost.upper))
        return self.cost.lower - slack <= self.observed_cost <= self.cost.upper + slack


def compare_outcome(cases: Cases, draws: CalibrationDraws, *, coverage: float) -> Outcome:
    """What was foreseen for these cases, and what came: `calirare.decisions.forecast` on the cases that were looked at."""
    foreseen = forecast(cases.probability, cases.action, cases.costs, draws, coverage=coverage)["all"]
    cost = float(cases.costs.realised(cases.action, cases.rare.astype(np.int64)).sum())
    return Outcome(len(cases), foreseen.rare, int(cases.rare.sum()), foreseen.cost, cost)


def _share(y: np.ndarray, coverage: float) -> Estimate:
    """A share with Jeffreys' interval, which holds its ends where nothing or everything came true."""
    n, k = y.size, float(y.sum())
    tail = (1 - coverage) / 2
    low = 0.0 if k == 0 else float(beta.ppf(tail, k + 0.5, n - k + 0.5))
    high = 1.0 if k == n else float(beta.ppf(1 - tail, k + 0.5, n - k + 0.5))
    return Estimate(float(y.mean()), low, high)
