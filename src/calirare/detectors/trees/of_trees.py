"""What the detectors that are made of trees share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from calirare.detectors.base import Contributions, Detector, DetectorInputs, gather_blocks
from calirare.detectors.trees.arrays import Trees
from calirare.errors import InputError

_PATHS_AT_ONCE = 32
"""Nodes whose paths are followed together."""


class OfTrees(Detector):
    """Reads the columns of the fit, and keeps what was said of the labels left out."""

    trees_: Trees

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self._check_fitted()
        return self._without(self._values(inputs), np.asarray(rows))

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        self._check_fitted()
        return gather_blocks(self._without(self._values(inputs)[nodes], np.asarray(rows)), rows, np.arange(len(nodes)))

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        return next(self.contributions_of(inputs, np.array([node]), rare_class))

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        """Shares along the paths through the trees, of a few nodes at a time."""
        self._check_fitted()
        columns, values = inputs.columns, self._values(inputs)
        for start in range(0, len(nodes), _PATHS_AT_ONCE):
            base, shares = self.trees_.path_shares(values[nodes[start : start + _PATHS_AT_ONCE]])
            for first, told in self._told(base, shares, rare_class):
                yield Contributions(first, columns.names, columns.groups, told)

    @abstractmethod
    def _told(self, base: np.ndarray, shares: np.ndarray, rare_class: int) -> Iterator[tuple[float, np.ndarray]]:
        """(base, `(D,)` shares) of each node's logit, from what `Trees.path_shares` gave."""

    @abstractmethod
    def _without(self, values: np.ndarray, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """`logits_without` for rows of columns."""

    def _values(self, inputs: DetectorInputs) -> np.ndarray:
        values = inputs.columns.values
        if values.shape[1] != self.trees_.num_features:
            raise InputError(
                f"the graph must have the {self.trees_.num_features} columns of the fit; it has {values.shape[1]}."
            )
        return values
