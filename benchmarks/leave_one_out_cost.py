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

import numpy as np
import psutil

import calirare as cr


def measure(work: Callable[[], object]) -> tuple[float, float]:
    """(seconds, MB of memory at the peak above the start)."""
    process = psutil.Process()
    base = peak = process.memory_info().rss
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    return seconds, (peak - base) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,facebook")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print(
        f"{'graph':10s} {'labels':>6s} {'train s':>8s} {'left out s':>10s} {'ratio':>6s} {'peak MB':>8s} {'Hessian MB':>11s}"
    )
    for name in arguments.datasets.split(","):
        graph = cr.load_benchmark(name)
        split = cr.split_labels(graph, labels_per_class=20, seed=0)
        clf = cr.RareCategoryClassifier(device="cpu")
        ratios, shown = [], (0.0, 0.0, 0.0)
        for _ in range(arguments.repeats):
            began = time.perf_counter()
            trained = clf.train_backbone(graph, split)
            training = time.perf_counter() - began
            seconds, peak = measure(lambda trained=trained: trained.leave_one_out().left_out_logits)
            ratios.append(seconds / training)
            shown = (training, seconds, max(peak, shown[2]))
        parameters = sum(value.numel() for value in trained.model.parameters())
        print(
            f"{name:10s} {len(trained.labels.train_nodes):6d} {shown[0]:8.2f} {shown[1]:10.2f} {np.median(ratios):6.3f} {shown[2]:8.0f} "
            f"{parameters**2 * 4 / 2**20:11.0f}"
        )


if __name__ == "__main__":
    main()
