"""What leaving every label out costs beside training, in time and memory.

For each graph the GCN is trained for 200 epochs on all labels a fit reads (training and validation), then all left-out
logits are computed, in the same process. Printed: both times, their ratio, and the peak of memory above the level
before the computation. Beside it: what the exact Hessian of the paper's published code would need.

    python benchmarks/leave_one_out_cost.py
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
import psutil
from ratios import Ratio, keep

import calirare as cr
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.estimator.classifier import TrainedDetector

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def peak_megabytes(work: Callable[[], object]) -> float:
    """Memory at the peak above the start; watched from a thread, so not to be timed."""
    process = psutil.Process()
    base = peak = process.memory_info().rss
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return (peak - base) / 2**20


def leave_out(trained: TrainedDetector) -> object:
    """All left-out logits, by one Newton step each."""
    network, labels = trained.detector, trained.labels
    engine = LeaveOneOut(
        network.model_, trained.inputs.tensors, labels.nodes, labels.y, labels.weights, network.weight_decay_
    )
    return engine.left_out_logits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,facebook")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ratios", help="file to append the ratios to")
    arguments = parser.parse_args()
    print(
        f"{'graph':10s} {'labels':>6s} {'train s':>8s} {'left out s':>10s} {'ratio':>6s} {'peak MB':>8s} {'Hessian MB':>11s}"
    )
    for name in arguments.datasets.split(","):
        graph = cr.load_benchmark(name)
        split = cr.split_labels(graph, labels_per_class=20, seed=0)
        clf = cr.RareCategoryClassifier("gcn", device="cpu")
        trained = clf.fit_detector(graph, split)
        peak = peak_megabytes(partial(leave_out, trained))
        rounds = []
        for _ in range(arguments.repeats):
            trained, training = timed(partial(clf.fit_detector, graph, split))
            _, leaving = timed(partial(leave_out, trained))
            rounds.append((training, leaving))
        training, leaving = np.median(rounds, axis=0)
        ratio = np.median([cost / base for base, cost in rounds])
        parameters = sum(value.numel() for value in trained.detector.model_.parameters())
        print(
            f"{name:10s} {len(trained.labels):6d} {training:8.2f} {leaving:10.2f} {ratio:6.3f} {peak:8.0f} "
            f"{parameters**2 * 4 / 2**20:11.0f}",
            flush=True,
        )
        keep([Ratio("leaving every label out / training", name, leaving, training, 0.15)], arguments.ratios)


if __name__ == "__main__":
    main()
