"""How often what triage predicts comes true: total cost, and rare nodes among all, alerts, reviewed and cleared.

Each graph is decided at the given costs, with as many reviews as pay, with a budget, and with none; the numbers are counted
against the 90% intervals of the forecast. Beside them by how many deviations of the forecast the truth is off its estimate,
root mean square: 1 where the deviations are right, less where they are too large.

    python benchmarks/evidence.py transactions --seeds 100 --jobs 2 --out evidence/
    python benchmarks/evidence.py real --seeds 6 --jobs 2 --out evidence/
    python benchmarks/forecast_coverage.py evidence/
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from evidence import REAL
from interval_coverage import draws_of, said, truth

from calirare.decisions.costs import Costs, decide
from calirare.decisions.forecast import forecast
from calirare.metrics.bootstrap import Estimate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=5_000, help="so many of each graph that have no label")
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--prices-per-node", action="store_true", help="a miss costs 50 on average, log-normal")
    arguments = parser.parse_args()
    print(
        "realised value inside the predicted 90% interval, per cent; below it / above it; deviations off, root mean square"
    )
    for what in ("transactions", "real"):
        for file in sorted(arguments.folder.glob(f"{what}-*.npz"), key=lambda path: int(path.stem.split("-")[1])):
            show(what, dict(np.load(file)), arguments)


def show(what: str, arrays: dict[str, np.ndarray], arguments: argparse.Namespace) -> None:
    hits = defaultdict(list)
    keys = sorted({tuple(name.split("/")[:3]) for name in arrays}, key=lambda key: (int(key[2]), key[0]))
    kept = [(graph, int(count), int(seed)) for graph, count, seed in keys if int(seed) < arguments.seeds]
    for case in kept:
        for name, hit in one_graph(arrays, *case, arguments):
            hits[name].append(hit)
    print(f"\n{what}, {kept[0][1]} rare labels expected, {len(kept)} fits")
    for name, found in hits.items():
        inside, low, high = 100 * np.mean(found, axis=0)[:3]
        off = np.sqrt(np.mean(np.array(found)[:, 3] ** 2))
        print(f"  {name:36s} {inside:4.0f}   {low:3.0f} / {high:3.0f}   {off:.2f}   of {len(found)}", flush=True)


def one_graph(
    arrays: dict[str, np.ndarray], graph: str, count: int, seed: int, arguments: argparse.Namespace
) -> list[tuple[str, tuple[bool, bool, bool, float]]]:
    """(what, (inside, below, above, deviations off)) for each budget and group."""
    key = f"{graph}/{count}/{seed}"
    known, is_rare, _ = truth(graph, 0 if graph in REAL else seed)
    nodes = arrays[f"{key}/nodes"]
    others = np.setdiff1d(known, nodes)
    if graph in REAL:  # their order may tell something, that of generated accounts does not
        others = np.random.default_rng(seed).permutation(others)
    others = others[: arguments.nodes]
    own, p = said(arrays, key, others)
    draws = draws_of(arrays, key, own, is_rare[nodes])
    costs = Costs(50, 5, 1)
    if arguments.prices_per_node:
        costs = Costs(50 * np.random.default_rng(seed).lognormal(-0.5, 1.0, p.size), 5, 1)
    found = []
    for budget in (None, arguments.budget, 0):
        action = decide(p, costs, budget).action
        groups = forecast(p, action, costs, draws, seed=seed)
        label = "all that pay" if budget is None else f"{budget} reviews"
        found.append((f"{label}: cost", groups["all"].cost, costs.realised(action, is_rare[others]).sum()))
        for group in ("alert", "review", "clear"):
            if groups[group].num_nodes:
                rare = is_rare[others][action == group].sum()
                found.append((f"{label}: rare in {group}", groups[group].rare, rare))
    found.append(("rare in all", groups["all"].rare, is_rare[others].sum()))
    return [(name, against(one, value)) for name, one, value in found]


def against(foreseen: Estimate, value: float) -> tuple[bool, bool, bool, float]:
    """(inside, below, above, deviations off): the middle 90% of a normal number is 3.29 deviations wide."""
    off = 3.29 * (value - foreseen.value) / max(foreseen.upper - foreseen.lower, 1.0)
    return (
        bool(foreseen.lower <= value <= foreseen.upper),
        bool(value < foreseen.lower),
        bool(value > foreseen.upper),
        off,
    )


if __name__ == "__main__":
    main()
