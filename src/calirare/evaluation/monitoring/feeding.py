"""Take a scoring run into the series; the work itself never fails because of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.shift import Shifts
from calirare.decisions.costs import Costs
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.evaluation.monitoring.runs import Reference, Run, make_reference, measure_run
from calirare.evaluation.monitoring.series import Series
from calirare.uncertainty.calibration_maps import CalibrationDraws


def reference_for(series: Series, version: str, clf: RareCategoryClassifier, graph: RareGraph | None) -> Reference:
    """The reference of a model: kept, or made from the graph of its fit and kept; without one, from its labels."""
    known = series.read("reference", version)
    if known:
        return Reference.from_json(known[0].value)
    made = Reference.of(clf.left_out_rare()[0]) if graph is None else make_reference(clf, graph)
    series.add("reference", version, "fit", asdict(made))
    return made


def take_run(
    series: Series,
    version: str,
    clf: RareCategoryClassifier,
    reference: Reference,
    probability: np.ndarray,
    *,
    command: str,
    shifts: Shifts | None = None,
    costs: Costs | None = None,
    action: np.ndarray | None = None,
    draws: CalibrationDraws | None = None,
    time: float | None = None,
) -> Run:
    """Measure a run and add it to the series. See `measure_run`."""
    run = measure_run(
        probability,
        reference,
        clf.calibration_draws() if draws is None else draws,
        shifts=shifts,
        costs=costs,
        action=action,
        left_out=(*clf.left_out_rare(), clf.base_rate_) if clf.prior == "natural" else None,
    )
    series.add("run", version, command, run.to_json(), time=time)
    return run


def take_decision(
    series: Series,
    version: str,
    node_id: str,
    decision: str,
    probability: float,
    action: str,
    costs: Costs,
    *,
    time: float | None = None,
) -> None:
    """Add a decided case: what was decided, what the model had said, what would have been done, at which prices."""
    value: dict[str, Any] = {
        "decision": decision,
        "probability": probability,
        "action": action,
        "prices": [costs.miss, costs.alarm, costs.review, costs.review_error],
    }
    series.add("decision", version, node_id, value, time=time)
