"""What a worker does: train one detector, calibrate and judge every entry that shares it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from calirare.benchmark.grid import Entry, GridTask, Settings, known_methods
from calirare.benchmark.provenance import peak_memory_mb, reset_peak_memory, versions
from calirare.benchmark.sources import DatasetSource
from calirare.calibration.base import share_weights, target_shares
from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph
from calirare.data.inputs import choose_device
from calirare.data.split import Split
from calirare.data.splits import split_labels
from calirare.decisions.threshold import macro_f1_threshold
from calirare.detectors.base import DetectorInputs
from calirare.detectors.networks.network import Network
from calirare.detectors.registry import make_detector
from calirare.errors import CalirareError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.fitting import TrainedDetector
from calirare.estimator.methods import temporarily
from calirare.metrics import summary

Row = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """An entry that could not be computed, and why."""

    dataset: str
    labels_per_class: int
    seed: int
    entry: str
    reason: str


@dataclass(frozen=True)
class TaskOutcome:
    """What came of a task."""

    task: GridTask
    rows: list[Row]
    failures: list[Failure]


def run_task(task: GridTask) -> TaskOutcome:
    """Train, calibrate, judge on the test nodes. Deterministic: one thread, one seed."""
    rows: list[Row] = []
    failures: list[Failure] = []
    with one_thread(), known_methods(task.own_methods), _variants(task):
        try:
            graph, inputs = _load(task.dataset, task.settings.device)
            split = split_for(graph, task.labels_per_class, task.settings, task.seed)
            reset_peak_memory()
            started = time.perf_counter()
            trained = make_classifier(task.entries[0], task.settings, task.seed).fit_detector(
                graph, split, inputs=inputs
            )
            seconds = time.perf_counter() - started
        except CalirareError as error:
            return TaskOutcome(task, [], [_failure(task, entry, error) for entry in task.entries])
        for entry in task.entries:
            try:
                rows.append(_row(task, entry, graph, split, trained, seconds))
            except CalirareError as error:
                failures.append(_failure(task, entry, error))
    return TaskOutcome(task, rows, failures)


def split_for(graph: RareGraph, labels_per_class: int, settings: Settings, seed: int) -> Split:
    """The protocol's split. A public split keeps its sizes; elsewhere validation and test nodes are drawn, fewer than
    the settings say where the graph has too few labels: a third of what is left validates, the rest tests.
    """
    if graph.public_split is not None:
        num_val, num_test = graph.public_split.val.size, graph.public_split.test.size
    else:
        classes = graph.y if graph.original_y is None else graph.original_y
        drawn = labels_per_class * np.unique(classes[graph.y != UNKNOWN]).size
        left = max(graph.known.size - drawn, 0)
        num_val, num_test = settings.num_val, settings.num_test
        if left < num_val + num_test:
            num_val, num_test = left // 3, left - left // 3
    return split_labels(graph, labels_per_class, num_val=num_val, num_test=num_test, seed=seed)


def _row(
    task: GridTask, entry: Entry, graph: RareGraph, split: Split, trained: TrainedDetector, train_seconds: float
) -> Row:
    classifier = make_classifier(entry, task.settings, task.seed)
    started = time.perf_counter()
    classifier.calibrate(trained, graph, split)
    calibrate_seconds = time.perf_counter() - started
    test = split.test
    probabilities = classifier.predict_proba(graph)
    predicted = called_classes(entry, classifier, probabilities, graph, split)[test]
    probabilities = probabilities[test]
    trains_on, calibrates_on = entry.resolve().label_budget
    return {
        "dataset": task.dataset.name,
        "labels_per_class": task.labels_per_class,
        "seed": task.seed,
        "entry": entry.key,
        "method": entry.name,
        "prior": entry.prior,
        "detector": entry.detector,
        "decision": entry.decision,
        **{name: float(value) for name, value in entry.options},
        **row_metrics(graph.y[test], probabilities, predicted, graph.rare_class),
        "trains_on": trains_on,
        "calibrates_on": calibrates_on,
        "num_train": int(split.train.size),
        "num_val": int(split.val.size),
        "num_test": int(test.size),
        "num_rare_test": int((graph.y[test] == graph.rare_class).sum()),
        "train_seconds": train_seconds,
        "calibrate_seconds": calibrate_seconds,
        "peak_memory_mb": peak_memory_mb(),
        "protocol": task.dataset.protocol,
        "settings": json.dumps(task.settings.training | {"seed": task.seed}, sort_keys=True),
        "versions": json.dumps(versions(), sort_keys=True),
        "fingerprint": task.fingerprint,
    }


def called_classes(
    entry: Entry, classifier: RareCategoryClassifier, probabilities: np.ndarray, graph: RareGraph, split: Split
) -> np.ndarray:
    """`(N,)` the class that the entry calls each node, from `probabilities` `(N, C)`."""
    likeliest = classifier.predict(graph)
    if entry.decision != "macro_f1":
        return likeliest
    rare, labelled = graph.rare_class, classifier.labelled_y_
    # Training labels are drawn by class; what a label stands for is told by the validation labels, a random draw.
    random_draw = graph.y[split.val] if split.val.size else labelled
    shares = target_shares(random_draw, graph.num_classes)
    weights = share_weights(labelled, shares) if (shares > 0).all() else None
    cut = macro_f1_threshold(classifier.predict_left_out()[:, rare], labelled == rare, weights)
    others = probabilities.copy()
    others[:, rare] = -1.0
    return np.where(probabilities[:, rare] >= cut, rare, others.argmax(axis=1))


def row_metrics(y: np.ndarray, probabilities: np.ndarray, predicted: np.ndarray, rare_class: int) -> dict[str, float]:
    """Every metric by name; the spread comes from the seeds."""
    found = summary(y, probabilities, rare_class, predicted=predicted, num_resamples=0)
    return {name: estimate.value for name, estimate in found.items()}


def make_classifier(entry: Entry, settings: Settings, seed: int) -> RareCategoryClassifier:
    """The estimator of an entry. The settings are those of networks; other detectors have defaults of their own."""
    detector = make_detector(entry.detector)
    if isinstance(detector, Network):
        detector.set_params(**settings.training)
    method = entry.resolve().name
    return RareCategoryClassifier(detector, method, entry.prior, seed=seed, device=settings.device)


def _failure(task: GridTask, entry: Entry, error: CalirareError) -> Failure:
    return Failure(task.dataset.name, task.labels_per_class, task.seed, entry.key, str(error))


@lru_cache(maxsize=8)
def _load(source: DatasetSource, device: str) -> tuple[RareGraph, DetectorInputs]:
    """Each process reads each graph once."""
    graph = source.load()
    return graph, DetectorInputs(graph, device=choose_device(device))


@contextmanager
def _variants(task: GridTask) -> Iterator[None]:
    """The entries with options as methods of their own, while the block runs."""
    with ExitStack() as stack:
        for method in [entry.resolve() for entry in task.entries if entry.options]:
            stack.enter_context(temporarily(method))
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for every library: workers do not fight for cores, and sums have one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
