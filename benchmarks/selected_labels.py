"""What labels that somebody chose by score do to the probabilities, and whether it is noticed; on Tolokers.

An earlier model, fitted on 300 random labels, scores all workers. Then 1,000 are labelled: at random, or the likelier the
higher their score (mild, strong), or from the top 30% alone; and the model is fitted on these labels.

    python benchmarks/selected_labels.py --seeds 3
"""

from __future__ import annotations

import argparse

import numpy as np
from evidence import Case, load

import calirare as cr
from calirare.evaluation.first_lines import selection_of, unlike_of, warn_of_chosen_labels

CHANCES = {
    "at random": lambda rank: np.ones(rank.size),
    "mild": lambda rank: 0.2 + 0.8 * rank,
    "strong": lambda rank: np.exp(4 * (rank - 1)),
    "top 30%": lambda rank: (rank > 0.7).astype(float),
}


def judge(graph: cr.RareGraph, nodes: np.ndarray, rare_share: float | None, detector: str, seed: int) -> list[float]:
    clf = cr.RareCategoryClassifier(detector, rare_share=rare_share, seed=seed).fit(graph, cr.Split(train=nodes))
    p = clf.predict_proba(graph)[:, graph.rare_class]
    rest = np.setdiff1d(graph.known, nodes)
    rare = graph.y[rest] == graph.rare_class
    chance = np.clip(p[rest], 1e-9, 1 - 1e-9)
    loss = -np.where(rare, np.log(chance), np.log1p(-chance)).mean()
    by_score, by_columns = selection_of(clf, graph, rest), unlike_of(clf, graph, rest)
    assert by_columns is not None
    noticed = bool(warn_of_chosen_labels(clf, graph))
    share = (graph.y[nodes] == graph.rare_class).mean()
    return [share, by_score.area, by_columns.area, noticed, rare.mean(), p[rest].mean(), loss]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--detector", default="auto")
    arguments = parser.parse_args()
    graph = load(Case("tolokers", 0, 0))
    share = float((graph.y[graph.known] == graph.rare_class).mean())
    rows: dict[tuple[str, str], list[list[float]]] = {}
    for seed in range(arguments.seeds):
        rng = np.random.default_rng([seed, 77])
        first = np.sort(rng.permutation(graph.known)[:300])
        earlier = cr.RareCategoryClassifier(arguments.detector, seed=seed).fit(graph, cr.Split(train=first))
        rest = np.setdiff1d(graph.known, first)
        rank = earlier.predict_proba(graph)[rest, graph.rare_class].argsort().argsort() / rest.size
        for name, chance in CHANCES.items():
            weight = chance(rank)
            nodes = np.sort(rng.choice(rest, 1_000, replace=False, p=weight / weight.sum()))
            for given, value in (("labels' own", None), ("the true one", share)):
                found = judge(graph, nodes, value, arguments.detector, seed)
                rows.setdefault((name, given), []).append(found)
    print(
        "labels chosen; share used: rare among labels; labelled above others by score, by columns, noticed; others: rare, said; NLL"
    )
    for (name, given), table in rows.items():
        labels, score, columns, noticed, rare, said, loss = np.mean(table, axis=0)
        print(f"{name:10s} {given:12s} {labels:.3f}   {score:.2f} {columns:.2f} {noticed * len(table):.0f} of {len(table)}   {rare:.3f} {said:.3f}   {loss:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
