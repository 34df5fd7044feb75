"""A monotone map from each class's probability to the share of labels that are of it."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression

from calirare.calibration.base import Calibrator


class IsotonicCalibration(Calibrator):
    """Isotonic regression of 1[y = c] on P(c); linear between the fitted points, flat beyond them.

    With two classes one map, of P(class 1), is fitted. With more, one against the rest for each class, the rows then
    divided by their sum. Source: key `zadrozny2002`.

    Note:
        A block of labels that are all of one class would get the probability 0 or 1, and the first exception an
        infinite loss. Answers are therefore kept in [ε, 1 - ε] with ε = 1/(n + 2), Laplace's rule for n labels
        without an exception. n is the total weight divided by the smallest one: the number of labels where all
        weigh the same.

    >>> p = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.9])
    >>> fitted = IsotonicCalibration().fit(np.log(np.column_stack([1 - p, p])), np.array([0, 1, 0, 1, 1, 1]))
    >>> fitted.predict_proba(np.log([[0.8, 0.2], [0.1, 0.9]]))
    array([[0.5  , 0.5  ],
           [0.125, 0.875]])
    """

    def _fit(self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        probabilities = softmax(logits, axis=1)
        maps = [
            IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
                probabilities[:, c], (y == c).astype(np.float64), sample_weight=weights
            )
            for c in self._mapped_classes()
        ]
        self.margin_ = 1.0 / (1.0 / float(weights[weights > 0].min()) + 2.0)
        self.scores_ = np.concatenate([fitted.X_thresholds_ for fitted in maps])
        self.values_ = np.concatenate([fitted.y_thresholds_ for fitted in maps])
        self.sizes_ = np.array([len(fitted.X_thresholds_) for fitted in maps])

    def _mapped_classes(self) -> range:
        return range(1, 2) if self.num_classes_ == 2 else range(self.num_classes_)

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        probabilities = softmax(logits, axis=1)
        cuts = np.cumsum(self.sizes_)[:-1]
        pairs = zip(self._mapped_classes(), np.split(self.scores_, cuts), np.split(self.values_, cuts), strict=True)
        mapped = np.column_stack([np.interp(probabilities[:, c], scores, values) for c, scores, values in pairs])
        mapped = mapped.clip(self.margin_, 1.0 - self.margin_)
        if self.num_classes_ == 2:
            return np.column_stack([1.0 - mapped, mapped])
        return mapped / mapped.sum(axis=1, keepdims=True)
