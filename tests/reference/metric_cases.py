"""Inputs that metrics must survive: plain, tied, certain, with classes nobody is of."""

from __future__ import annotations

import numpy as np


def cases():
    """Name -> (y, probabilities)."""
    return {f"{kind}-{n}x{c}": _case(kind, n, c) for kind in KINDS for n, c in ((1, 2), (7, 2), (90, 2), (61, 4))}


KINDS = ("random", "tied", "certain", "empty_class", "one_class")


def _case(kind, num_nodes, num_classes):
    generator = np.random.default_rng([KINDS.index(kind), num_nodes, num_classes])
    probabilities = generator.dirichlet(np.full(num_classes, 0.7), size=num_nodes)
    if kind == "tied":
        probabilities = generator.multinomial(10, probabilities) / 10
    if kind == "certain":
        sure = generator.random(num_nodes) < 0.6
        probabilities[sure] = np.eye(num_classes)[generator.integers(num_classes, size=int(sure.sum()))]
    y = np.array([generator.choice(num_classes, p=row) for row in probabilities])
    if kind == "certain" and num_nodes > 1:
        y[0] = (probabilities[0].argmax() + 1) % num_classes  # p = 0 for what happened
    if kind == "empty_class":
        y = np.where(y == 1, 0, y)
    if kind == "one_class":
        y = np.full(num_nodes, num_classes - 1)
    return y, probabilities
