"""Our own detectors, each alone, and `auto`, the stack of them."""

from __future__ import annotations

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.detectors import detectors
from calirare.detectors.networks.network import Network
from calirare.estimator.classifier import RareCategoryClassifier

ALONE = ("linear", "sparse", "forest", "boosting", "surroundings", "spreading", "gcn", "gat", "gin", "sage")
CORE = ("linear", "sparse", "surroundings", "spreading")


def answer(problem: Problem, detector: str) -> Answer:
    """As a user fits it: every label trains, left-out logits calibrate."""
    alone = issubclass(detectors()[detector], Network)
    inputs = problem.device_inputs if alone else problem.inputs_with_columns
    clf = RareCategoryClassifier(
        detector, rare_share=problem.rare_share, seed=problem.seed, device=problem.device if alone else "cpu"
    )
    trained = clf.fit_detector(inputs.graph, problem.everything, inputs=inputs)
    clf.calibrate(trained, inputs.graph, problem.everything)
    return Answer(clf.predict_proba(inputs.graph)[:, 1], clf.predict_set(inputs.graph))


def _competitor(detector: str) -> Competitor:
    return Competitor(
        detector if detector == "auto" else f"our {detector}",
        "ours",
        lambda problem: answer(problem, detector),
        group=f"our {detector}",
        core=detector == "auto" or detector in CORE,
        slow=detector in ("gat", "gin", "sage"),
        source="calirare",
        reads="all labels, left out one by one",
    )


COMPETITORS = tuple(_competitor(detector) for detector in ("auto", *ALONE))
