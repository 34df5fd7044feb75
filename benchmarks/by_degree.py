"""Whether probabilities hold for poorly connected nodes, and for nodes far from every label.

Nodes that no label was read of are put into groups: by degree, by whether their component holds a label, by steps to the
nearest label. In each: how many are rare, what was said, the mean interval, the loss beside that of the base rate, and how
often the 90% set holds the truth. Below each table, how far the groups by degree lie apart: the step of the walk of
`calirare.uncertainty.by_degree` that makes their counts likeliest. The networks of `evidence.py stripped` and the graphs of
`evidence.py stripped_real` have lost all edges of a random 2% of their nodes.

    python benchmarks/evidence.py stripped stripped_real real --seeds 12 --jobs 2 --out evidence/
    python benchmarks/by_degree.py evidence/
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from evidence import REAL, Case, load
from interval_coverage import draws_of, said
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

import calirare as cr
from calirare.uncertainty.by_degree import FIRST_DEGREES, STEPS, centred_walk, degree_group, posterior
from calirare.uncertainty.conformal import conformal_sets, conformal_thresholds

NAMES = {
    "degree": ("0", "1", "2-4", "5-9", "10+"),
    "component": ("without a label", "with labels"),
    "steps to a label": ("1", "2", "3", "4 or more", "no path"),
}


def groups(graph: cr.RareGraph, labelled: np.ndarray) -> dict[str, np.ndarray]:
    """The group of each node, by each way of grouping."""
    adjacency = sp.csr_array(
        (np.ones(graph.edge_index.shape[1]), graph.edge_index), shape=(graph.num_nodes, graph.num_nodes)
    )
    degree = degree_group(graph.degree)
    _, component = connected_components(adjacency, directed=False)
    has_label = np.zeros(component.max() + 1, dtype=np.int64)
    has_label[component[labelled]] = 1
    reached = np.zeros(graph.num_nodes)
    reached[labelled] = 1
    steps = np.full(graph.num_nodes, 4)
    for distance in (0, 1, 2, 3):
        steps[(steps == 4) & (reached > 0)] = max(distance - 1, 0)
        reached = adjacency @ reached + reached
    steps[(steps == 4) & (has_label[component] == 1)] = 3
    return {"degree": degree, "component": has_label[component], "steps to a label": steps}


def loss(rare: np.ndarray, p: np.ndarray) -> np.ndarray:
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return -np.where(rare, np.log(p), np.log1p(-p))


def two(p: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - p, p])


def judge(
    arrays: dict[str, np.ndarray], graph: str, count: int, seed: int, one_map: bool = False
) -> dict[str, np.ndarray]:
    """`(groups, …)` by each way of grouping: sums over the nodes of each group."""
    loaded = load(Case(graph, count, 0 if graph in REAL else seed))
    rare, key = loaded.y == loaded.rare_class, f"{graph}/{count}/{seed}"
    nodes = arrays[f"{key}/nodes"]
    others = np.setdiff1d(loaded.known, nodes)
    own, p = said(arrays, key, others)
    degree, truth = loaded.degree, rare[others]
    draws = draws_of(arrays, key, own, rare[nodes], degree[nodes])
    interval = draws.interval(p, degree=None if one_map else degree[others])
    sets = conformal_sets(two(p), conformal_thresholds(two(own), rare[nodes].astype(np.int64)))
    base = np.full(p.size, rare[nodes].mean())
    held = sets[np.arange(p.size), truth.astype(int)]
    table = np.column_stack(
        [np.ones(p.size), truth, p, interval.lower, interval.upper, loss(truth, p), loss(truth, base), held]
    )
    return {
        name: np.array([table[group[others] == g].sum(axis=0) for g in range(len(NAMES[name]))])
        for name, group in groups(loaded, nodes).items()
    }


def steps(arrays: dict[str, np.ndarray], graph: str, count: int, seed: int) -> np.ndarray:
    """Log-likelihood of each step between groups by degree, once what is said is at the right level over all nodes."""
    loaded = load(Case(graph, count, 0 if graph in REAL else seed))
    key = f"{graph}/{count}/{seed}"
    others = np.setdiff1d(loaded.known, arrays[f"{key}/nodes"])
    z, rare = arrays[f"{key}/logits"][others].astype(np.float64), loaded.y[others] == loaded.rare_class
    p = expit(z + brentq(lambda shift: expit(z + shift).sum() - rare.sum(), -20, 20))
    group, size = degree_group(loaded.degree[others]), len(FIRST_DEGREES)
    information, excess = (np.bincount(group, weights=part, minlength=size) for part in (p * (1 - p), rare - p))
    return posterior(STEPS[:, None, None] ** 2 * centred_walk(information), information, excess)[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--one-map", action="store_true", help="intervals that do not know of degrees")
    arguments = parser.parse_args()
    print("nodes, rare, said, mean interval, NLL, NLL of the base rate, sets hold the truth")
    for file in [*arguments.folder.glob("stripped*.npz"), *sorted(arguments.folder.glob("real-[13]*0.npz"))]:
        arrays = dict(np.load(file))
        keys = sorted({tuple(name.split("/")[:3]) for name in arrays}, key=lambda key: int(key[2]))
        cases = [(graph, int(count), int(seed)) for graph, count, seed in keys if int(seed) < arguments.seeds]
        found = [judge(arrays, *case, arguments.one_map) for case in cases]
        print(f"\n{file.stem}: {len(found)} fits")
        for way, names in NAMES.items():
            for name, row in zip(names, np.sum([one[way] for one in found], axis=0), strict=True):
                if row[0]:
                    _, rare, p, low, high, nll, base, held = row / row[0]
                    print(f"  {way} {name:16s} {row[0]:8.0f}   {rare:.3f}   {p:.3f}   {low:.3f} to {high:.3f}   {nll:.3f}   {base:.3f}   {held:.1%}", flush=True)  # fmt: skip
        likeliest = STEPS[np.sum([steps(arrays, *case) for case in cases], axis=0).argmax()]
        print(f"  likeliest step from one group by degree to the next: {likeliest:.2f} in logits", flush=True)


if __name__ == "__main__":
    main()
