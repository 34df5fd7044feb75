"""Graphs with a rare class: from tables, from PyG, from the benchmarks, or generated."""

from calirare.data.benchmarks import list_benchmarks, load_benchmark
from calirare.data.graph import UNKNOWN, RareGraph, Split
from calirare.data.pyg import from_pyg
from calirare.data.splits import split_labels
from calirare.data.synthetic import make_transactions
from calirare.data.tables import read_tables

__all__ = [
    "UNKNOWN",
    "RareGraph",
    "Split",
    "from_pyg",
    "list_benchmarks",
    "load_benchmark",
    "make_transactions",
    "read_tables",
    "split_labels",
]
