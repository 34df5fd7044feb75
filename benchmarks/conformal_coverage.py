"""Class-wise coverage of the 90% conformal sets from left-out scores, averaged over random splits.

The benchmark graphs with the paper's protocol, 20 labels of each original class and 500 more, drawn anew for every
split (the public split is one split only); generated transactions with 640 random labels.

    python benchmarks/conformal_coverage.py --datasets cora,citeseer,pubmed --splits 20
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import calirare as cr


def draw(name: str, seed: int, labels_per_class: int) -> tuple[cr.RareGraph, cr.Split]:
    """A graph and a split whose test nodes are all others with a known label."""
    if name == "transactions":
        graph = cr.make_transactions(seed=seed)
        order = np.random.default_rng(seed).permutation(graph.known)
        return graph, cr.Split(train=order[:640], test=order[640:])
    graph = replace(cr.load_benchmark(name), public_split=None)
    split = cr.split_labels(graph, labels_per_class=labels_per_class, seed=seed)
    return graph, replace(split, test=np.setdiff1d(graph.known, split.labelled))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,facebook,transactions")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--labels-per-class", type=int, default=20)
    arguments = parser.parse_args()
    print(
        f"{'graph':14s} {'rare':>7s} {'normal':>7s} {'both':>6s} {'none':>6s}   coverage of each class; share of sets with both, with none"
    )
    for name in arguments.datasets.split(","):
        found = []
        for seed in range(arguments.splits):
            graph, split = draw(name, seed, arguments.labels_per_class)
            sets = cr.RareCategoryClassifier(seed=seed, device="cpu").fit(graph, split).predict_set(graph)
            y, inside = graph.y[split.test], sets[split.test]
            size = inside.sum(axis=1)
            found.append((inside[y == 1, 1].mean(), inside[y == 0, 0].mean(), (size == 2).mean(), (size == 0).mean()))
        mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
        print(
            f"{name:14s} {100 * mean[0]:6.1f}% {100 * mean[1]:6.1f}% {100 * mean[2]:5.1f}% {100 * mean[3]:5.1f}%   spread over splits {100 * spread[0]:.1f}, {100 * spread[1]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
