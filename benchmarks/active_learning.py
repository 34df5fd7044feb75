"""Which cases should be labelled next: at random, where the model doubts, or where its answer hangs on single labels?

From forty labels on, twenty are added at a time: drawn at random; nearest to P(rare) = 0.5 (uncertainty sampling); or with the
largest jackknife deviation of P(rare), the left-out influence (`predict_deviation`). After each step the average precision on a
third of the nodes that is never labelled. Printed: average precision by number of labels, and how many labels each needs to be as
good as random labels are at the end. Rows are kept in a file, so that a stopped run goes on.

    python benchmarks/active_learning.py --graphs cora citeseer dblp --seeds 2
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from cells import run_cells
from sklearn.metrics import average_precision_score

import calirare as cr

FIRST, STEP, ROUNDS, FEWEST_RARE = 40, 20, 5, 3
WAYS = ("random", "uncertainty", "influence")


def choose(way: str, clf: cr.RareCategoryClassifier, graph: cr.RareGraph, open_nodes: np.ndarray, rng: np.random.Generator) -> np.ndarray:  # fmt: skip
    """The next nodes to label."""
    if way == "random":
        return rng.choice(open_nodes, STEP, replace=False)
    p = clf.predict_proba(graph)[open_nodes, graph.rare_class]
    worth = -np.abs(p - 0.5) if way == "uncertainty" else clf.predict_deviation(graph)[open_nodes]
    return open_nodes[np.argsort(-worth, kind="stable")[:STEP]]


def run(name: str, way: str, seed: int, detector: str) -> list[float]:
    """Average precision after each round."""
    graph = cr.load_benchmark(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(graph.known)
    test, pool = np.split(order, [order.size // 3])
    rare = pool[graph.y[pool] == graph.rare_class]
    first = rng.choice(rare, FEWEST_RARE, replace=False)  # a search begins with some known cases
    labelled = np.concatenate([first, rng.choice(np.setdiff1d(pool, first), FIRST - FEWEST_RARE, replace=False)])
    found = []
    for place in range(ROUNDS + 1):
        clf = cr.RareCategoryClassifier(detector=detector, seed=seed).fit(graph, cr.Split(labelled, test[:0], test))
        p = clf.predict_proba(graph)[test, graph.rare_class]
        found.append(float(average_precision_score(graph.y[test] == graph.rare_class, p)))
        if place < ROUNDS:
            chosen = choose(way, clf, graph, np.setdiff1d(pool, labelled), rng)
            labelled = np.concatenate([labelled, chosen])
    return found


def labels_needed(curve: np.ndarray, level: float) -> str:
    """Where the curve first reaches the level, between rounds in a straight line."""
    counts = FIRST + STEP * np.arange(len(curve))
    above = np.flatnonzero(curve >= level)
    if not above.size:
        return f"> {counts[-1]}"
    k = int(above[0])
    if k == 0:
        return f"{counts[0]}"
    share = (level - curve[k - 1]) / max(curve[k] - curve[k - 1], 1e-12)
    return f"{counts[k - 1] + STEP * share:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=["cora", "citeseer", "dblp"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--detector", default="linear")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=Path("active_learning.jsonl"))
    args = parser.parse_args()
    cells = [(name, way, seed) for seed in range(args.seeds) for name in args.graphs for way in WAYS]
    done = run_cells(run, cells, jobs=args.jobs, out=args.rows, detector=args.detector)
    counts = [FIRST + STEP * k for k in range(ROUNDS + 1)]
    print(f"{'graph':10} {'chosen by':12}" + "".join(f"{count:>8}" for count in counts) + "   labels needed")
    for name in args.graphs:
        curves = {way: np.mean([done[name, way, seed] for seed in range(args.seeds)], axis=0) for way in WAYS}
        for way, curve in curves.items():
            cells = "".join(f"{value:8.3f}" for value in curve)
            print(f"{name:10} {way:12}{cells}   {labels_needed(curve, curves['random'][-1]):>6}")


if __name__ == "__main__":
    main()
