"""Whether the jackknife method reaches its targets, from the rows of `calirare benchmark`.

* natural prior: lower NLL and Brier than every method that is calibrated on held-out labels, in how many of the cells;
  NLL relative to `cross_fit`, and time relative to it;
* balanced prior: recall, macro-F1, ACE and Macro-ACE better than the paper's published "Ours", in how many of the cells;
* `calirare_code`, which does what the paper's published code does: how near it lands to the published "Ours".

    calirare benchmark --seeds 5 --out results/
    python benchmarks/calibration_targets.py results/runs.parquet
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
import pyarrow.parquet as parquet

from calirare.benchmark.paper import published

HELD_OUT = ("temperature", "vector", "matrix", "platt", "isotonic", "cagcn", "gats", "calirare_code")
PAPER = ("recall", "macro_f1", "true_class_ace", "macro_true_class_ace")


def means(path: str) -> dict[tuple[str, int], dict[str, dict[str, float]]]:
    """Mean over seeds: cell -> entry -> metric."""
    collected: dict[tuple[str, int], dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in parquet.read_table(path).to_pylist():
        cell = collected[row["dataset"], row["labels_per_class"]][row["entry"]]
        cell["seconds"].append(row["train_seconds"] + row["calibrate_seconds"])
        for name in (*PAPER, "negative_log_likelihood", "brier_score"):
            cell[name].append(row[name] * (100 if name in ("recall", "macro_f1") else 1))
    return {
        key: {entry: {name: float(np.mean(values)) for name, values in rows.items()} for entry, rows in cell.items()}
        for key, cell in collected.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", default="results/runs.parquet")
    cells = means(parser.parse_args().rows)
    wins, relative, time, beaten, missed, near = 0, [], [], 0, [], defaultdict(list)
    for (dataset, labels), entries in sorted(cells.items()):
        ours, balanced = entries["jackknife"], entries["jackknife:balanced"]
        wins += all(
            ours[score] < min(entries[name][score] for name in HELD_OUT if name in entries)
            for score in ("negative_log_likelihood", "brier_score")
        )
        relative.append(ours["negative_log_likelihood"] / entries["cross_fit"]["negative_log_likelihood"])
        time.append(ours["seconds"] / entries["cross_fit"]["seconds"])
        for name in PAPER:
            paper = published("calibration", dataset, labels, "Ours", name)
            better = balanced[name] > paper if name in ("recall", "macro_f1") else balanced[name] < paper
            beaten += better
            near[name].append(entries["calirare_code"][name] - paper)
            if not better:
                missed.append(f"{dataset} {labels} {name}: {balanced[name]:.4g} against {paper:.4g}")
    print(f"natural: lower NLL and Brier than every held-out calibrator in {wins} of {len(cells)} cells")
    print(
        f"natural: NLL relative to cross_fit {np.mean(relative):.3f}, worst {max(relative):.3f}; time {np.mean(time):.2f}, worst {max(time):.2f}"
    )
    print(f"balanced: better than the paper's Ours in {beaten} of {4 * len(cells)} numbers; not in")
    for line in missed:
        print("    " + line)
    print(
        "calirare_code less the paper's Ours: "
        + ", ".join(
            f"{name} {np.mean(values):+.3f} (mean distance {np.mean(np.abs(values)):.3f})"
            for name, values in near.items()
        )
    )


if __name__ == "__main__":
    main()
