"""Networks as they are trained, without calibration; the GCN also with weights inverse to class frequency."""

from __future__ import annotations

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.detectors.networks.fitting.weights import ClassCosts
from calirare.estimator.classifier import RareCategoryClassifier


def answer(problem: Problem, detector: str, class_costs: ClassCosts = None) -> Answer:
    """What softmax says."""
    clf = RareCategoryClassifier(
        detector, "uncalibrated", seed=problem.seed, device=problem.device, class_costs=class_costs
    )
    inputs = problem.device_inputs
    trained = clf.fit_detector(inputs.graph, problem.everything, inputs=inputs)
    probability = clf.calibrate(trained, inputs.graph, problem.everything).predict_proba(inputs.graph)[:, 1]
    return Answer(probability if class_costs is not None else problem.to_population(probability))


def _competitor(name: str, detector: str, class_costs: ClassCosts, source: str) -> Competitor:
    return Competitor(
        name, "networks", lambda problem: answer(problem, detector, class_costs), group=name,
        core=name == "gcn as trained",
        slow=detector != "gcn", source=source,
    )  # fmt: skip


COMPETITORS = (
    _competitor("gcn as trained", "gcn", None, "kipf2017"),
    _competitor("gcn as trained, weighted", "gcn", "inverse_frequency", "kipf2017"),
    _competitor("gat as trained", "gat", None, "velickovic2018"),
    _competitor("gin as trained", "gin", None, "xu2019"),
    _competitor("sage as trained", "sage", None, "hamilton2017"),
)
