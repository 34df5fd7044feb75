"""Leave-one-out with 20,000 labels on a graph of 200,000 nodes: time and the process's largest memory.

python benchmarks/leave_one_out_scale.py --nodes 200000 --labels 20000
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import calirare as cr
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--labels", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=200)
    arguments = parser.parse_args()
    graph = cr.make_transactions(num_nodes=arguments.nodes, seed=0)
    nodes = np.sort(np.random.default_rng(0).permutation(arguments.nodes)[: arguments.labels])
    clf = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=arguments.epochs), method="uncalibrated", device="cpu"
    )
    began = time.perf_counter()
    trained = clf.fit_detector(graph, cr.Split(train=nodes))
    training = time.perf_counter() - began
    began = time.perf_counter()
    labels = trained.labels
    engine = LeaveOneOut(
        trained.detector.model_, trained.inputs.tensors, labels.nodes, labels.y, labels.weights, weight_decay=5e-4
    )
    left_out = engine.left_out_logits
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"nodes {graph.num_nodes}, edges {graph.num_edges}, labels {len(nodes)}, solver {engine.solver}")
    print(f"training {training:.1f} s, all left-out logits {seconds:.1f} s, finite: {bool(left_out.isfinite().all())}")
    print(f"largest memory of the process {peak:.2f} GB")


if __name__ == "__main__":
    main()
