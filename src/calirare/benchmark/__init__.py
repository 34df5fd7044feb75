"""The paper's tables and figures: a grid of methods, graphs, labels and seeds, computed so that it can be resumed.

`Grid` says what to compute, `run_grid` computes what is missing, `write_pages` turns rows into pages. The leaderboard
stands on the same `store`, `tasks`, `runner.compute` and `standings`.
"""

from calirare.benchmark.grid import Entry, Grid, Settings, calibration_entries, classification_entries
from calirare.benchmark.runner import Results, run_grid
from calirare.benchmark.sources import DatasetSource, MethodSource

__all__ = [
    "DatasetSource",
    "Entry",
    "Grid",
    "MethodSource",
    "Results",
    "Settings",
    "calibration_entries",
    "classification_entries",
    "run_grid",
]
