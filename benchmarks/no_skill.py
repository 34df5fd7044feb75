"""Whether no skill is said where there is none, and never where there is some, read from the lines that a fit prints.

Random labels, a tenth of 2,000 nodes rare, 200 of them labelled, on 10, 50 and 200 columns with hardly any edges; then
generated networks, where there is something to learn.

    python benchmarks/evidence.py noise --seeds 20 --detector auto --jobs 2 --out evidence/
    python benchmarks/evidence.py transactions --seeds 50 --detector auto --jobs 2 --out evidence/
    python benchmarks/no_skill.py evidence/
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
from interval_coverage import degrees, draws_of, said, truth

from calirare.uncertainty.skill import measure_skill

_SAID = re.compile(
    r"^(?:No skill is shown|Nothing is shown yet): .* Take every probability as the base rate, ([\d.e-]+)[.;]", re.M
)


def base_rate_said(printed: str) -> float | None:
    """The base rate that the first lines tell to take, where they say that there is no skill; None where they do not.

    >>> base_rate_said("Nothing is shown yet: one label. Take every probability as the base rate, 0.1; label more.")
    0.1
    """
    found = _SAID.search(printed)
    return None if found is None else float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    print("graph, rare labels expected: left-out ROC-AUC, no skill printed, with the base rate; mean |P - base rate|, largest of a run; base rate inside the intervals")  # fmt: skip
    for file in sorted([*arguments.folder.glob("noise-*.npz"), *arguments.folder.glob("transactions-*.npz")]):
        arrays, rows = dict(np.load(file)), defaultdict(list)
        for graph, count, seed in sorted({tuple(name.split("/")[:3]) for name in arrays}):
            key = f"{graph}/{count}/{seed}"
            (known, is_rare, _), degree = truth(graph, int(seed)), degrees(graph, int(seed))
            nodes = arrays[f"{key}/nodes"]
            others, rare = np.setdiff1d(known, nodes), is_rare[nodes]
            own, p = said(arrays, key, others)
            found, base, line = measure_skill(own, rare), rare.mean(), base_rate_said(str(arrays[f"{key}/first"]))
            printed = line is not None and abs(line - base) < 0.01 * base
            interval = draws_of(arrays, key, own, rare, degree[nodes]).interval(p, degree=degree[others])
            held = ((interval.lower <= base) & (base <= interval.upper)).mean()
            rows[graph, count].append([found.roc_auc, printed, np.abs(p - base).mean(), held])
        for (graph, count), table in rows.items():
            area, told, away, held = np.mean(table, axis=0)
            most = np.max(table, axis=0)[2]
            print(f"{graph:14s} {count:>4s}   {area:.3f}   {round(told * len(table)):3d} of {len(table)}   {away:.3f}  {most:.3f}   {held:.1%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
