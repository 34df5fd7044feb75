"""Left-out logits of many fits, computed once, for the benchmarks that judge what is made of them.

Each fit reads a random sample of labels and keeps five things: which nodes it read, what it says of each of them without
its label, what it says of every node, as logits of P(rare), how far both were drawn to the base rate, and the lines that
`calirare fit` would print first. Intervals, forecasts, tests for skill
and label errors are functions of these arrays alone, so they can be compared without fitting again. What a folder holds
already is not fitted again: a run that was stopped goes on, and more seeds can be asked for later.

    python benchmarks/evidence.py transactions --seeds 100 --jobs 2 --out evidence/
    python benchmarks/evidence.py real --seeds 10 --jobs 2 --out evidence/
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
import torch
from sklearn.model_selection import StratifiedKFold

import calirare as cr
from calirare.evaluation.first_lines import first_lines

RARE_LABELS = (3, 10, 30, 100)
REAL = ("cora", "citeseer", "pubmed", "dblp", "facebook", "tolokers", "reddit")
DENSE = ("tolokers", "reddit")
"""Columns as published, of very different sizes: standardised here."""
STRIPPED = "-stripped"
"""Behind the name of a real graph: it has lost all edges of a random 2% of its nodes."""


class Case(NamedTuple):
    """One fit: the graph, how many rare labels are expected among those drawn, and the seed of all that is random."""

    graph: str
    rare_labels: int
    seed: int
    folds: bool = False
    detector: str = "auto"

    @property
    def key(self) -> str:
        return f"{self.graph}/{self.rare_labels}/{self.seed}"


def load(case: Case) -> cr.RareGraph:
    """The graph of a case, every label known."""
    if case.graph.endswith(STRIPPED):
        return strip_edges(load(case._replace(graph=case.graph.removesuffix(STRIPPED))), case.seed)
    if case.graph in DENSE:
        graph = cr.RareGraph.load(Path(os.environ["CALIRARE_DATA"]) / f"{case.graph}.npz")
        x = graph.x.toarray() if sp.issparse(graph.x) else graph.x
        return replace(graph, x=((x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)).astype(np.float32))
    if case.graph in REAL:
        return replace(cr.load_benchmark(case.graph), public_split=None)
    if case.graph.startswith("noise"):
        return noise(int(case.graph.removeprefix("noise")), case.seed)
    # Many more nodes than labels, so that the true share of a bin of scores is not itself a matter of luck.
    graph = cr.make_transactions(20_000, seed=case.seed)
    return strip_edges(graph, case.seed) if case.graph == "stripped" else graph


def noise(num_columns: int, seed: int, num_nodes: int = 2_000) -> cr.RareGraph:
    """A tenth of the nodes rare, columns and a hundred edges that know nothing of it."""
    rng = np.random.default_rng([seed, num_columns])
    edges = rng.integers(0, num_nodes, (2, 100))
    edges = edges[:, edges[0] != edges[1]]
    x = rng.standard_normal((num_nodes, num_columns)).astype(np.float32)
    y = (rng.random(num_nodes) < 0.1).astype(np.int64)
    return cr.RareGraph(x=x, edge_index=edges, y=y, rare_class=1, name=f"noise{num_columns}")


def strip_edges(graph: cr.RareGraph, seed: int, share: float = 0.02) -> cr.RareGraph:
    """The graph without the edges of a random share of its nodes."""
    alone = np.zeros(graph.num_nodes, dtype=bool)
    alone[np.random.default_rng([seed, 99]).permutation(graph.num_nodes)[: int(share * graph.num_nodes)]] = True
    source, target = graph.edge_index
    return replace(graph, edge_index=graph.edge_index[:, ~(alone[source] | alone[target])])


def draw_labels(graph: cr.RareGraph, rare_labels: int, seed: int) -> np.ndarray:
    """A random sample of nodes in which so many rare ones are expected, and at least one is."""
    rare = graph.y == graph.rare_class
    size = round(rare_labels / rare[graph.known].mean())
    for attempt in range(100):
        nodes = np.random.default_rng([seed, attempt, 11]).permutation(graph.known)[:size]
        if rare[nodes].any():
            break
    return np.sort(nodes)


def fit(case: Case, graph: cr.RareGraph, nodes: np.ndarray) -> cr.RareCategoryClassifier:
    return cr.RareCategoryClassifier(case.detector, seed=case.seed).fit(graph, cr.Split(train=nodes))


def rare_logit(probabilities: np.ndarray, rare_class: int) -> np.ndarray:
    """logit P(rare), one number per node."""
    p = np.clip(probabilities[:, rare_class], 1e-9, 1 - 1e-9)
    return np.log(p / (1 - p)).astype(np.float32)


def gather(case: Case) -> dict[str, np.ndarray]:
    """The arrays of a case: `nodes`, `left_out`, `logits`, `undo`, `first`, and `folds`, the left-out logits of five refits."""
    torch.set_num_threads(1)
    graph = load(case)
    nodes = draw_labels(graph, case.rare_labels, case.seed)
    clf = fit(case, graph, nodes)
    rare = graph.rare_class
    found = {
        "nodes": clf.labelled_nodes_.astype(np.int32),
        "left_out": rare_logit(clf.predict_left_out(), rare),
        "logits": rare_logit(clf.predict_proba(graph), rare),
        "undo": np.array(astuple(clf.calibration_draws().undo)),
        "first": np.array("\n".join(first_lines(clf, graph))),
    }
    rare_labels = int((graph.y[nodes] == rare).sum())
    if case.folds and rare_labels >= 2:
        nodes = clf.labelled_nodes_
        found["folds"] = np.empty(nodes.size, dtype=np.float32)
        folds = StratifiedKFold(min(5, rare_labels), shuffle=True, random_state=case.seed)
        for train, test in folds.split(nodes, graph.y[nodes]):
            again = fit(case, graph, nodes[train]).predict_proba(graph)
            found["folds"][test] = rare_logit(again, rare)[nodes[test]]
    return {f"{case.key}/{name}": array for name, array in found.items()}


def cases(what: str, seeds: int, fold_seeds: int, detector: str) -> Iterator[Case]:
    if what == "noise":
        graphs, counts = tuple(f"noise{columns}" for columns in (10, 50, 200)), (20,)
    elif what == "real":
        graphs, counts = REAL, RARE_LABELS
    elif what == "stripped_real":
        graphs, counts = tuple(name + STRIPPED for name in REAL), (30,)
    else:
        graphs, counts = (what,), (25, 50) if what == "stripped" else RARE_LABELS
    for seed in range(seeds):
        for graph in graphs:
            for count in counts:
                yield Case(graph, count, seed, seed < fold_seeds, detector)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["transactions", "real", "stripped", "stripped_real", "noise"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rare-labels", type=int, help="this number alone")
    parser.add_argument("--fold-seeds", type=int, default=0, help="seeds for which five refits are made as well")
    parser.add_argument("--detector", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("evidence"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for what in arguments.what:
        wanted = list(cases(what, arguments.seeds, arguments.fold_seeds, arguments.detector))
        if arguments.rare_labels is not None:
            wanted = [case for case in wanted if case.rare_labels == arguments.rare_labels]
        for count in sorted({case.rare_labels for case in wanted}):
            file = arguments.out / f"{what}-{count}.npz"
            arrays = dict(np.load(file)) if file.exists() else {}
            missing = [case for case in wanted if case.rare_labels == count and f"{case.key}/nodes" not in arrays]
            tasks = [joblib.delayed(gather)(case) for case in missing]
            for found in joblib.Parallel(n_jobs=arguments.jobs, return_as="generator_unordered")(tasks):
                arrays |= found
                save(file, arrays)
            print(f"{what}, {count} rare labels expected: {len(tasks)} fits", flush=True)


def save(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write the arrays so that a stop at any moment leaves the old file or the new one."""
    draft = file.with_name(f".{file.name}")  # who looks for results does not see it
    np.savez_compressed(draft, **arrays)
    draft.replace(file)


if __name__ == "__main__":
    main()
