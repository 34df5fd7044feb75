"""Figures, one module each: `frame(…)` gives the numbers as columns, `plot(…)` draws them and returns the Figure.

>>> import numpy as np
>>> from calirare import plots
>>> table = plots.scores.frame([0, 0, 1], [0.1, 0.2, 0.9], num_bins=2)
>>> table["count"]
array([2, 0, 0, 1])
"""

from calirare.plots import (
    cost_curve,
    intervals,
    label_curve,
    network,
    reliability,
    scores,
    sensitivity,
)
from calirare.plots.style import save

__all__ = ["cost_curve", "intervals", "label_curve", "network", "reliability", "save", "scores", "sensitivity"]
