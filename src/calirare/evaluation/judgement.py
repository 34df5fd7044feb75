"""Evidence, metrics and verdict together: what the report, the desk and `calirare evaluate` show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.audit import find_leaks
from calirare.data.tables.findings.from_labels import made_from_labels
from calirare.data.tables.findings.undecided import find_undecided
from calirare.estimator.beware import is_honest_about
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.evidence import Evidence, gather_evidence
from calirare.evaluation.first_lines import warn_of_chosen_labels
from calirare.evaluation.verdict import Verdict, judge
from calirare.metrics import METRICS, Summary, recall_at_budget
from calirare.metrics.bootstrap import NUM_RESAMPLES
from calirare.plots import reliability, scores
from calirare.plots.tables import Frame
from calirare.uncertainty.skill import Skill, measure_skill

NUM_BINS = 10


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One judgement of a model.

    Args:
        evidence: The nodes that judge it, and what it says of them.
        before: Metrics before calibration, without intervals.
        after: Metrics with their intervals.
        skill: Whether they tell the model from the base rate.
        verdict: What they mean.
        num_reviewed: Nodes that the budget allows among those that judge; None without one.
    """

    evidence: Evidence
    before: Summary
    after: Summary
    skill: Skill
    verdict: Verdict
    num_reviewed: int | None = None

    def title(self, name: str) -> str:
        """A metric's title; of recall within the budget, how many nodes that allows."""
        title = METRICS[name].title
        if name != recall_at_budget.__name__ or self.num_reviewed is None:
            return title
        return f"{title} ({self.num_reviewed:,} of {self.after.num_nodes:,} nodes)"

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.verdict.warnings

    @property
    def num_called(self) -> int:
        """How many of the nodes that judge it the model calls rare."""
        return int((self.evidence.predicted == self.evidence.rare_class).sum())

    @cached_property
    def reliability(self) -> Frame:
        """The bins of the reliability diagram of P(rare), `"before"` and `"after"`."""
        return reliability.frame(
            self.evidence.y,
            {"before": self.evidence.before, "after": self.evidence.after},
            rare_class=self.evidence.rare_class,
            groups=("rare",),
            num_bins=NUM_BINS,
            class_probability=True,
        )

    @cached_property
    def scores(self) -> Frame:
        """How P(rare) is spread over rare and other nodes."""
        return scores.frame(self.evidence.y_rare, self.evidence.probability, num_bins=40)

    def frame(self) -> dict[str, np.ndarray]:
        """One row per metric: `metric`, `title`, `before`, `value`, `lower`, `upper`, `better`."""
        table = self.after.frame()
        before = np.array([self.before[name].value for name in self.after])
        return {"metric": table.pop("metric"), "title": table.pop("title"), "before": before, **table}

    def to_json(self) -> dict[str, Any]:
        """As plain numbers and texts."""
        found = self.after.to_json()
        for name, one in found["metrics"].items():
            one["before"] = self.before[name].value
        return {
            "verdict": self.verdict.level,
            "words": self.verdict.words,
            "warnings": list(self.warnings),
            "judged_on": self.evidence.say(),
            "source": self.evidence.source,
            **found,
        }


def evaluate(
    clf: RareCategoryClassifier,
    graph: RareGraph,
    nodes: Any = None,
    *,
    among: np.ndarray | None = None,
    budget: int | None = None,
    budget_for: int | None = None,
    coverage: float = 0.95,
    num_resamples: int = NUM_RESAMPLES,
    only: Iterable[str] | None = None,
) -> Evaluation:
    """Judge a model by labels that did not make its answers.

    Args:
        clf: Fitted.
        graph: The graph it was fitted on, or another one with known labels.
        nodes, among: Which labels may judge; see `calirare.estimator.evidence.gather_evidence`.
        budget: With it, recall within the budget is among the metrics.
        budget_for: How many nodes the budget is for, where these are others: of those that judge, it allows the same share.
        coverage: Of the metrics' intervals.
        num_resamples: Of the bootstrap.
        only: Names of metrics, where not all are wanted; those that the verdict reads come along.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=600, labelled_share=0.5, rare_share=0.2, seed=0)
    >>> found = evaluate(cr.RareCategoryClassifier(detector="linear").fit(graph), graph, num_resamples=20)
    >>> found.evidence.source, found.verdict.level, "average_precision" in found.after
    ('left_out', 'good', True)
    """
    evidence = gather_evidence(clf, graph, nodes, among=among)
    size = None if budget is None else _num_reviewed(budget, budget_for, evidence.y.size)
    wanted = None if only is None else dict.fromkeys([*only, "average_precision", "negative_log_likelihood"])
    options: dict[str, Any] = {"budget": size, "coverage": coverage, "seed": clf.seed, "only": wanted}
    before = evidence.summary(before=True, num_resamples=0, **options)
    after = evidence.summary(num_resamples=num_resamples, **options)
    skill = _skill(evidence)
    chosen = evidence.source != "unread" and bool(warn_of_chosen_labels(clf, graph))
    undecided = [finding.words for finding in find_undecided(graph)]
    made = made_from_labels(graph)
    leaks = (*find_leaks(graph), *(() if is_honest_about(clf, graph, made) else made))
    verdict = judge(evidence, before, after, clf.base_rate_, skill, leaks, undecided, chosen)
    return Evaluation(evidence, before, after, skill, verdict, size)


def _num_reviewed(budget: int, budget_for: int | None, num_nodes: int) -> int:
    """Of so many nodes.

    >>> _num_reviewed(200, None, 1_000), _num_reviewed(200, 4_000, 1_000), _num_reviewed(200, 50, 1_000)
    (200, 50, 1000)
    """
    return min(budget if not budget_for else round(budget / budget_for * num_nodes), num_nodes)


def _skill(evidence: Evidence) -> Skill:
    rare = evidence.y_rare
    if rare.all() or not rare.any():  # the user named nodes of one class
        return Skill(float("nan"), 1.0, int(rare.sum()), int((~rare).sum()))
    return measure_skill(evidence.probability, rare, left_out=evidence.source != "unread")
