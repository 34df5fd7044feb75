"""The paper's figures and one of ours, each from computed numbers, each beside the table it was drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare import plots
from calirare.benchmark.formats import to_csv
from calirare.benchmark.grid import Entry, Grid, Settings
from calirare.benchmark.runner import run_grid
from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.store import read_parquet
from calirare.benchmark.tasks import one_thread
from calirare.benchmark.work import make_classifier, split_for
from calirare.data.catalogue.benchmarks import list_benchmarks
from calirare.data.storage.archive import write_atomically
from calirare.data.synthetic import make_transactions
from calirare.detectors.base import Progress
from calirare.errors import DataError, InputError
from calirare.plots.tables import Frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")
COVERAGES = (0.7, 0.75, 0.8, 0.85, 0.9)
TRADE_OFFS = (0.1, 0.2, 0.3, 0.4)
SENSITIVITY_DATASET = "cora"


@dataclass(frozen=True)
class Request:
    """What the figures are drawn from.

    Args:
        folder: Where the figures go; rows computed for them are kept under it.
        results: Folder of a `calirare benchmark` run.
        dataset: Graph of the reliability diagrams.
        labels_per_class: Of the reliability diagrams and of the sensitivity study.
        seeds: Runs behind every point of the sensitivity study.
        seed: Of the models and graphs drawn once.
        settings: How models are trained.
        backend, jobs: Where the sensitivity study runs, see `run_grid`.
        progress: Told how far it has come.
    """

    folder: Path
    results: Path | None = None
    dataset: str = "citeseer"
    labels_per_class: int = 20
    seeds: int = 5
    seed: int = 0
    settings: Settings = field(default_factory=Settings)
    backend: str = "loky"
    jobs: int = -1
    progress: Progress | None = None


def reliability(request: Request) -> tuple[Figure, Frame]:
    """Confidence against accuracy for all, majority and rare nodes, with and without calibration (1c, 1d and 2)."""
    y, found = _probabilities(request, (Entry("uncalibrated"), Entry("jackknife", prior="balanced")))
    models = {"uncalibrated": found["uncalibrated"], "calibrated": found["jackknife:balanced"]}
    return plots.reliability.plot(y, models), plots.reliability.frame(y, models)


def reliability_rare(request: Request) -> tuple[Figure, Frame]:
    """P(rare) against the observed share, where perfect probabilities lie on the diagonal."""
    y, found = _probabilities(request, (Entry("uncalibrated"), Entry("jackknife")))
    models = {"uncalibrated": found["uncalibrated"], "calibrated": found["jackknife"]}
    options: dict[str, Any] = {"groups": ["rare"], "class_probability": True, "num_bins": 10}
    return plots.reliability.plot(y, models, **options), plots.reliability.frame(y, models, **options)


def network(request: Request) -> tuple[Figure, Frame]:
    """A generated transaction network with its rare nodes marked (1b)."""
    graph = make_transactions(num_nodes=600, average_degree=6, seed=request.seed)
    return plots.network.plot(graph, seed=request.seed), plots.network.frame(graph, seed=request.seed)


def sensitivity(request: Request) -> tuple[Figure, Frame]:
    """Macro-ACE of `calirare` against coverage and trade-off, with bands over the seeds (3)."""
    entries = tuple(
        Entry("calirare", options=(("coverage", coverage), ("trade_off", trade_off)))
        for trade_off in TRADE_OFFS
        for coverage in COVERAGES
    )
    grid = Grid(
        datasets=(DatasetSource.parse(SENSITIVITY_DATASET),),
        entries=entries,
        labels=(request.labels_per_class,),
        seeds=request.seeds,
        settings=request.settings,
    )
    results = run_grid(
        grid, request.folder / "sensitivity", backend=request.backend, jobs=request.jobs, progress=request.progress
    )
    if results.failures:
        raise DataError(f"the sensitivity study failed: {results.failures[0]['failed']}")
    return plots.sensitivity.plot(results.rows), plots.sensitivity.frame(results.rows)


def label_curve(request: Request) -> tuple[Figure, Frame]:
    """NLL against labels per class for all methods, from the rows of a benchmark run."""
    if request.results is None or not (request.results / "runs.parquet").exists():
        where = request.results or "--results"
        raise DataError(
            f"the label curve reads the rows of a benchmark; {where} has none. Run: calirare benchmark --out {where}"
        )
    titles = {entry.name: entry.title for entry in list_benchmarks()}
    # Balanced probabilities answer another question than the natural share; on this scale they would hide the rest.
    rows = [
        row | {"dataset": titles.get(row["dataset"], row["dataset"])}
        for row in read_parquet(request.results / "runs.parquet")
        if row["prior"] == "natural" and row["detector"] == "gcn"
    ]
    ours = ["jackknife"] if any(row["method"] == "jackknife" for row in rows) else []
    return plots.label_curve.plot(rows, highlight=ours), plots.label_curve.frame(rows)


FIGURES: dict[str, Callable[[Request], tuple[Figure, Frame]]] = {
    "reliability": reliability,
    "reliability_rare": reliability_rare,
    "network": network,
    "sensitivity": sensitivity,
    "label_curve": label_curve,
}
"""Every figure by name."""


def draw(name: str, request: Request, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure in every format, and its numbers as CSV; gives the paths."""
    for one in formats:  # before the minutes that a figure may take
        if one not in FORMATS:
            raise InputError(f"formats must list one or more of {list(FORMATS)}; got {one!r}.")
    figure, frame = FIGURES[name](request)
    paths = plots.save(figure, request.folder / name, formats)
    numbers = request.folder / f"{name}.csv"
    rows = list(zip(*(column.tolist() for column in frame.values()), strict=True))
    with write_atomically(numbers) as stream:
        stream.write(to_csv(list(frame), rows).encode())
    return [*paths, numbers]


def _probabilities(request: Request, entries: Sequence[Entry]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Test labels and each entry's probabilities on one graph."""
    graph = DatasetSource.parse(request.dataset).load()
    split = split_for(graph, request.labels_per_class, request.settings, request.seed)
    found = {}
    with one_thread():
        for entry in entries:
            classifier = make_classifier(entry, request.settings, request.seed)
            found[str(entry)] = classifier.fit(graph, split).predict_proba(graph)[split.test]
    return graph.y[split.test], found
