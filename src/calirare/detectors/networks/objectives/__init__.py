"""Objectives: how a model is fitted."""

from calirare.detectors.networks.objectives.base import Objective
from calirare.detectors.networks.objectives.calirare import CaliRare
from calirare.detectors.networks.objectives.cross_entropy import CrossEntropy, SmoothedCrossEntropy
from calirare.detectors.networks.objectives.mixup import MixUp
from calirare.detectors.networks.objectives.softmax_twice import SoftmaxTwice

__all__ = ["CaliRare", "CrossEntropy", "MixUp", "Objective", "SmoothedCrossEntropy", "SoftmaxTwice"]
