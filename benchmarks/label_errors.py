"""How many of the labels that were flipped stand among the first tenth by left-out surprise.

A random sample of labels is drawn on each graph, 5% of them are flipped, the model is fitted on all of them, and the labels
are ranked.

    python benchmarks/label_errors.py --graphs cora,pubmed,tolokers --seeds 5 --jobs 2
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import joblib
import numpy as np
import torch
from evidence import Case, load

import calirare as cr
from calirare.uncertainty.label_errors import doubtful_labels


def found_in_first_tenth(name: str, seed: int, size: int, detector: str) -> float:
    torch.set_num_threads(1)
    graph = load(Case(name, 0, seed))
    rng = np.random.default_rng([seed, 21])
    nodes = np.sort(rng.permutation(graph.known)[: min(size, graph.known.size // 2)])
    flipped = rng.permutation(nodes)[: round(0.05 * nodes.size)]
    y = graph.y.copy()
    y[flipped] = 1 - y[flipped]
    clf = cr.RareCategoryClassifier(detector, seed=seed).fit(replace(graph, y=y), cr.Split(train=nodes))
    ranked = doubtful_labels(clf.predict_left_out(), clf.labelled_y_, most=round(0.1 * nodes.size))
    return float(np.isin(flipped, clf.labelled_nodes_[ranked.row]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="cora,pubmed,tolokers")
    parser.add_argument("--labels", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--detector", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    print("share of the flipped labels within the first tenth by surprise")
    for name in arguments.graphs.split(","):
        found = joblib.Parallel(n_jobs=arguments.jobs)(
            joblib.delayed(found_in_first_tenth)(name, seed, arguments.labels, arguments.detector)
            for seed in range(arguments.seeds)
        )
        print(f"{name:14s} {np.mean(found):.2f} ± {np.std(found) / np.sqrt(len(found)):.2f}", flush=True)


if __name__ == "__main__":
    main()
