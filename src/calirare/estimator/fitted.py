"""What a fitted estimator knows, by the names that users ask for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from calirare.calibration.stack import StackScaling
from calirare.data.checks import check_count
from calirare.data.split import Split
from calirare.detectors.base import Detector
from calirare.detectors.networks.fitting.loop import History
from calirare.detectors.networks.network import Network
from calirare.detectors.stack import Stack
from calirare.errors import NotFittedError
from calirare.estimator.methods import get_method
from calirare.estimator.state import FittedState


class Fitted:
    """The fitted state by its parts; all raise `NotFittedError` before `fit`."""

    method: str
    seed: int

    @cached_property  # `fit` puts the state in its place
    def state_(self) -> FittedState:
        """Everything that `fit` learned."""
        raise NotFittedError("RareCategoryClassifier is not fitted; call fit(graph, split) first.")

    @property
    def classes_(self) -> np.ndarray:
        return np.arange(len(self.state_.class_names))

    @property
    def class_names_(self) -> tuple[str, ...]:
        return self.state_.class_names

    @property
    def rare_class_(self) -> int:
        return self.state_.rare_class

    @property
    def n_features_in_(self) -> int:
        return self.state_.num_features

    @property
    def schema_(self) -> dict[str, Any] | None:
        return self.state_.schema

    @property
    def shares_(self) -> np.ndarray:
        """`(C,)` class shares that the probabilities are calibrated to."""
        return self.state_.shares

    @property
    def base_rate_(self) -> float:
        """The rare class's share among them."""
        return float(self.shares_[self.rare_class_])

    @property
    def split_(self) -> Split | None:
        return self.state_.split

    @property
    def held_out_nodes_(self) -> np.ndarray:
        """The nodes of the validation labels that the method has read; with `"jackknife"` they trained the model too."""
        held_out, split = self.state_.held_out, self.split_
        if held_out is not None:
            return held_out
        read = split is not None and get_method(self.method).reads_validation
        return split.val if split is not None and read else np.empty(0, dtype=np.int64)

    @property
    def looks_at_graph(self) -> bool:
        """Whether the calibration of one node hangs on all others."""
        return self.calibrator_ is not None and self.calibrator_.needs_graph

    @property
    def labelled_nodes_(self) -> np.ndarray:
        """The nodes whose labels trained the model."""
        return self.state_.labels.nodes

    @property
    def labelled_y_(self) -> np.ndarray:
        return self.state_.labels.y

    @property
    def detector_(self) -> Detector:
        """Fitted."""
        return self.state_.detector

    @property
    def members_(self) -> list[Detector]:
        """The detectors of a stack; of a single one, itself."""
        return self.detector_.members_ if isinstance(self.detector_, Stack) else [self.detector_]

    @property
    def calibrator_(self) -> Any:
        """Fitted, or None."""
        return self.state_.calibrator

    @property
    def weights_(self) -> dict[str, float]:
        """Of the stack's members: what was chosen, and how much.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, seed=0)
        >>> cr.RareCategoryClassifier(detector="linear").fit(graph).weights_
        {'linear': 1.0}
        """
        detector, calibrator = self.detector_, self.calibrator_
        if isinstance(detector, Stack) and isinstance(calibrator, StackScaling):
            return dict(zip(detector.names, calibrator.weights_.tolist(), strict=True))
        return {detector.name: 1.0}

    @property
    def history_(self) -> History:
        """Loss by epoch of the network that was trained; empty where there was none."""
        return next((member.history_ for member in self.members_ if isinstance(member, Network)), History())

    def _seed(self) -> int:
        return check_count(self.seed, "seed", least=0, most=2**63 - 1)
