"""The grid of a benchmark: which methods run on which graphs, and what must be computed together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from calirare.benchmark.provenance import code_digest, digest, versions
from calirare.benchmark.seconds import Seconds
from calirare.benchmark.sources import DatasetSource, MethodSource
from calirare.benchmark.store import Row
from calirare.benchmark.tasks import RowKey, Task
from calirare.detectors import detectors
from calirare.detectors.left_out.folds import NUM_FOLDS
from calirare.detectors.networks.defaults import DROPOUT, EPOCHS, HIDDEN, LR, SETTLE, WEIGHT_DECAY
from calirare.errors import InputError, nearest
from calirare.estimator.methods import PRIORS, Method, get_method, methods, temporarily

DECISIONS = ("likeliest", "macro_f1")
_ENTRY = re.compile(r"(?P<method>[\w.-]+)(?::(?P<prior>\w+))?(?:@(?P<detector>\w+))?(?:\+(?P<decision>\w+))?")


@dataclass(frozen=True, order=True)
class Entry:
    """One line of a table: a method with its prior, its detector, changed options of its objective, and how it decides.

    `likeliest` calls a node what is likeliest under the prior; `macro_f1` cuts P(rare) where left-out labels have the best
    macro-F1 (`calirare.decisions.threshold`).

    >>> Entry.parse("jackknife:balanced"), str(Entry.parse("uncalibrated@gin"))
    (Entry(method='jackknife', prior='balanced', detector='gcn', options=(), decision='likeliest'), 'uncalibrated@gin')
    """

    method: str
    prior: str = "natural"
    detector: str = "gcn"
    options: tuple[tuple[str, float], ...] = ()
    decision: str = "likeliest"

    @classmethod
    def parse(cls, text: str) -> Entry:
        """From `method[:prior][@detector][+decision]`."""
        found = _ENTRY.fullmatch(text.strip())
        if found is None:
            raise InputError(f"a method is written method[:prior][@detector][+decision]; got {text!r}.")
        said: dict[str, Any] = {name: word for name, word in found.groupdict().items() if word}
        known = {"prior": PRIORS, "detector": sorted(detectors()), "decision": DECISIONS}
        for name, there in known.items():
            if said.get(name, there[0]) not in there:
                told = f"{name} must be one of {list(there)}; got {said[name]!r} in {text!r}"
                raise InputError(f"{told}: {nearest(said[name], there)}")
        return cls(**said)

    def __str__(self) -> str:
        """The entry in one word; `parse` reads it back where there are no options."""
        prior = "" if self.prior == "natural" else f":{self.prior}"
        detector = "" if self.detector == "gcn" else f"@{self.detector}"
        decision = "" if self.decision == DECISIONS[0] else f"+{self.decision}"
        return f"{self.name}{prior}{detector}{decision}"

    @property
    def name(self) -> str:
        """The method's name, with the options that differ from its own."""
        options = ",".join(f"{name}={value:g}" for name, value in self.options)
        return f"{self.method}[{options}]" if options else self.method

    def resolve(self) -> Method:
        """The method with the options of this entry."""
        method = get_method(self.method)
        if not self.options:
            return method
        options: dict[str, Any] = dict(self.options)
        return replace(method, name=self.name, objective=lambda: replace(method.objective(), **options))  # type: ignore[type-var]

    @property
    def training(self) -> tuple[object, ...]:
        """Entries with equal values share one trained detector."""
        method = get_method(self.method)
        return self.detector, self.options, method.objective, method.trains_on, method.refinement, method.rests


@dataclass(frozen=True)
class Settings:
    """How every model of the grid is split and trained; the defaults are the paper's, except `settle`."""

    num_val: int = 500
    num_test: int = 1000
    hidden: int = HIDDEN
    dropout: float = DROPOUT
    epochs: int = EPOCHS
    lr: float = LR
    weight_decay: float = WEIGHT_DECAY
    settle: float = SETTLE
    device: str = "cpu"

    @property
    def training(self) -> dict[str, Any]:
        """The arguments for the network."""
        return {name: value for name, value in asdict(self).items() if not name.startswith("num_") and name != "device"}


@dataclass(frozen=True)
class GridTask(Task):
    """One detector to train, and the entries that share it.

    Args:
        settings: How it is trained.
        own_methods: Methods from outside that the entries may name.
    """

    COLUMNS = ("dataset", "protocol", "labels_per_class", "seed", "entry", "fingerprint")

    settings: Settings
    own_methods: tuple[MethodSource, ...] = ()

    @property
    def cost(self) -> float:
        """Roughly, in trainings on a graph of usual size; only orders the work and moves the bar."""
        trainings = 1.0
        for entry in self.names:
            method = methods().get(entry.method)  # a researcher's own method is not in this process's registry
            trainings += NUM_FOLDS * (method is not None and method.evidence == "cross_fit")
            trainings += method is not None and method.refinement is not None
        trainings += 2 * (self.names[0].method == "calirare")
        trainings *= 10 if self.names[0].detector == "gat" else 1
        return trainings * Seconds.known().graphs.get(self.dataset.name, 1.0)

    def accepts(self, row: Row) -> bool:
        return json.loads(row["settings"]) == self.settings.training | {"seed": row["seed"]}


@dataclass(frozen=True)
class Grid:
    """Everything that a benchmark computes.

    Args:
        datasets: The graphs.
        entries: The lines of the tables.
        labels: Labels per class.
        seeds: Runs with seeds 0…seeds-1; a seed draws the split and starts the training.
        settings: See `Settings`.
        own_methods: Methods from outside, known to every worker before it starts.
    """

    datasets: tuple[DatasetSource, ...]
    entries: tuple[Entry, ...]
    labels: tuple[int, ...] = (20, 30, 40)
    seeds: int = 5
    settings: Settings = field(default_factory=Settings)
    own_methods: tuple[MethodSource, ...] = ()

    def __post_init__(self) -> None:
        if not self.datasets or not self.entries or not self.labels:
            raise InputError("a benchmark needs at least one dataset, one method and one number of labels per class.")
        if self.seeds < 1 or min(self.labels) < 1:
            raise InputError(
                f"seeds and labels must be at least 1; got seeds {self.seeds}, labels {list(self.labels)}."
            )
        names = [source.name for source in self.datasets]
        if len(set(names)) < len(names):
            raise InputError(f"two datasets have the same name; rename one of them: {sorted(names)}.")
        with known_methods(self.own_methods):
            for entry in self.entries:
                method = get_method(entry.method)
                if entry.decision == "macro_f1" and method.evidence != "left_out":
                    raise InputError(f"decision 'macro_f1' is chosen from left-out labels; {entry.method!r} has none.")

    def fingerprint(self, dataset: DatasetSource) -> str:
        """Changes when rows of this dataset would: graph, protocol, settings, code, libraries, own methods."""
        own = [source.fingerprint for source in self.own_methods]
        return digest(dataset.fingerprint, dataset.protocol, asdict(self.settings), code_digest(), versions(), own)

    def tasks(self) -> list[GridTask]:
        """The whole grid, entries grouped by the detector they share."""
        groups: dict[tuple[object, ...], tuple[Entry, ...]] = {}
        with known_methods(self.own_methods):
            for entry in self.entries:
                groups[entry.training] = (*groups.get(entry.training, ()), entry)
        return [
            GridTask(
                dataset, dataset.protocol, labels, seed, str(group[0]), group, self.fingerprint(dataset), self.settings,
                self.own_methods,
            )
            for dataset in self.datasets
            for labels in self.labels
            for seed in range(self.seeds)
            for group in groups.values()
        ]  # fmt: skip

    def keys(self) -> list[RowKey]:
        """Of every row, in the order of the tables: by dataset, labels per class, entry, seed."""
        return [
            (dataset.name, dataset.protocol, labels, seed, str(entry), self.fingerprint(dataset))
            for dataset in self.datasets
            for labels in sorted(self.labels)
            for entry in self.entries
            for seed in range(self.seeds)
        ]


@contextmanager
def known_methods(sources: Sequence[MethodSource]) -> Iterator[None]:
    """The researcher's own methods in the registry while the block runs."""
    with ExitStack() as stack:
        for source in sources:
            method = source.load()
            if method.name in methods() and methods()[method.name] != method:
                raise InputError(f"method {source.where} is called {method.name!r}, which is taken; rename it.")
            stack.enter_context(temporarily(method))
        yield


def calibration_entries() -> tuple[Entry, ...]:
    """The paper's Table 2: every method on its GCN; `jackknife` once for each prior, and on the stack of detectors."""
    entries = []
    for name, method in methods().items():
        entries.append(Entry(name))
        if method.evidence == "left_out":
            entries += [
                Entry(name, prior="balanced"),
                Entry(name, prior="balanced", decision="macro_f1"),
                Entry(name, detector="auto"),
                Entry(name, prior="balanced", detector="auto"),
                Entry(name, prior="balanced", detector="auto", decision="macro_f1"),
            ]
    return tuple(entries)


def classification_entries() -> tuple[Entry, ...]:
    """The paper's Table 3: three cost-sensitive detectors, the paper's method, and ours."""
    words = ("uncalibrated@gin", "uncalibrated@gat", "uncalibrated", "calirare", "calirare_code", "jackknife:balanced",
             "jackknife:balanced+macro_f1", "jackknife:balanced@auto", "jackknife:balanced@auto+macro_f1")  # fmt: skip
    return tuple(Entry.parse(word) for word in words)
