"""Find the few nodes that matter in a graph, and know how far to trust each call.

The names below load on first use, so that `import calirare` is quick and needs only the core libraries.

>>> import calirare as cr
>>> graph = cr.make_transactions(num_nodes=500, seed=0)
>>> graph.num_nodes
500
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calirare import metrics as metrics
    from calirare import plots as plots
    from calirare.classifier import RareCategoryClassifier as RareCategoryClassifier
    from calirare.data.benchmarks import load_benchmark as load_benchmark
    from calirare.data.graph import RareGraph as RareGraph
    from calirare.data.graph import Split as Split
    from calirare.data.pyg import from_pyg as from_pyg
    from calirare.data.splits import split_labels as split_labels
    from calirare.data.synthetic import make_transactions as make_transactions
    from calirare.data.tables import read_tables as read_tables
    from calirare.methods import methods as methods
    from calirare.persistence import load as load
    from calirare.triage import triage as triage

__version__ = "0.1.0"

_HOMES = {
    "RareCategoryClassifier": "calirare.classifier",
    "RareGraph": "calirare.data.graph",
    "Split": "calirare.data.graph",
    "from_pyg": "calirare.data.pyg",
    "load": "calirare.persistence",
    "load_benchmark": "calirare.data.benchmarks",
    "make_transactions": "calirare.data.synthetic",
    "methods": "calirare.methods",
    "metrics": "calirare.metrics",
    "plots": "calirare.plots",
    "read_tables": "calirare.data.tables",
    "split_labels": "calirare.data.splits",
    "triage": "calirare.triage",
}

__all__ = [
    "RareCategoryClassifier",
    "RareGraph",
    "Split",
    "__version__",
    "from_pyg",
    "load",
    "load_benchmark",
    "make_transactions",
    "methods",
    "metrics",
    "plots",
    "read_tables",
    "split_labels",
    "triage",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'calirare' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = home if _HOMES[name] == f"calirare.{name}" and not hasattr(home, name) else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `cr.methods` and `cr.triage` functions.

    Importing the module `calirare.methods`, which anything may do at any time, makes Python bind that module to the
    same name here. A module that holds a function of its own name gives way to it, as it would after an eager
    `from calirare.methods import methods`.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _HOMES:
            value = getattr(value, name, value)
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, as other modules: a function that says `cr.…` can then go to another process."""
        return import_module, (__name__,)


sys.modules[__name__].__class__ = _Package
