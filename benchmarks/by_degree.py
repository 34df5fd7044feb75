"""Whether probabilities hold for poorly connected nodes: said and true share by degree, with one map and with a map by group.

The networks of `evidence.py stripped` have lost all edges of a random 2% of their nodes.

    python benchmarks/evidence.py stripped transactions --seeds 12 --jobs 2 --out evidence/
    python benchmarks/by_degree.py evidence/
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from evidence import Case, load
from interval_coverage import calibrated, draws_of

from calirare.calibration.by_group import degree_groups, fit_group_map
from calirare.uncertainty.conformal import conformal_sets, conformal_thresholds, grouped_thresholds

NAMES = ("0", "1", "2-4", "5-9", "10+")


def loss(rare: np.ndarray, p: np.ndarray) -> np.ndarray:
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return -np.where(rare, np.log(p), np.log1p(-p))


def two(p: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - p, p])


def judge(arrays: dict[str, np.ndarray], graph: str, count: int, seed: int) -> np.ndarray:
    """`(5, …)`: sums over the nodes of each degree."""
    loaded = load(Case(graph, count, seed))
    rare = loaded.y == loaded.rare_class
    group = degree_groups(np.bincount(loaded.edge_index[0], minlength=loaded.num_nodes))
    key = f"{graph}/{count}/{seed}"
    nodes = arrays[f"{key}/nodes"]
    others = np.setdiff1d(loaded.known, nodes)
    own, p = calibrated(arrays[f"{key}/left_out"], rare[nodes], arrays[f"{key}/logits"][others])
    mapped = fit_group_map(own, rare[nodes], group[nodes], p, group[others])
    own_by_group, by_group = mapped.probabilities(own, group[nodes]), mapped.probabilities(p, group[others])
    interval = draws_of(own_by_group, rare[nodes]).interval(by_group)
    y = rare[nodes].astype(np.int64)
    plain = conformal_sets(two(p), conformal_thresholds(two(own), y))
    limits = grouped_thresholds(two(own_by_group), y, group[nodes])
    limits = np.vstack([limits, np.tile(conformal_thresholds(two(own_by_group), y), (5 - len(limits), 1))])
    grouped = conformal_sets(two(by_group), limits[group[others]])
    truth = rare[others]
    columns = [
        np.ones(p.size),
        truth,
        p,
        loss(truth, p),
        by_group,
        loss(truth, by_group),
        interval.lower,
        interval.upper,
        loss(truth, np.full(p.size, rare[nodes].mean())),
        plain[np.arange(p.size), truth.astype(int)],
        grouped[np.arange(p.size), truth.astype(int)],
    ]
    return np.array([[column[group[others] == g].sum() for column in columns] for g in range(5)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=12)
    arguments = parser.parse_args()
    for file in sorted([*arguments.folder.glob("stripped-*.npz"), *arguments.folder.glob("transactions-*.npz")]):
        arrays = dict(np.load(file))
        keys = sorted({tuple(name.split("/")[:3]) for name in arrays}, key=lambda key: int(key[2]))[: arguments.seeds]
        total = np.sum([judge(arrays, graph, int(count), int(seed)) for graph, count, seed in keys], axis=0)
        print(f"\n{file.stem}, {len(keys)} networks: rare, said by one map (NLL), by groups (NLL), mean interval, NLL of the base rate, sets hold the truth: one map, by groups")  # fmt: skip
        for name, row in zip([*NAMES, "all"], [*total, total.sum(axis=0)], strict=True):
            n, rare, p, nll, by_group, group_nll, low, high, base, plain, grouped = row / np.maximum(row[0], 1)
            print(
                f"  degree {name:4s} {row[0]:8.0f} nodes  {rare:.3f}   {p:.3f} ({nll:.3f})   {by_group:.3f} ({group_nll:.3f})"
                f"   {low:.3f} to {high:.3f}   {base:.3f}   {plain:.1%} {grouped:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
