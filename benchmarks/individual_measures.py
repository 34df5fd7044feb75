"""How well individual measures rank the real error |P̂(rare) - P(rare)|, on networks where the truth is known.

Spearman's rank correlation over the test nodes, mean over seeds, for the calibrated and the uncalibrated model:
ICE as the paper defines it (unclipped and clipped bounds), the width of the jackknife interval, the jackknife standard
error (`predict_deviation`), and P̂(1 - P̂) as the yardstick that costs nothing. Also: the share of nodes whose true
probability lies inside the 90% jackknife interval.

    python benchmarks/individual_measures.py --seeds 5
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import spearmanr

import calirare as cr


def measures(clf: cr.RareCategoryClassifier, graph: cr.RareGraph) -> dict[str, np.ndarray]:
    p = clf.predict_proba(graph)[:, 1]
    return {
        "ICE": clf.individual_calibration_error(graph),
        "ICE, clipped": clf.individual_calibration_error(graph, clip=True),
        "jackknife interval width": clf.jackknife_interval(graph).width,
        "jackknife standard error": clf.predict_deviation(graph),
        "p(1 - p)": p * (1 - p),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=5_000)
    arguments = parser.parse_args()
    for method in ("uncalibrated", "jackknife"):
        found: dict[str, list[float]] = {}
        inside, error_mean, eice = [], [], []
        for seed in range(arguments.seeds):
            graph = cr.make_transactions(num_nodes=arguments.nodes, seed=seed)
            split = cr.split_labels(graph, train_fraction=0.15, val_fraction=0.05, test_fraction=0.8, seed=seed)
            clf = cr.RareCategoryClassifier("gcn", method, seed=seed).fit(graph, split)
            truth = graph.true_probability[split.test]
            error = np.abs(clf.predict_proba(graph)[split.test, 1] - truth)
            for name, values in measures(clf, graph).items():
                found.setdefault(name, []).append(spearmanr(values[split.test], error).statistic)
            interval = clf.jackknife_interval(graph)
            inside.append(((truth >= interval.lower[split.test]) & (truth <= interval.upper[split.test])).mean())
            error_mean.append(error.mean())
            eice.append(clf.individual_calibration_error(graph)[split.test].mean())
        print(
            f"{method}: real individual error {np.mean(error_mean):.4f}, EICE {np.mean(eice):.5f}, "
            f"truth inside the jackknife interval {np.mean(inside):.3f}"
        )
        for name, values in found.items():
            print(f"    {name:26s} Spearman {np.mean(values):6.3f} ± {np.std(values):.3f}")


if __name__ == "__main__":
    main()
