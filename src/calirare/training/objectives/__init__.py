"""Objectives: how a model is fitted."""

from calirare.training.objectives.base import Objective
from calirare.training.objectives.calirare import CaliRare
from calirare.training.objectives.cross_entropy import CrossEntropy, SmoothedCrossEntropy
from calirare.training.objectives.mixup import MixUp
from calirare.training.objectives.softmax_twice import SoftmaxTwice

__all__ = ["CaliRare", "CrossEntropy", "MixUp", "Objective", "SmoothedCrossEntropy", "SoftmaxTwice"]
