"""Class-wise coverage of the 90% conformal sets from left-out scores, averaged over random splits.

python benchmarks/conformal_coverage.py --datasets cora,citeseer,pubmed --splits 20
"""

from __future__ import annotations

import argparse

import numpy as np

import calirare as cr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,transactions")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--labels", type=int, default=640)
    arguments = parser.parse_args()
    print(
        f"{'graph':14s} {'rare':>7s} {'normal':>7s} {'both':>6s} {'none':>6s}   coverage of each class; share of sets with both, with none"
    )
    for name in arguments.datasets.split(","):
        found = []
        for seed in range(arguments.splits):
            graph = cr.make_transactions(seed=seed) if name == "transactions" else cr.load_benchmark(name)
            order = np.random.default_rng(seed).permutation(graph.known)
            split = cr.Split(train=order[: arguments.labels], test=order[arguments.labels :])
            decay = 5e-3 if name == "transactions" else 5e-4
            sets = (
                cr.RareCategoryClassifier(seed=seed, weight_decay=decay, device="cpu")
                .fit(graph, split)
                .predict_set(graph)
            )
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
