"""Fitting a model: weights, objectives, and one loop."""

from calirare.training.loop import History, Progress, seeded, train
from calirare.training.task import Task
from calirare.training.weights import class_totals, node_weights

__all__ = ["History", "Progress", "Task", "class_totals", "node_weights", "seeded", "train"]
