"""Labelled rows that stand several times in a table: do they make the model look surer than it is?

In the tables of generated networks every labelled account stands once, twice or four times, with equal attributes and equal
payments, under ids of its own: with the originals of its partners, or with their copies too. Judged on the accounts without a
label: how many are rare, what was said on average, the loss, and how often the 90% sets hold the truth of either class.

    python benchmarks/copies.py --seeds 6 --jobs 2
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
import torch
from cells import run_cells

import calirare as cr

CASES = ((1, ""), (2, "originals"), (4, "originals"), (2, "copies too"), (4, "copies too"))
"""How often labelled rows stand, and to whom the copies are joined."""


def copied(nodes: pl.DataFrame, edges: pl.DataFrame, times: int, both: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables with every labelled account, and what it pays and gets, standing so many times.

    A copy is joined to whom the account is joined to; `both`: and to their copies.
    """
    labelled = nodes.filter(pl.col("label").is_not_null())
    grown = [edges]
    for end in ("source", "target"):
        mine = (pl.concat(grown) if both else edges).join(labelled.select("id"), left_on=end, right_on="id", how="semi")
        grown += [mine.with_columns(name) for name in _names(end, times)]
    return pl.concat([nodes, *(labelled.with_columns(name) for name in _names("id", times))]), pl.concat(grown)


def _names(column: str, times: int) -> list[pl.Expr]:
    return [pl.col(column) + f" ({number})" for number in range(1, times)]


def judge(times: int, joined: str, seed: int, num_nodes: int, detector: str) -> list[float]:
    """Rare share, mean P(rare), loss, coverage of the rare and of the normal class, on accounts without a label."""
    torch.set_num_threads(1)
    network = cr.make_transactions(num_nodes, labelled_share=0.2, seed=seed)
    nodes, edges = network.to_polars()
    graph = cr.read_tables(*copied(nodes, edges, times, joined == "copies too"), label="label", rare="fraud")
    clf = cr.RareCategoryClassifier(detector, seed=seed).fit(graph)
    judged = graph.y[:num_nodes] == -1
    assert network.original_y is not None
    rare = network.original_y[judged] == network.rare_class
    p = np.clip(clf.predict_proba(graph)[:num_nodes][judged, clf.rare_class_], 1e-9, 1 - 1e-9)
    held = clf.predict_set(graph)[:num_nodes][judged]
    loss = -np.where(rare, np.log(p), np.log1p(-p)).mean()
    covered = held[rare, clf.rare_class_].mean(), held[~rare, 1 - clf.rare_class_].mean()
    return [float(one) for one in (rare.mean(), p.mean(), loss, *covered)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--detectors", default="auto")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON Lines, appended to and read first")
    arguments = parser.parse_args()
    kinds = arguments.detectors.split(",")
    cells = [
        (*case, seed, arguments.nodes, kind) for kind in kinds for case in CASES for seed in range(arguments.seeds)
    ]
    results = run_cells(judge, cells, jobs=arguments.jobs, out=arguments.out)
    print("detector  times joined to    rare   said    NLL  sets hold: rare  normal")
    for kind in kinds:
        for times, joined in CASES:
            mine = [row for cell, row in results.items() if (*cell[:2], cell[4]) == (times, joined, kind)]
            rare, said, loss, of_rare, of_normal = np.mean(mine, axis=0)
            print(
                f"{kind:9s} {times:5d} {joined:10s} {rare:6.3f} {said:6.3f} {loss:6.3f} {of_rare:16.1%} {of_normal:7.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
