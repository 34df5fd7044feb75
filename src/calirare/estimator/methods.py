"""The methods by name: how each trains, how it calibrates, and which labels it reads.

The command line, the benchmark and the report read this registry and nothing else. A method is one `Method`;
`register` adds one from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from calirare.calibration import (
    GATS,
    CaGCN,
    Calibrator,
    IsotonicCalibration,
    MatrixScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calirare.calibration.scaling import SoftPlattScaling
from calirare.detectors.networks.fitting.training import Refinement
from calirare.detectors.networks.objectives import (
    CaliRare,
    CrossEntropy,
    MixUp,
    Objective,
    SmoothedCrossEntropy,
    SoftmaxTwice,
)
from calirare.errors import InputError, nearest

PRIORS = ("natural", "balanced")
TrainsOn = Literal["train", "train+val"]
Evidence = Literal["none", "val", "left_out", "cross_fit"]


@dataclass(frozen=True)
class Method:
    """An objective, a calibrator, and the labels both read.

    Args:
        name: What to pass as `method=`.
        summary: One line for tables.
        objective: Makes the objective for one fit.
        trains_on: The labels that train the model.
        calibrator: Makes the calibrator, or None.
        evidence: Where the calibrator's logits come from: the validation labels, the training labels left out one
            by one (`left_out`) or fold by fold (`cross_fit`), or nowhere.
        refinement: A second round of training, or None.
        rests: Whether training ends without dropout and at rest. The paper's own methods train as the paper does.
        source: Key in `docs/references.bib`.
    """

    name: str
    summary: str
    objective: Callable[[], Objective] = CrossEntropy
    trains_on: TrainsOn = "train"
    calibrator: Callable[[], Calibrator] | None = None
    evidence: Evidence = "none"
    refinement: Refinement | None = None
    rests: bool = True
    source: str = ""

    @property
    def label_budget(self) -> tuple[str, str]:
        """(what it trains on, what it calibrates on), in words for tables."""
        trains = {"train": "train", "train+val": "train + val"}[self.trains_on]
        if self.refinement is not None:
            trains += ", then val"
        calibrates = {
            "none": "–",
            "val": "val",
            "left_out": "train + val, left out",
            "cross_fit": "train + val, out of fold",
        }[self.evidence]
        return trains, calibrates

    @property
    def changes_training(self) -> bool:
        """Whether it says how a network is trained, so that only networks can follow it."""
        return self.objective is not CrossEntropy or self.refinement is not None

    @property
    def reads_validation(self) -> bool:
        """Whether any step reads validation labels."""
        return self.trains_on == "train+val" or self.evidence == "val" or self.refinement is not None


_REGISTRY: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method under its name, so that the estimator, the command line and the benchmark know it."""
    _REGISTRY[method.name] = method
    return method


@contextmanager
def temporarily(method: Method) -> Iterator[Method]:
    """The method in the registry while the block runs; what stood under its name stands there again after it.

    >>> with temporarily(Method("mine", "an experiment")):
    ...     "mine" in methods()
    True
    >>> "mine" in methods()
    False
    """
    before = _REGISTRY.get(method.name)
    register(method)
    try:
        yield method
    finally:
        if before is None:
            del _REGISTRY[method.name]
        else:
            _REGISTRY[method.name] = before


for _method in (
    Method("uncalibrated", "cost-sensitive training, softmax as it comes", source="kipf2017"),
    Method("temperature", "one temperature", calibrator=TemperatureScaling, evidence="val", source="guo2017"),
    Method("vector", "a scale and a shift per class", calibrator=VectorScaling, evidence="val", source="guo2017"),
    Method("matrix", "a linear map of the logits", calibrator=MatrixScaling, evidence="val", source="guo2017"),
    Method("platt", "one scale, a shift per class", calibrator=PlattScaling, evidence="val", source="platt1999"),
    Method(
        "isotonic", "a monotone step function", calibrator=IsotonicCalibration, evidence="val", source="zadrozny2002"
    ),
    Method("label_smoothing", "smoothed labels", objective=SmoothedCrossEntropy, source="szegedy2016"),
    Method("mixup", "two-branch graph MixUp", objective=MixUp, source="wang2021mixup"),
    Method("cagcn", "a temperature per node by a GCN", calibrator=CaGCN, evidence="val", source="wang2021"),
    Method("gats", "a temperature per node by attention", calibrator=GATS, evidence="val", source="hsu2022"),
    Method("calirare", "cross-entropy and EICE, the paper's text", objective=CaliRare, rests=False, source="wu2023"),
    Method(
        "calirare_code",
        "fine-tuning on validation labels, the paper's published code",
        refinement=Refinement(SoftmaxTwice, epochs=200, lr=1e-3),
        rests=False,
        source="wu2023",
    ),
    Method(
        "cross_fit",
        "scale and shift on out-of-fold logits, five retrainings",
        trains_on="train+val",
        calibrator=SoftPlattScaling,
        evidence="cross_fit",
    ),
    Method(
        "jackknife",
        "scale and shift on left-out logits, no retraining (ours)",
        trains_on="train+val",
        calibrator=SoftPlattScaling,
        evidence="left_out",
    ),
):
    register(_method)


def methods() -> dict[str, Method]:
    """Every method by name, in the order of the tables.

    >>> list(methods())[:3]
    ['uncalibrated', 'temperature', 'vector']
    """
    return dict(_REGISTRY)


def get_method(name: str) -> Method:
    """The method of this name, or an error that says which there are."""
    if not isinstance(name, str) or name not in _REGISTRY:
        raise InputError(f"method must be one of {list(_REGISTRY)}; got {name!r}: " + nearest(str(name), _REGISTRY))
    return _REGISTRY[name]
