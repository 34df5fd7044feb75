"""Class-wise coverage of the 90% conformal sets from left-out scores, averaged over random splits.

The benchmark graphs with the paper's protocol, 20 labels of each original class and 500 more, drawn again for every
split (the public split is one split only); generated transactions with 640 random labels, and the weight decay that
`calirare fit` uses for tables.

Beside the coverage stands what the rank rule alone would give: k/(n + 1) with n rare labels and k = ⌈(n + 1)·0.9⌉.

With 85 rare labels the coverage of one split scatters by 3 points around its mean whatever the method, so the mean of
20 splits is known to 0.7; more splits say more.

    python benchmarks/conformal_coverage.py --datasets cora,citeseer,pubmed --splits 100 --jobs 2
    python benchmarks/conformal_coverage.py --datasets cora,citeseer,pubmed,dblp,facebook,tolokers,reddit,transactions \\
        --detectors auto,linear,forest,boosting,spreading,gcn,gat,gin,sage --splits 20 --jobs 16 --out coverage.jsonl

Tolokers and Reddit, which have no original classes, are labelled to a tenth. With `--out`, splits that the file holds already
are not run again.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from against_scikit_learn import load, tenth
from cells import Cell, run_cells

import calirare as cr
from calirare.uncertainty.conformal import conformal_rank

NETWORKS = ("gcn", "gat", "gin", "sage")
DENSE = ("tolokers", "reddit")


def draw(name: str, seed: int, labels_per_class: int) -> tuple[cr.RareGraph, cr.Split]:
    """A graph and a split whose test nodes are all others with a known label."""
    if name == "transactions":
        graph = cr.make_transactions(seed=seed)
        order = np.random.default_rng(seed).permutation(graph.known)
        return graph, cr.Split(train=order[:640], test=order[640:])
    if name in DENSE:
        graph = load(name)
        return graph, tenth(graph, seed, 0.1)
    graph = replace(cr.load_benchmark(name), public_split=None)
    split = cr.split_labels(graph, labels_per_class=labels_per_class, seed=seed)
    return graph, replace(split, test=np.setdiff1d(graph.known, split.labelled))


def promised(graph: cr.RareGraph, split: cr.Split) -> float:
    """The coverage of the rare class that the rank of its labels stands for."""
    labels = int((graph.y[split.labelled] == 1).sum())
    return conformal_rank(labels, 0.9) / (labels + 1)


def coverage(name: str, seed: int, labels_per_class: int, detector: str, device: str) -> list[float]:
    """Coverage of the rare and of the normal class, share of sets with both, with none, and the rank rule's coverage."""
    torch.set_num_threads(1)
    graph, split = draw(name, seed, labels_per_class)
    decay = 5e-3 if name in (*DENSE, "transactions") else 5e-4
    made = cr.detectors.make_detector(detector)
    if detector in NETWORKS:
        made.set_params(weight_decay=decay)
    clf = cr.RareCategoryClassifier(made, seed=seed, device=device)
    sets = clf.fit(graph, split).predict_set(graph)
    y, inside = graph.y[split.test], sets[split.test]
    size = inside.sum(axis=1)
    found = inside[y == 1, 1].mean(), inside[y == 0, 0].mean(), (size == 2).mean(), (size == 0).mean()
    return [float(value) for value in (*found, promised(graph, split))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,facebook,transactions")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--labels-per-class", type=int, default=20)
    parser.add_argument("--detectors", default="gcn")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="of the networks: cpu or cuda")
    parser.add_argument("--out", type=Path, help="JSON Lines, appended to and read first")
    arguments = parser.parse_args()
    cells = [
        (name, seed, arguments.labels_per_class, detector)
        for name in arguments.datasets.split(",")
        for detector in arguments.detectors.split(",")
        for seed in range(arguments.splits)
    ]
    show(run_cells(coverage, cells, jobs=arguments.jobs, out=arguments.out, device=arguments.device))


def show(results: dict[Cell, list[float]]) -> None:
    print("coverage of each class and its standard error over the splits; share of sets with both, with none")
    print(f"{'graph':14s} {'detector':9s} {'rare':>13s} {'by rank':>8s} {'normal':>13s} {'both':>6s} {'none':>6s}")
    for name, detector in dict.fromkeys((cell[0], cell[3]) for cell in results):
        found = np.array([row for cell, row in results.items() if (cell[0], cell[3]) == (name, detector)])
        rare, normal, both, none, rank = 100 * found.mean(axis=0)
        error = 100 * found.std(axis=0) / np.sqrt(len(found))
        print(
            f"{name:14s} {detector:9s} {rare:6.1f}% ± {error[0]:.1f} {rank:7.1f}% {normal:6.1f}% ± {error[1]:.1f} "
            f"{both:5.1f}% {none:5.1f}%",
            flush=True,
        )


if __name__ == "__main__":
    main()
