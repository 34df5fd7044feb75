"""Cost-sensitive weights of the labelled nodes."""

from __future__ import annotations

import numpy as np

from calirare.data.arrays import as_doubles
from calirare.errors import InputError, LabelError

ClassCosts = str | tuple[float, ...] | list[float] | None


def node_weights(y: np.ndarray, num_classes: int, costs: ClassCosts = "inverse_frequency") -> np.ndarray:
    """Weight of each labelled node in the loss, float64, summing to one.

    `"inverse_frequency"` gives each class the same total; a cost per class multiplies the nodes of that class;
    None weighs all nodes alike.

    >>> node_weights(np.array([0, 0, 1]), 2)
    array([0.25, 0.25, 0.5 ])
    >>> node_weights(np.array([0, 0, 1]), 2, costs=(1, 2))
    array([0.25, 0.25, 0.5 ])
    """
    y = np.asarray(y)
    counts = np.bincount(y, minlength=num_classes)
    if costs is None:
        per_class = np.ones(num_classes)
    elif isinstance(costs, str):
        if costs != "inverse_frequency":
            raise InputError(f"class_costs must be 'inverse_frequency', None, or one cost per class; got {costs!r}.")
        per_class = np.divide(1.0, counts, out=np.zeros(num_classes), where=counts > 0)
    else:
        per_class = as_doubles(costs, "class_costs")
        if per_class.shape != (num_classes,) or (per_class <= 0).any():
            raise InputError(f"class_costs must hold {num_classes} positive numbers, one per class; got {costs!r}.")
    if not y.size:
        raise LabelError("no labelled node to train on; give labels to some nodes of each class.")
    weights = per_class[y]
    return weights / weights.sum()
