"""Find the few nodes that matter in a graph, and know how far to trust each call.

The names below load on first use, so that `import calirare` is quick and needs only the core libraries.

>>> import calirare as cr
>>> graph = cr.make_transactions(num_nodes=500, seed=0)
>>> graph.num_nodes
500
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calirare import detectors as detectors
    from calirare import metrics as metrics
    from calirare import plots as plots
    from calirare.data.catalogue.benchmarks import load_benchmark as load_benchmark
    from calirare.data.graph import RareGraph as RareGraph
    from calirare.data.pyg import from_pyg as from_pyg
    from calirare.data.split import Split as Split
    from calirare.data.splits import split_labels as split_labels
    from calirare.data.synthetic import make_transactions as make_transactions
    from calirare.data.tables.networks import from_networkx as from_networkx
    from calirare.data.tables.reading import read_tables as read_tables
    from calirare.decisions.triage import triage as triage
    from calirare.estimator.classifier import RareCategoryClassifier as RareCategoryClassifier
    from calirare.estimator.classifier import load as load
    from calirare.estimator.methods import methods as methods
    from calirare.scoring.table import score_table as score_table

__version__ = "0.30.0"

_HOMES = {
    "RareCategoryClassifier": "calirare.estimator.classifier",
    "RareGraph": "calirare.data.graph",
    "Split": "calirare.data.split",
    "detectors": "calirare.detectors",
    "from_networkx": "calirare.data.tables.networks",
    "from_pyg": "calirare.data.pyg",
    "load": "calirare.estimator.classifier",
    "load_benchmark": "calirare.data.catalogue.benchmarks",
    "make_transactions": "calirare.data.synthetic",
    "methods": "calirare.estimator.methods",
    "metrics": "calirare.metrics",
    "plots": "calirare.plots",
    "read_tables": "calirare.data.tables.reading",
    "score_table": "calirare.scoring.table",
    "split_labels": "calirare.data.splits",
    "triage": "calirare.decisions.triage",
}

__all__ = [
    "RareCategoryClassifier",
    "RareGraph",
    "Split",
    "__version__",
    "detectors",
    "from_networkx",
    "from_pyg",
    "load",
    "load_benchmark",
    "make_transactions",
    "methods",
    "metrics",
    "plots",
    "read_tables",
    "score_table",
    "split_labels",
    "triage",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'calirare' has no attribute {name!r}")
    value = import_module(_HOMES[name])
    if _HOMES[name] != f"calirare.{name}":
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
