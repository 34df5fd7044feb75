"""In the paper's protocol, is `auto` better calibrated than the calibrated GCN?

Five graphs, 20, 30 and 40 labels of each original class, natural prior: negative log-likelihood on the test nodes, mean over
seeds, and in how many of the 15 cells `auto` is lower.

    python benchmarks/auto_in_the_paper.py --seeds 5 --jobs 2
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

import calirare as cr
from calirare.benchmark.grid import Settings
from calirare.benchmark.work import split_for

GRAPHS = ("pubmed", "facebook", "dblp", "cora", "citeseer")
LABELS = (20, 30, 40)


def run(name: str, labels: int, seed: int) -> tuple[str, int, float, float]:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        graph = cr.load_benchmark(name)
        split = split_for(graph, labels, Settings(), seed)
        found = []
        for detector in ("gcn", "auto"):
            clf = cr.RareCategoryClassifier(detector, seed=seed, device="cpu").fit(graph, split)
            found.append(float(log_loss(graph.y[split.test], clf.predict_proba(graph)[split.test])))
    print(f"{name} {labels} seed {seed}: gcn {found[0]:.4f}, auto {found[1]:.4f}", flush=True)
    return name, labels, found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    arguments = parser.parse_args()
    cells = [(name, labels) for name in arguments.graphs.split(",") for labels in LABELS]
    tasks = [(*cell, seed) for seed in range(arguments.seeds) for cell in cells]
    rows = Parallel(arguments.jobs)(delayed(run)(*task) for task in tasks)
    better, worst = 0, -np.inf
    for name, labels in cells:
        gcn, auto = np.mean([row[2:] for row in rows if row[:2] == (name, labels)], axis=0)
        better, worst = better + (auto < gcn), max(worst, auto / gcn - 1)
        print(f"{name:10s} {labels}: gcn {gcn:.4f}, auto {auto:.4f}, {100 * (auto / gcn - 1):+.1f}%")
    print(f"auto is lower in {better} of {len(cells)} cells; at worst {100 * worst:+.1f}%")


if __name__ == "__main__":
    main()
