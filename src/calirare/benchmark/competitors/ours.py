"""Our own detectors, each alone, and `auto`, the stack of them."""

from __future__ import annotations

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.estimator.classifier import RareCategoryClassifier

ALONE = ("linear", "forest", "boosting", "gcn", "gat", "gin", "sage")
CORE = ("linear", "gcn")


def answer(problem: Problem, detector: str) -> Answer:
    """As a user fits it: every label trains, left-out logits calibrate."""
    clf = RareCategoryClassifier(detector, rare_share=problem.rare_share, seed=problem.seed, device="cpu")
    trained = clf.fit_detector(problem.graph, problem.everything, inputs=problem.inputs)
    clf.calibrate(trained, problem.graph, problem.everything)
    return Answer(clf.predict_proba(problem.graph)[:, 1], clf.predict_set(problem.graph))


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
