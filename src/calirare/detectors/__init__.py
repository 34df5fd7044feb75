"""Detectors: a graph and some labels in; logits for every node, and left-out logits for the labelled ones, out."""

from importlib import import_module
from pkgutil import iter_modules

from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes
from calirare.detectors.boosting import Boosting
from calirare.detectors.forest import Forest
from calirare.detectors.linear import Linear
from calirare.detectors.networks.members import GAT, GCN, GIN, SAGE, Module
from calirare.detectors.registry import detectors, make_detector, register
from calirare.detectors.sparse import Sparse
from calirare.detectors.spreading import Spreading
from calirare.detectors.stack import Stack
from calirare.detectors.surroundings import Surroundings

for _module in iter_modules(__path__):  # whoever stands in a file here is known by name, without a line here
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "SAGE",
    "Boosting",
    "Contributions",
    "Detector",
    "DetectorInputs",
    "Forest",
    "LabelledNodes",
    "Linear",
    "Module",
    "Sparse",
    "Spreading",
    "Stack",
    "Surroundings",
    "detectors",
    "make_detector",
    "register",
]
