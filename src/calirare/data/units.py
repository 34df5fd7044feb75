"""Standardised numbers back in the units of their table."""

from __future__ import annotations

import numpy as np

_ROUNDING = 2.0**-23
"""Two numbers in single precision that are this far apart, relative to their size, may have been one."""
_MOST_PLACES = 12


def unscaled(values: np.ndarray, mean: float, scale: float) -> np.ndarray:
    """`values * scale + mean`, float64, to as many decimals as single precision kept.

    What was written with few digits comes back as it was written, and nothing as nothing, not as a little less.

    >>> standardised = ((np.array([0.0, 0.1, 250.0]) - 31.7) / 81.3).astype(np.float32)
    >>> unscaled(standardised, mean=31.7, scale=81.3).tolist()
    [0.0, 0.1, 250.0]
    """
    away = np.asarray(values, dtype=np.float64) * scale
    found = away + mean
    with np.errstate(divide="ignore", over="ignore"):  # of the mean itself, and of the side that is not taken
        places = np.clip(np.floor(-np.log10(np.abs(away) * _ROUNDING)), -300, _MOST_PLACES)
        tens = 10.0 ** np.abs(places)
        return np.where(places >= 0, np.round(found * tens) / tens, np.round(found / tens) * tens) + 0.0  # no -0
