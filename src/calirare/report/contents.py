"""Everything that stands in a report, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from torch import nn

from calirare.benchmark.provenance import versions
from calirare.data.graph import RareGraph
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.findings.finding import Finding
from calirare.data.tables.findings.read_counts import describe_counts
from calirare.decisions.costs import Costs, Thresholds
from calirare.decisions.triage import Triage, triage
from calirare.decisions.wording import wording_of
from calirare.errors import InputError, NotFittedError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.evidence import Evidence, read_nodes
from calirare.estimator.methods import get_method
from calirare.evaluation import DoubtfulLabel, Evaluation, evaluate, first_lines, look_again
from calirare.evaluation.graph_value import audit_with_graph
from calirare.evaluation.members import Member, judge_members, loss_at_shares
from calirare.metrics.bootstrap import NUM_RESAMPLES
from calirare.plots import cost_curve
from calirare.plots.tables import Frame

MOST_COLUMNS = 60
"""Columns of the tables that the report lists; a bag of words has thousands."""


@dataclass(frozen=True, eq=False)
class Contents:
    """What a report says.

    Args:
        title: Of the page.
        beware: What must be read before any number; see `calirare.evaluation.first_lines`.
        date: When it was made.
        rare, other: What to call the class looked for, and the rest.
        data: What the graph holds, by name.
        columns: The tables' columns and what was done with them; empty where the graph came without a table.
        num_columns: How many columns there are in all.
        audit: What is to be known of the tables, the gravest first.
        labels: What was read for what, by name.
        look_again: Labels that the model would have called otherwise, the most surprising first.
        evaluation: The judgement of the model.
        individual_error: EICE over the nodes that are scored, of many some, or None where there is none.
        cost_curve: The numbers of the figure of costs.
        queue: The decisions, or None where the probabilities are not natural; `queue_note` then says so.
        costs: The prices.
        detectors: The members of a stack, what each weighs and how it does alone; empty for a single detector.
        detectors_loss: Negative log-likelihood of the left-out labels by all members together; NaN for a single detector.
        settings: The estimator's arguments.
        versions: Of the libraries.
        coverage: Of interval, sets and forecast; the metrics' intervals have 0.95.
    """

    title: str
    beware: tuple[str, ...]
    date: datetime
    rare: str
    other: str
    data: dict[str, str]
    columns: list[dict[str, str]]
    num_columns: int
    audit: tuple[Finding, ...]
    labels: dict[str, str]
    look_again: list[DoubtfulLabel]
    evaluation: Evaluation
    individual_error: float | None
    cost_curve: Frame
    queue: Triage | None
    queue_note: str
    costs: Costs
    detectors: list[Member]
    detectors_loss: float
    settings: dict[str, str]
    versions: dict[str, str]
    coverage: float

    @property
    def limits(self) -> Thresholds | None:
        """The thresholds in force, under the budget too; None where every node has its own."""
        return None if self.costs.per_node else self.costs.thresholds(0.0 if self.queue is None else self.queue.cutoff)

    @property
    def calibrates(self) -> bool:
        """Whether before and after differ."""
        return self.evaluation.evidence.calibrates


def gather(
    clf: RareCategoryClassifier,
    graph: RareGraph,
    *,
    costs: Costs | None = None,
    budget: int | None = None,
    coverage: float = 0.9,
    num_resamples: int = NUM_RESAMPLES,
    title: str | None = None,
    date: datetime | None = None,
    model_version: str | None = None,
) -> Contents:
    """Ask the model everything that the report tells; see `calirare.report.write_report` for the arguments."""
    costs = costs or Costs()
    queue, note = _decide(clf, graph, costs, budget, coverage)
    decided = None if queue is None else len(queue)
    evaluation = evaluate(clf, graph, budget=budget, budget_for=decided, num_resamples=num_resamples)
    detectors, wording = judge_members(clf), wording_of(clf, coverage)
    rare = wording.rare
    columns = describe_schema(graph.schema, networks_alone=clf.state_.recipe is None) if graph.schema else []
    return Contents(
        title=title or f"Rare nodes: {rare}" + ("" if graph.name == RareGraph.name else f" in {graph.name}"),
        beware=first_lines(clf, graph, evaluation.skill),
        date=date or datetime.now(UTC),
        rare=rare,
        other=wording.other,
        data=describe_data(clf, graph, rare),
        columns=columns[:MOST_COLUMNS],
        num_columns=len(columns),
        audit=audit_with_graph(graph).findings[:MOST_COLUMNS] if graph.schema else (),
        labels=describe_labels(clf, graph, evaluation),
        look_again=look_again(clf, graph),
        evaluation=evaluation,
        individual_error=_individual_error(clf, graph),
        cost_curve=_cost_curve(evaluation.evidence, costs),
        queue=queue,
        queue_note=note,
        costs=costs,
        detectors=detectors,
        detectors_loss=loss_at_shares(clf.predict_left_out(), clf.labelled_y_, clf.shares_) if detectors else np.nan,
        settings=_settings(clf, model_version),
        versions=versions(),
        coverage=coverage,
    )


def _decide(
    clf: RareCategoryClassifier, graph: RareGraph, costs: Costs, budget: int | None, coverage: float
) -> tuple[Triage | None, str]:
    """The decisions, or why there are none."""
    try:
        return triage(clf, graph, **costs.arguments(), budget=budget, coverage=coverage), ""
    except InputError as error:
        if clf.prior == "natural":
            raise
        return None, str(error)


def _cost_curve(evidence: Evidence, costs: Costs) -> Frame:
    prices = costs.take(evidence.nodes)
    return cost_curve.frame(evidence.y_rare, evidence.probability, costs=prices, num_thresholds=501)


def describe_data(clf: RareCategoryClassifier, graph: RareGraph, rare: str) -> dict[str, str]:
    """What the graph holds, by name."""
    labels = graph.y[graph.known]
    degree = graph.degree
    num_rare = int((labels == graph.rare_class).sum())
    facts = {
        "Nodes": f"{graph.num_nodes:,}",
        "Edges": f"{graph.num_edges:,}" + ("" if graph.edge_weight is None else ", weighted"),
        "Neighbours of a node": f"{degree.mean():.1f} on average, {degree.max(initial=0):,} at most; {int((degree == 0).sum()):,} nodes have none",
        "Features": f"{graph.num_features:,}",
        "Known labels": f"{labels.size:,} ({labels.size / max(graph.scored.size, 1):.1%} of the nodes that are scored)",
        f"Labelled {rare}": f"{num_rare:,} ({graph.rare_share:.2%} of the labels)",
        "Rare share the probabilities are calibrated to": f"{clf.base_rate_:.2%}"
        + (
            " (given)"
            if clf.rare_share is not None
            else " (counted on labels)"
            if clf.prior == "natural"
            else " (balanced prior)"
        ),
    }
    return facts | {f"At reading: {words}": f"{count:,}" for words, count in describe_counts(graph.schema).items()}


def describe_labels(clf: RareCategoryClassifier, graph: RareGraph, evaluation: Evaluation) -> dict[str, str]:
    """Which labels were read for what, by name."""
    method = get_method(clf.method)
    trains, calibrates = method.label_budget
    num_rare = int((clf.labelled_y_ == clf.rare_class_).sum())
    read = read_nodes(clf, graph)
    num_judged_rare = int(evaluation.evidence.y_rare.sum())
    return {
        "Method": f"{method.name}: {method.summary}",
        "Trained on": f"{trains}: {clf.labelled_nodes_.size:,} labels, {num_rare:,} of them rare",
        "Calibrated on": "nothing: probabilities as trained" if method.calibrator is None else calibrates,
        "Labels read in all": "the model was fitted on another graph" if read is None else f"{read.size:,}",
        "Judged on": f"{evaluation.evidence.say()}; {num_judged_rare:,} of them are rare",
    }


_MOST_ASKED = 2_000
"""Nodes that EICE is the mean of: each is asked about by as many models as there are labels."""


def _individual_error(clf: RareCategoryClassifier, graph: RareGraph) -> float | None:
    try:
        some = np.random.default_rng(0).permutation(graph.scored)[:_MOST_ASKED]
        return float(clf.individual_calibration_error(graph, nodes=np.sort(some)).mean())
    except NotFittedError:  # a loaded calibrator that wants the training graph
        return None


def _settings(clf: RareCategoryClassifier, model_version: str | None) -> dict[str, str]:
    settings = {name.replace("_", " "): _plain(value) for name, value in clf.get_params(deep=False).items()}
    if model_version is not None:
        settings["model version"] = model_version
    if clf.history_.loss:
        settings["epochs trained"] = str(len(clf.history_.loss))
    return settings


def _plain(value: Any) -> str:
    return type(value).__name__ if isinstance(value, nn.Module) else "default" if value is None else str(value)
