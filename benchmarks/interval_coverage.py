"""How often the 90% interval of a node's P(rare) holds the true share of rare nodes among those that score alike.

Nodes that no label was read of are put into six bins by the rank of their P(rare), ties at random: the lower half, the next
30%, 10%, 5%, 3% and the top 2%. In generated networks the true share of a bin is the mean of the true probabilities, and it
is sought between the mean ends of its nodes' intervals. What the draws leave open of single nodes evens out over a bin in part,
so those ends lie too far apart for it; `bins` seeks it in the middle of what the same draws say of the whole bin. In real graphs
that is the rule as well, and since a share is a count there, the interval is widened by the coins (a bin of n nodes is n coins).
Compared are the posterior of the map, which `predict_interval` uses, a Bayesian bootstrap of the same map, and Venn-Abers by
the package `venn-abers`. In the end: how far left-out scores lie from those of nodes without a label, and how often P is an end of its
own interval, because it would lie outside, or reads like one where both have two digits; by the number of rare labels.

    python benchmarks/evidence.py transactions --seeds 50 --jobs 2 --out evidence/
    python benchmarks/evidence.py real --seeds 6 --jobs 2 --out evidence/
    python benchmarks/interval_coverage.py evidence/
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from evidence import REAL, Case, load
from scipy.special import expit, logit

from calirare.uncertainty.calibration_maps import CalibrationDraws, Drawn
from calirare.uncertainty.intervals import calibration_draws
from calirare.uncertainty.posterior import bent_line

BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0)
Bounds = tuple[np.ndarray, np.ndarray]


def said(arrays: dict[str, np.ndarray], key: str, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(rare) of the labelled nodes without their labels, and of the others, as the classifier gives them."""
    return expit(arrays[f"{key}/left_out"].astype(np.float64)), expit(
        arrays[f"{key}/logits"][others].astype(np.float64)
    )


def draws_of(
    arrays: dict[str, np.ndarray], key: str, own: np.ndarray, rare: np.ndarray, degree: np.ndarray | None = None
) -> CalibrationDraws:
    """The maps that the classifier's intervals are made of; with the labelled nodes' degrees what is apart by degree."""
    undo, share = Drawn(*arrays[f"{key}/undo"].tolist()), float(rare.mean())
    return calibration_draws(own, rare, rare_share=share, num_share_labels=rare.size, undo=undo, degree=degree)


def bootstrap(own: np.ndarray, rare: np.ndarray, p: np.ndarray, coverage: float, num_draws: int = 300) -> Bounds:
    """A line that bends at the rare share and at one half, fitted under random weights of the labels."""
    rng, knots = np.random.default_rng(0), (logit(rare.mean()), 0.0)
    z = logit(np.clip(own, 1e-9, 1 - 1e-9))
    features, start = bent_line(z, knots), np.array([0.0, 1.0, 0.0, 0.0])
    weight = rng.gamma(1.0, size=(num_draws, rare.size))
    theta, ridge = np.tile(start, (num_draws, 1)), np.array([1.0, 1.0, 4.0, 4.0])
    for _ in range(30):
        chance = expit(theta @ features.T)
        gradient = (weight * (chance - rare)) @ features + ridge * (theta - start)
        hessian = np.einsum("bn,nk,nl->bkl", weight * chance * (1 - chance), features, features, optimize=True)
        step = np.linalg.solve(hessian + np.diag(ridge), gradient[:, :, None])[:, :, 0]
        theta -= step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
    found = CalibrationDraws(theta, knots).interval(p, coverage)
    return found.lower, found.upper


def venn_abers(own: np.ndarray, rare: np.ndarray, p: np.ndarray, coverage: float) -> Bounds:
    from venn_abers import VennAbers  # in the test extra; only this comparison needs it

    judge = VennAbers()
    judge.fit(np.column_stack([1 - own, own]), rare.astype(np.int64))
    _, bounds = judge.predict_proba(np.column_stack([1 - p, p]))
    return bounds[:, 0], bounds[:, 1]


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray, float], Bounds]] = {
    "bootstrap": bootstrap,
    "venn-abers": venn_abers,
}


@lru_cache(maxsize=128)
def truth(graph: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(known nodes, whether each node is rare, its true probability where it is known)."""
    loaded = load(Case(graph, 0, seed))
    rare = loaded.y == loaded.rare_class
    share = rare.astype(float) if loaded.true_probability is None else loaded.true_probability
    return loaded.known, rare, share


@lru_cache(maxsize=128)
def degrees(graph: str, seed: int) -> np.ndarray:
    """How many neighbours each node has."""
    return load(Case(graph, 0, seed)).degree


def bins_of(score: np.ndarray) -> list[np.ndarray]:
    order = np.lexsort((np.random.default_rng(0).random(score.size), score))
    cuts = (np.array(BINS) * score.size).astype(int)
    return [order[low:high] for low, high in zip(cuts[:-1], cuts[1:], strict=True)]


def of_the_bin(
    draws: CalibrationDraws, p: np.ndarray, degree: np.ndarray, coverage: float, coins: bool
) -> tuple[float, float]:
    """The interval of a bin's share, with `coins` where each of its nodes is one."""
    some = np.argsort(p, kind="stable")[((np.arange(200) + 0.5) / 200 * p.size).astype(int)]
    drawn = draws.probabilities(draws.scores(p[some]), degree[some]).mean(axis=1)
    if coins:
        drawn = np.random.default_rng(0).binomial(p.size, drawn) / p.size
    lower, upper = np.quantile(drawn, [(1 - coverage) / 2, (1 + coverage) / 2])
    return float(lower), float(upper)


def judge(graph: str, count: int, seed: int, arrays: dict[str, np.ndarray], method: str, coverage: float) -> np.ndarray:
    """`(bins, 2)`: whether the true share is inside, and the width."""
    draws, p, degree, share = asked(graph, count, seed, arrays)
    found = []
    if method in ("posterior", "bins"):
        interval = draws.interval(p, coverage, degree=degree)
        lower, upper = interval.lower, interval.upper
    else:
        key = f"{graph}/{count}/{seed}"
        own, is_rare = expit(arrays[f"{key}/left_out"].astype(np.float64)), truth(graph, seed)[1]
        lower, upper = METHODS[method](own, is_rare[arrays[f"{key}/nodes"]], p, coverage)
    for row in bins_of(p):
        if graph in REAL or method == "bins":
            low, high = of_the_bin(draws, p[row], degree[row], coverage, graph in REAL)
        else:
            low, high = lower[row].mean(), upper[row].mean()
        found.append((low <= share[row].mean() <= high, high - low))
    return np.array(found, dtype=float)


def asked(
    graph: str, count: int, seed: int, arrays: dict[str, np.ndarray]
) -> tuple[CalibrationDraws, np.ndarray, np.ndarray, np.ndarray]:
    """The maps of a fit; and of the nodes without a label P(rare), how many neighbours they have, and the true shares."""
    key, which = f"{graph}/{count}/{seed}", (graph, 0 if graph in REAL else seed)
    (known, is_rare, share), degree, nodes = truth(*which), degrees(*which), arrays[f"{key}/nodes"]
    others = np.setdiff1d(known, nodes)
    own, p = said(arrays, key, others)
    return draws_of(arrays, key, own, is_rare[nodes], degree[nodes]), p, degree[others], share[others]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--methods", default="posterior,bins,bootstrap,venn-abers")
    parser.add_argument("--seeds", type=int, default=50)
    arguments = parser.parse_args()
    print(f"{'':28s} bin by rank: the true share inside, per cent / mean width")
    print(f"{'graphs, method':21s} {'rare':>6s} {'0-50':>12s} {'50-80':>12s} {'80-90':>12s} {'90-95':>12s} {'95-98':>12s} {'98-100':>12s}")  # fmt: skip
    distances: dict[str, list[tuple[int, float]]] = {"transactions": [], "real": []}
    rims: dict[str, np.ndarray] = {}
    for what in distances:
        for method in arguments.methods.split(",") if what == "transactions" else ["posterior"]:
            for file in sorted(arguments.folder.glob(f"{what}-*.npz"), key=lambda path: int(path.stem.split("-")[1])):
                arrays = dict(np.load(file))
                keys = sorted({tuple(name.split("/")[:3]) for name in arrays})
                kept = [(graph, int(count), int(seed)) for graph, count, seed in keys if int(seed) < arguments.seeds]
                table = np.array([judge(*case, arrays, method, arguments.coverage) for case in kept])
                found = [apart(*case, arrays) for case in kept]
                several = np.array([num_rare > 1 for num_rare, _ in found])
                expected = file.stem.split("-")[1]
                show(f"{what}, {method}", expected, table)
                if method == "posterior":
                    distances[what] += found
                    rims[f"{what}, {expected}"] = np.mean([rim(*case, arrays, arguments.coverage) for case in kept], 0)
                    if not several.all():
                        show(f"  {several.sum()} of {several.size}: two or more", expected, table[several])
    for what, found in distances.items():
        if found:
            show_distances(what, np.array(found))
    print("P is the lower end, the upper end; reads like it, of nodes with P above 0.05")
    for name, shares in rims.items():
        print(f"  {name} rare labels: " + ", ".join(f"{share:.1%}" for share in shares), flush=True)


def rim(graph: str, count: int, seed: int, arrays: dict[str, np.ndarray], coverage: float) -> np.ndarray:
    """`(4,)`: how often P is the lower or the upper end of its interval; how often it reads like it, where P > 0.05."""
    draws, p, degree, _ = asked(graph, count, seed, arrays)
    found = draws.interval(p, coverage, degree=degree)
    ends, seen = (found.lower, found.upper), p > 0.05
    alike = [(p[seen].round(2) == end[seen].round(2)).mean() if seen.any() else 0.0 for end in ends]
    return np.array([*((p == end).mean() for end in ends), *alike])


def apart(graph: str, count: int, seed: int, arrays: dict[str, np.ndarray]) -> tuple[int, float]:
    """(rare labels, how far the median left-out score lies from that of the other nodes, in deviations of the former)."""
    key = f"{graph}/{count}/{seed}"
    known, is_rare, _ = truth(graph, 0 if graph in REAL else seed)
    nodes, undo = arrays[f"{key}/nodes"], Drawn(*arrays[f"{key}/undo"].tolist())
    own, others = (undo.scores(p) for p in said(arrays, key, np.setdiff1d(known, nodes)))
    return int(is_rare[nodes].sum()), float((np.median(own) - np.median(others)) / max(own.std(), 1e-9))


def show_distances(what: str, found: np.ndarray) -> None:
    print(f"{what}: left-out scores lie apart by so many deviations, root mean square")
    for low, high in ((1, 1), (2, 3), (4, 6), (7, 15), (16, 60), (61, 1000)):
        inside = (found[:, 0] >= low) & (found[:, 0] <= high)
        if inside.any():
            size = np.sqrt(np.mean(found[inside, 1] ** 2))
            print(f"  {low} to {high} rare labels: {size:.2f} ({inside.sum()} fits)", flush=True)


def show(name: str, expected: str, table: np.ndarray) -> None:
    inside, width = table.mean(axis=0).T
    cells = " ".join(f"{100 * hit:5.0f} /{size:5.3f}" for hit, size in zip(inside, width, strict=True))
    print(f"{name:24s} {expected:>4s} {cells}", flush=True)


if __name__ == "__main__":
    main()
