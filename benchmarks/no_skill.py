"""Whether no skill is said where there is none, and never where there is some.

Random labels, a tenth of 2,000 nodes rare, 200 of them labelled, on 10, 50 and 200 columns with hardly any edges; then
generated networks, where there is something to learn.

    python benchmarks/evidence.py noise --seeds 20 --detector auto --jobs 2 --out evidence/
    python benchmarks/evidence.py transactions --seeds 50 --detector auto --jobs 2 --out evidence/
    python benchmarks/no_skill.py evidence/
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from interval_coverage import degrees, draws_of, said, truth

from calirare.uncertainty.skill import no_skill


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    print("graph, rare labels expected: left-out ROC-AUC, no skill said; mean |P - base rate|, largest of a run; base rate inside the intervals")  # fmt: skip
    for file in sorted([*arguments.folder.glob("noise-*.npz"), *arguments.folder.glob("transactions-*.npz")]):
        arrays, rows = dict(np.load(file)), defaultdict(list)
        for graph, count, seed in sorted({tuple(name.split("/")[:3]) for name in arrays}):
            key = f"{graph}/{count}/{seed}"
            (known, is_rare, _), degree = truth(graph, int(seed)), degrees(graph, int(seed))
            nodes = arrays[f"{key}/nodes"]
            others, rare = np.setdiff1d(known, nodes), is_rare[nodes]
            own, p = said(arrays, key, others)
            found, base = no_skill(own, rare), rare.mean()
            interval = draws_of(arrays, key, own, rare, degree[nodes]).interval(p, degree=degree[others])
            held = ((interval.lower <= base) & (base <= interval.upper)).mean()
            rows[graph, count].append([found.roc_auc, not found.shown, np.abs(p - base).mean(), held])
        for (graph, count), table in rows.items():
            area, told, away, held = np.mean(table, axis=0)
            most = np.max(table, axis=0)[2]
            print(f"{graph:14s} {count:>4s}   {area:.3f}   {round(told * len(table)):3d} of {len(table)}   {away:.3f}  {most:.3f}   {held:.1%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
