"""Every calibration method that the package has, on one GCN; those that need held-out labels set some aside."""

from __future__ import annotations

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.calibration.base import Calibrator
from calirare.data.split import Split
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.fitting import TrainedDetector
from calirare.estimator.methods import Method, methods, temporarily

SKIPPED = ("uncalibrated", "jackknife")
"""Methods that are listed among the networks and among ours."""
CORE = ("temperature",)
SLOW = ("mixup", "calirare", "calirare_code", "cross_fit")


def answer(problem: Problem, method: Method) -> Answer:
    """A GCN trained and calibrated as the method says; methods that train alike share the training."""
    split = problem.held_out if method.reads_validation and method.trains_on == "train" else problem.everything
    inputs = problem.network_inputs
    with temporarily(method):
        clf = RareCategoryClassifier("gcn", method.name, rare_share=problem.rare_share, seed=problem.seed, device="cpu")
        trained = _trained(problem, clf, method, split)
        return Answer(clf.calibrate(trained, inputs.graph, split).predict_proba(inputs.graph)[:, 1])


def _trained(problem: Problem, clf: RareCategoryClassifier, method: Method, split: Split) -> TrainedDetector:
    inputs = problem.network_inputs
    key = (method.objective, method.trains_on, method.refinement, method.rests, split.val.size)
    return problem.once(("trained gcn", *key), lambda: clf.fit_detector(inputs.graph, split, inputs=inputs))


def competitor(method: Method, slow: bool = False) -> Competitor:
    """The line of a method, on a GCN."""
    if method.evidence == "val" or method.refinement is not None:
        reads = "three quarters train, a quarter calibrates"
    else:
        reads = "all labels, out of fold" if method.evidence == "cross_fit" else "all labels"
    return Competitor(
        f"gcn + {method.name}", "calibrators", lambda problem: answer(problem, method), group="gcn calibrators",
        core=method.name in CORE, slow=slow, source=method.source or "calirare", reads=reads,
    )  # fmt: skip


def on_held_out(
    name: str, summary: str, calibrator: type[Calibrator], source: str, slow: bool = False
) -> tuple[Competitor]:
    """The line of a calibrator that is fitted on held-out labels."""
    return (competitor(Method(name, summary, calibrator=calibrator, evidence="val", source=source), slow),)


def held_out_gcn(problem: Problem) -> tuple[TrainedDetector, Split]:
    """The GCN of the methods that calibrate on held-out labels, and which labels those are."""
    clf = RareCategoryClassifier("gcn", "temperature", seed=problem.seed, device="cpu")
    return _trained(problem, clf, methods()["temperature"], problem.held_out), problem.held_out


COMPETITORS = tuple(competitor(method, name in SLOW) for name, method in methods().items() if name not in SKIPPED)
