"""How far a GPU's answers lie from the CPU's.

For each graph the GCN is trained on the GPU. Its weights are then calibrated and asked on both devices: printed is the
largest difference in any node's probability, in any left-out probability and in any bound of an interval. Then the
GCN is trained on both from the same seed, without dropout, whose random numbers differ from device to device. Rounding
grows with every step of training; printed is where two hundred steps take it. The seconds are those of a calibrated fit.

    python benchmarks/devices.py
"""

from __future__ import annotations

import argparse
import time
from copy import copy, deepcopy

import numpy as np

import calirare as cr
from calirare.detectors import GCN, DetectorInputs
from calirare.estimator.classifier import TrainedDetector


def largest(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).max())


def on_cpu(trained: TrainedDetector, graph: cr.RareGraph) -> TrainedDetector:
    """The same weights where the CPU can use them."""
    inputs = DetectorInputs(graph, device="cpu")
    twin = copy(trained.detector)
    twin.model_ = deepcopy(twin.model_).cpu()
    twin._fitted, twin._evidence = (inputs.tensors, *twin._fitted[1:]), None  # its own left-out evidence, gathered here
    return TrainedDetector(twin, inputs, trained.labels)


def answers(clf: cr.RareCategoryClassifier, graph: cr.RareGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    interval = clf.jackknife_interval(graph)
    return clf.predict_proba(graph), clf.predict_left_out(), np.stack([interval.lower, interval.upper])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,facebook")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    device = arguments.device
    print(f"{'':10s} {'the same weights':>35s} {'trained apart':>13s} {'calibrated fit':>15s}")
    print(
        f"{'graph':10s} {'probability':>13s} {'left out':>10s} {'bounds':>10s} {'probability':>13s} {'CPU s':>7s} {'GPU s':>7s}"
    )
    for name in arguments.datasets.split(","):
        graph = cr.load_benchmark(name)
        split = cr.split_labels(graph, labels_per_class=20, seed=0)
        clf = cr.RareCategoryClassifier("gcn", device=device)
        trained = clf.fit_detector(graph, split)
        twin = cr.RareCategoryClassifier("gcn", device="cpu").calibrate(on_cpu(trained, graph), graph, split)
        gpu = answers(clf.calibrate(trained, graph, split), graph)
        same = [largest(one, other) for one, other in zip(gpu, answers(twin, graph), strict=True)]
        apart, seconds = [], []
        for where in ("cpu", device):
            began = time.perf_counter()
            fitted = cr.RareCategoryClassifier(GCN(dropout=0.0), device=where).fit(graph, split)
            seconds.append(time.perf_counter() - began)
            apart.append(fitted.predict_proba(graph))
        print(
            f"{name:10s} {same[0]:13.1e} {same[1]:10.1e} {same[2]:10.1e} {largest(*apart):13.1e} "
            f"{seconds[0]:7.2f} {seconds[1]:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
