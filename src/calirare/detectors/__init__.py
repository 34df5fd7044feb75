"""Detectors: a graph and some labels in; logits for every node, and left-out logits for the labelled ones, out."""

from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes
from calirare.detectors.boosting import Boosting
from calirare.detectors.forest import Forest
from calirare.detectors.linear import Linear
from calirare.detectors.networks.members import GAT, GCN, GIN, SAGE, Module
from calirare.detectors.registry import detectors, make_detector, register
from calirare.detectors.stack import Stack

for _member in (Stack, GCN, GAT, GIN, SAGE, Module, Linear, Forest, Boosting):
    register(_member)

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
    "Stack",
    "detectors",
    "make_detector",
    "register",
]
