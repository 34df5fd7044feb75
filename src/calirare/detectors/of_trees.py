"""What the detectors that are made of trees share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calirare.detectors.base import Detector, DetectorInputs
from calirare.detectors.trees import Trees
from calirare.errors import InputError


class OfTrees(Detector):
    """Reads the columns of the fit, and keeps what was said of the labels left out."""

    learned: ClassVar[str] = "trees_"
    trees_: Trees
    left_out_: np.ndarray

    def left_out_logits(self) -> np.ndarray:
        self._check_fitted()
        return self.left_out_.copy()

    def _values(self, inputs: DetectorInputs) -> np.ndarray:
        values = inputs.columns.values
        if values.shape[1] != self.trees_.num_features:
            raise InputError(
                f"the graph must have the {self.trees_.num_features} columns of the fit; it has {values.shape[1]}."
            )
        return values
