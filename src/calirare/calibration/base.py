"""What a calibrator is: logits in, calibrated probabilities out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.base import BaseEstimator
from torch import Tensor

from calirare.data.arrays import all_below, as_doubles, as_indices
from calirare.data.inputs import GraphInputs
from calirare.errors import InputError, LabelError, NotFittedError, NumericalError

_SMALLEST_PROBABILITY = 1e-12
_SUM_TOLERANCE = 1e-6
_LARGEST_LOGIT = 1e30
"""Far beyond any model's; squares of larger ones overflow."""


class Calibrator(BaseEstimator):
    """Maps logits `(N, C)` to probabilities `(N, C)`.

    A member implements `_fit(logits, y, weights)` on the calibration rows and `_predict(logits)`. One that looks at
    the graph (`needs_graph = True`) implements `_fit_on_graph` and `_predict_on_graph` instead.
    """

    needs_graph = False
    keep_: float = 1.0
    """How much of what it says against the base rate is kept; see `draw_to`."""
    ratio_: np.ndarray | None = None
    """`(C,)` new class shares by those at fit; see `shift_to`. None: as at fit."""

    def fit(
        self,
        logits: np.ndarray,
        y: np.ndarray,
        *,
        weights: np.ndarray | None = None,
        nodes: np.ndarray | None = None,
        graph: GraphInputs | None = None,
    ) -> Self:
        """Fit on logits whose labels did not make them.

        Args:
            logits: `(n, C)`, or `(N, C)` for the whole graph together with `nodes`.
            y: `(n,)` classes of the calibration nodes.
            weights: `(n,)` weights of the calibration nodes; default: all alike.
            nodes: `(n,)` the rows of `logits` to calibrate on; default: all of them.
            graph: The graph, for the calibrators that look at it.
        """
        logits = check_logits(logits)
        y = as_indices(y, "y")
        rows = np.arange(len(logits)) if nodes is None else as_indices(nodes, "nodes")
        if rows.ndim != 1 or not all_below(rows, len(logits)):
            raise InputError(f"nodes must be a list of rows of logits, 0…{len(logits) - 1}.")
        if y.shape != rows.shape:
            raise InputError(f"y must hold one class per calibration node, {len(rows)} in all; got shape {y.shape}.")
        if not all_below(y, logits.shape[1]):
            raise InputError(
                f"y must hold classes 0…{logits.shape[1] - 1}, the columns of logits; got {np.unique(y)[:5]}."
            )
        if len(np.unique(y)) < 2:
            raise LabelError(
                "the calibration labels hold a single class, which says nothing about the other; "
                "give more labels, or use method='jackknife', which needs no held-out labels."
            )
        weights = _shares(weights, len(y))
        self.num_classes_ = logits.shape[1]
        if self.needs_graph:
            self._fit_on_graph(logits, y, weights, rows, self._graph(graph, len(logits)))
        else:
            self._fit(logits[rows], y, weights)
        if not all(np.isfinite(value).all() for value in self.state().values()):
            raise NumericalError(f"{type(self).__name__} finds no finite map for these logits; scale them down.")
        return self

    def knowing(self, train_nodes: np.ndarray) -> Self:
        """Told, before the fit, which nodes trained the model: their places, not their labels. Most do not ask."""
        return self

    def predict_proba(self, logits: np.ndarray, *, graph: GraphInputs | None = None) -> np.ndarray:
        """Calibrated probabilities, float64, rows summing to one."""
        self._check_fitted()
        logits = check_logits(logits)
        if logits.shape[1] != self.num_classes_:
            raise InputError(f"logits must have {self.num_classes_} columns as at fit; got {logits.shape[1]}.")
        if self.needs_graph:
            found = self._predict_on_graph(logits, self._graph(graph, len(logits)))
        else:
            found = self._predict(logits)
        return self.drawn(self._check_output(found, logits.shape))

    def _check_fitted(self) -> None:
        if "num_classes_" not in vars(self):
            raise NotFittedError(f"{type(self).__name__} is not fitted; call fit first.")

    def draw_to(self, shares: np.ndarray, keep: float) -> Self:
        """From now on say shares + keep · (P - shares): for a detector that has shown no skill."""
        self.base_, self.keep_ = np.asarray(shares, dtype=np.float64), float(keep)
        return self

    def shift_to(self, old_shares: np.ndarray, new_shares: np.ndarray) -> Self:
        """From now on give probabilities at other class shares: odds times the ratio of the shares, Bayes' rule."""
        self.ratio_ = np.asarray(new_shares, dtype=np.float64) / np.asarray(old_shares, dtype=np.float64)
        return self

    def drawn(self, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities `(n, C)` as `draw_to` and `shift_to` want them; unchanged where neither was called."""
        if self.keep_ != 1.0:
            probabilities = np.asarray(self.base_ + self.keep_ * (probabilities - self.base_))
        return probabilities if self.ratio_ is None else at_shares(probabilities, self.ratio_)

    def drawn_of_class(self, of_class: int) -> tuple[float, float, float]:
        """(base, keep, odds): what `drawn` does to P(class), where the shares of the other classes moved alike."""
        base = float(self.base_[of_class]) if self.keep_ != 1.0 else 0.0
        if self.ratio_ is None:
            return base, self.keep_, 1.0
        return base, self.keep_, float(self.ratio_[of_class] / self.ratio_[of_class - 1])

    def _drawn_class(self, probabilities: Tensor, of_class: int) -> Tensor:
        """P(class) out of probabilities `(…, C)`, as `drawn` gives them."""
        if self.keep_ != 1.0:
            base = torch.as_tensor(self.base_).to(probabilities)
            probabilities = base + self.keep_ * (probabilities - base)
        if self.ratio_ is not None:
            probabilities = probabilities * torch.as_tensor(self.ratio_).to(probabilities)
            return probabilities[..., of_class] / probabilities.sum(dim=-1)
        return probabilities[..., of_class]

    def _check_output(self, found: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Refuse what is no probability: everything after this believes it."""
        fits = isinstance(found, np.ndarray) and found.shape == shape
        with np.errstate(invalid="ignore"):
            if (
                not fits
                or found.size
                and not (found.min() >= 0 and np.abs(found.sum(axis=1) - 1).max() < _SUM_TOLERANCE)
            ):
                raise NumericalError(
                    f"{type(self).__name__} gives no probabilities: it must give {shape} numbers in [0, 1] whose rows "
                    "sum to one."
                )
        return found

    def predict_class(self, logits: Tensor, of_class: int, *, graph: GraphInputs | None = None) -> Tensor:
        """P(class) `(N, m)` for each of m models' logits `(N, m, C)`, on their device."""
        columns = logits.double().cpu().numpy().swapaxes(0, 1)
        found = [self.predict_proba(column, graph=graph)[:, of_class] for column in columns]
        return torch.from_numpy(np.column_stack(found)).to(logits)

    def _graph(self, graph: GraphInputs | None, num_rows: int) -> GraphInputs:
        if graph is None:
            raise InputError(f"{type(self).__name__} looks at the graph; pass graph=.")
        if graph.num_nodes != num_rows:
            raise InputError(
                f"logits must have a row for each of the {graph.num_nodes} nodes of graph; got {num_rows}."
            )
        return graph

    def _fit(self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        raise NotImplementedError

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _fit_on_graph(
        self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray, nodes: np.ndarray, graph: GraphInputs
    ) -> None:
        raise NotImplementedError

    def _predict_on_graph(self, logits: np.ndarray, graph: GraphInputs) -> np.ndarray:
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """What `fit` learned, as arrays and numbers."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what `state` gave."""
        for name, value in state.items():
            setattr(self, name, value)
        shape = (self.num_classes_,)
        drawn = self.keep_ == 1.0 or 0 < self.keep_ < 1 and _is_shares(self.base_, shape)
        moved = self.ratio_ is None or np.shape(self.ratio_) == shape and bool((np.asarray(self.ratio_) > 0).all())
        if not (drawn and moved):
            raise InputError(f"the base rate and the ratio of shares must be of {self.num_classes_} classes.")
        return self


def _is_shares(values: Any, shape: tuple[int, ...]) -> bool:
    array = np.asarray(values, dtype=np.float64)
    return array.shape == shape and bool((array >= 0).all()) and abs(float(array.sum()) - 1) < _SUM_TOLERANCE


def at_shares(probabilities: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Probabilities `(n, C)` where each class is `ratio` times as frequent as it was, and looks as it did.

    >>> at_shares(np.array([[0.5, 0.5]]), np.array([0.8 / 0.95, 0.2 / 0.05])).round(3)
    array([[0.174, 0.826]])
    """
    moved = probabilities * ratio
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _shares(weights: np.ndarray | None, size: int) -> np.ndarray:
    """The weights divided by their sum, all alike where none are given."""
    array = np.ones(size) if weights is None else as_doubles(weights, "weights")
    with np.errstate(over="ignore"):
        total = array.sum()
    if array.shape != (size,) or (array < 0).any() or not 0 < total < np.inf:
        raise InputError(f"weights must hold {size} numbers, none negative and not all zero; got shape {array.shape}.")
    return np.asarray(array / total)


def check_logits(logits: np.ndarray) -> np.ndarray:
    """A finite float64 `(n, C)` array, or an error."""
    array = as_doubles(logits, "logits")
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(f"logits must have shape (nodes, classes) with at least two classes; got {array.shape}.")
    if array.size and np.abs(array).max() > _LARGEST_LOGIT:
        raise InputError(f"logits must lie within ±{_LARGEST_LOGIT:.0e}; got {np.abs(array).max():.1e}.")
    return array


def logits_from_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Logits of which softmax gives these probabilities, for calibrating a model that only gives those.

    >>> logits_from_probabilities(np.array([[0.25, 0.75]])).round(3)
    array([[-1.386, -0.288]])
    """
    array = as_doubles(probabilities, "probabilities")
    if array.ndim != 2 or array.shape[1] < 2 or (array < 0).any() or not np.allclose(array.sum(1), 1, atol=1e-4):
        raise InputError(
            "probabilities must have shape (nodes, classes), lie in [0, 1], and have rows that sum to one."
        )
    return log_softmax(np.log(np.clip(array, _SMALLEST_PROBABILITY, None)), axis=1)


def target_shares(y: np.ndarray, num_classes: int) -> np.ndarray:
    """Share of each class among labels."""
    return np.bincount(y, minlength=num_classes) / max(1, len(y))


def share_weights(y: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Weights under which the labels have the given class shares: w_i ∝ share[y_i] / count[y_i], summing to one.

    >>> share_weights(np.array([0, 0, 0, 1]), np.array([0.5, 0.5]))
    array([0.16666667, 0.16666667, 0.16666667, 0.5       ])
    """
    counts = np.bincount(y, minlength=len(shares))
    weights = (shares / np.maximum(counts, 1))[y]
    total = weights.sum()
    if not total > 0:
        raise LabelError(
            f"the wanted class shares {shares.round(6).tolist()} give every calibration label weight zero."
        )
    return weights / total
