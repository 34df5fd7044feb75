"""What a worker does for the paper's tables: train one detector, calibrate and judge every entry that shares it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache

import numpy as np

from calirare.benchmark.grid import Entry, GridTask, Settings, known_methods
from calirare.benchmark.provenance import peak_memory_mb, reset_peak_memory, versions
from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.store import Row
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
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.fitting import TrainedDetector
from calirare.estimator.methods import temporarily
from calirare.metrics import summary


@contextmanager
def asking(task: GridTask) -> Iterator[Callable[[Entry], Row]]:
    """The function that trains when first called, and calibrates and judges every entry on the test nodes."""

    @cache
    def trained() -> tuple[RareGraph, Split, TrainedDetector, float]:
        graph, inputs = _load(task.dataset, task.settings.device)
        split = split_for(graph, task.size, task.settings, task.seed)
        reset_peak_memory()
        started = time.perf_counter()
        classifier = make_classifier(task.names[0], task.settings, task.seed)
        found = classifier.fit_detector(graph, split, inputs=inputs)
        return graph, split, found, time.perf_counter() - started

    with ExitStack() as stack:
        stack.enter_context(known_methods(task.own_methods))
        for method in [entry.resolve() for entry in task.names if entry.options]:  # those with options, as methods
            stack.enter_context(temporarily(method))
        yield lambda entry: _judge(task, entry, *trained())


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


def _judge(
    task: GridTask, entry: Entry, graph: RareGraph, split: Split, trained: TrainedDetector, train_seconds: float
) -> Row:
    classifier = make_classifier(entry, task.settings, task.seed)
    started = time.perf_counter()
    classifier.calibrate(trained, graph, split)
    calibrate_seconds = time.perf_counter() - started
    test = split.test
    probabilities = classifier.predict_proba(graph)
    predicted = called_classes(entry, classifier, probabilities, graph, split)[test]
    trains_on, calibrates_on = entry.resolve().label_budget
    return {
        "method": entry.name,
        "prior": entry.prior,
        "detector": entry.detector,
        "decision": entry.decision,
        **{name: float(value) for name, value in entry.options},
        **row_metrics(graph.y[test], probabilities[test], predicted, graph.rare_class),
        "trains_on": trains_on,
        "calibrates_on": calibrates_on,
        "num_train": int(split.train.size),
        "num_val": int(split.val.size),
        "num_test": int(test.size),
        "num_rare_test": int((graph.y[test] == graph.rare_class).sum()),
        "train_seconds": train_seconds,
        "calibrate_seconds": calibrate_seconds,
        "peak_memory_mb": peak_memory_mb(),
        "settings": json.dumps(task.settings.training | {"seed": task.seed}, sort_keys=True),
        "versions": json.dumps(versions(), sort_keys=True),
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


@lru_cache(maxsize=8)
def _load(source: DatasetSource, device: str) -> tuple[RareGraph, DetectorInputs]:
    """Each process reads each graph once."""
    graph = source.load()
    return graph, DetectorInputs(graph, device=choose_device(device))
