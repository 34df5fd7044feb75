"""Where graphs and methods come from: by name, from a file, or from a researcher's own module."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from calirare.benchmark.provenance import source_digest
from calirare.calibration import Calibrator
from calirare.data.catalogue.benchmarks import list_benchmarks, load_benchmark
from calirare.data.catalogue.entries import find_benchmark
from calirare.data.catalogue.own import list_own
from calirare.data.graph import RareGraph
from calirare.data.storage.archive import file_sha256
from calirare.errors import DataError, InputError
from calirare.estimator.methods import Method


@dataclass(frozen=True)
class DatasetSource:
    """A graph that any worker can load.

    Args:
        name: What tables call it.
        where: A benchmark's name, the path of an `.npz` file (that of a graph which `calirare datasets add` keeps, too),
            or `module:function`.
        fingerprint: Changes when the graph does.
        protocol: Of a benchmark graph.
    """

    name: str
    where: str
    fingerprint: str
    protocol: str = "default"

    @classmethod
    def parse(cls, text: str, protocol: str = "default") -> DatasetSource:
        """From the word that a user gives."""
        if text.endswith(".npz"):
            path = Path(text).resolve()
            if not path.is_file():
                raise DataError(f"dataset {text}: there is no such file.")
            return cls(path.stem, str(path), file_sha256(path)[:16])
        if ":" in text:
            module, _ = import_attribute(text)
            return cls(text.rpartition(":")[2], _anywhere(text), _digest_of(module))
        own = list_own()
        if text in own:
            return cls(text, str(own[text].resolve()), file_sha256(own[text])[:16])
        benchmark = find_benchmark(text, own)
        return cls(benchmark.name, benchmark.name, benchmark.content_sha256[:16], protocol)

    @property
    def title(self) -> str:
        """The name as papers print it."""
        titles = {entry.name: entry.title for entry in list_benchmarks()}
        return titles.get(self.name, self.name) if self.where == self.name else self.name

    def load(self) -> RareGraph:
        """Read the graph."""
        if self.where == self.name:
            return load_benchmark(self.name, protocol=self.protocol)
        if self.where.endswith(".npz"):
            return RareGraph.load(self.where)
        _, make = import_attribute(self.where)
        graph = make()
        if not isinstance(graph, RareGraph):
            raise InputError(
                f"dataset {self.where} must return a RareGraph (cr.from_pyg and cr.read_tables make one); "
                f"got {type(graph).__name__}."
            )
        return graph


@dataclass(frozen=True)
class MethodSource:
    """A researcher's own method, `module:name` or `file.py:name`, that any worker can load."""

    where: str
    fingerprint: str

    @classmethod
    def parse(cls, text: str) -> MethodSource:
        """From the words that a user gives."""
        module, _ = import_attribute(text)
        return cls(_anywhere(text), _digest_of(module))

    def load(self) -> Method:
        """The method. `name` may be a `Method`, a function that returns one, a `Calibrator` or an objective.

        A calibrator class is fitted on the validation labels, unless it says otherwise in attributes `evidence` and
        `trains_on`, which mean what they mean in `Method`.
        """
        _, found = import_attribute(self.where)
        if isinstance(found, type) and (issubclass(found, Calibrator) or hasattr(found, "loss")):
            return _method_of_class(found)
        method = found() if callable(found) else found
        if not isinstance(method, Method):
            raise InputError(
                f"method {self.where} must be a Calibrator class, an objective class with `loss`, a Method, or a "
                f"function that returns a Method; got {type(method).__name__}."
            )
        return method


def _method_of_class(found: Any) -> Method:
    summary = (found.__doc__ or found.__name__).strip().splitlines()[0].rstrip(".")
    name = str(getattr(found, "name", "") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", found.__name__).lower())
    declared: dict[str, Any] = {"trains_on": getattr(found, "trains_on", "train")}
    if issubclass(found, Calibrator):
        return Method(name, summary, calibrator=found, evidence=getattr(found, "evidence", "val"), **declared)
    return Method(name, summary, objective=found, **declared)


def import_attribute(text: str) -> tuple[ModuleType, Callable[..., Any]]:
    """The module and the attribute that `module:name` or `file.py:name` stands for."""
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name:
        raise InputError(f"expected module:name or file.py:name; got {text!r}.")
    module = _module_from_file(Path(where)) if where.endswith(".py") else _module_by_name(where)
    if not hasattr(module, name):
        names = sorted(one for one in vars(module) if not one.startswith("_"))
        raise InputError(f"{where} has no {name!r}; it has {names}.")
    return module, getattr(module, name)


def _anywhere(text: str) -> str:
    """The words with an absolute path, so that a worker in another folder understands them."""
    where, _, name = text.rpartition(":")
    return f"{Path(where).resolve()}:{name}" if where.endswith(".py") else text


def _module_by_name(where: str) -> ModuleType:
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is not None and not where.startswith(error.name):
            raise  # the module is there; something it needs is not
        raise InputError(
            f"there is no module {where!r} to import. Give the file instead, as path/to/file.py:name, "
            "or put its folder into PYTHONPATH."
        ) from None


def _module_from_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise InputError(f"there is no file {path}; give FILE.py:NAME, or module:name.")
    name = f"calirare_user_{path.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _digest_of(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return source_digest([Path(file)]) if file and file.endswith(".py") else module.__name__
