"""How often what triage predicts comes true: total cost, and rare nodes among alerts, reviewed and cleared.

Each generated network is decided at the given costs, with as many reviews as pay, with a budget, and with none; the numbers
are counted against the 90% intervals of the forecast, and the estimate against the middle: by how much it is off.

    python benchmarks/evidence.py transactions --seeds 100 --jobs 2 --out evidence/
    python benchmarks/forecast_coverage.py evidence/
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from interval_coverage import draws_of, said, truth

from calirare.decisions.costs import Costs, decide
from calirare.decisions.forecast import forecast


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument(
        "--nodes", type=int, default=5_000, help="of each network, the first so many that have no label"
    )
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--prices-per-node", action="store_true", help="a miss costs 50 on average, log-normal")
    arguments = parser.parse_args()
    print("realised value inside the predicted 90% interval, per cent; below it / above it")
    for file in sorted(arguments.folder.glob("transactions-*.npz"), key=lambda path: int(path.stem.split("-")[1])):
        arrays, hits = dict(np.load(file)), defaultdict(list)
        keys = sorted({tuple(name.split("/")[:3]) for name in arrays}, key=lambda key: int(key[2]))
        for graph, count, seed in keys[: arguments.seeds]:
            for name, hit in one_network(arrays, graph, int(count), int(seed), arguments):
                hits[name].append(hit)
        print(f"\n{keys[0][1]} rare labels expected, {min(len(keys), arguments.seeds)} networks")
        for name, found in hits.items():
            inside, low, high = 100 * np.mean(found, axis=0)
            print(f"  {name:36s} {inside:4.0f}   {low:3.0f} / {high:3.0f}   of {len(found)}", flush=True)


def one_network(
    arrays: dict[str, np.ndarray], graph: str, count: int, seed: int, arguments: argparse.Namespace
) -> list[tuple[str, tuple[bool, bool, bool]]]:
    """(what, (inside, below, above)) for each budget and group."""
    key = f"{graph}/{count}/{seed}"
    known, is_rare, _ = truth(graph, seed)
    nodes = arrays[f"{key}/nodes"]
    others = np.setdiff1d(known, nodes)[: arguments.nodes]
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
    return [
        (name, (bool(one.lower <= value <= one.upper), bool(value < one.lower), bool(value > one.upper)))
        for name, one, value in found
    ]


if __name__ == "__main__":
    main()
