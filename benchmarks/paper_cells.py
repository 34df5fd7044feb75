"""In how many of the paper's 60 cells (five graphs, 20, 30 and 40 labels per class, four columns of Table 2) do ours stand
better than its own method, and is `auto` better calibrated than the calibrated GCN?

Resumable: called again with the same store it goes on. Reads the graphs that
`python -m calirare.benchmark.leaderboard prepare graphs` writes, so it runs where polars is missing.

    python benchmarks/paper_cells.py graphs store --seeds 5 --jobs 16
    python benchmarks/paper_cells.py --rows docs/assets/runs.parquet      # from rows of `calirare benchmark`
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from calirare.benchmark import DatasetSource, Entry, Grid, run_grid
from calirare.benchmark.comparison import COMPARED, pairs
from calirare.benchmark.grid import GridTask
from calirare.benchmark.paper import COUNTERPARTS
from calirare.benchmark.standings import Standings
from calirare.benchmark.store import Row, read_parquet
from calirare.metrics.registry import METRICS

GRAPHS = ("cora", "citeseer", "pubmed", "dblp", "facebook")
OURS = tuple(word for word in COUNTERPARTS["Ours"] if word.startswith("jackknife"))
NATURAL = ("jackknife", "jackknife@auto")


def show_cells(rows: list[Row]) -> None:
    """Ours less the published, for each of the 60 cells, and how many each entry reaches."""
    standings = Standings.of(rows, GridTask.COLUMNS, METRICS, [*OURS, *NATURAL])
    found = [pair for pair in pairs(standings, "calibration", GRAPHS) if pair.paper_method == "Ours"]
    print("\nours less the published (recall, macro-F1 in points; * not reached)")
    print(f"{'':34s}" + "".join(f"{f'{name[:8]} {labels}':>13s}" for name in GRAPHS for labels in (20, 30, 40)))
    for entry in OURS:
        for metric in COMPARED["calibration"]:
            by_cell = {
                (pair.cell.graph, pair.cell.size): pair
                for pair in found
                if (pair.entry, pair.metric) == (entry, metric)
            }
            cells = [by_cell.get((name, labels)) for name in GRAPHS for labels in (20, 30, 40)]
            told = ["–" if one is None else f"{one.difference:+.3f}{'' if one.is_better else '*'}" for one in cells]
            print(f"{entry.removeprefix('jackknife'):24s}{metric[:10]:10s}" + "".join(f"{text:>13s}" for text in told))
    for entry in OURS:
        of_entry = [pair for pair in found if pair.entry == entry]
        print(f"{entry:36s} {sum(pair.is_better for pair in of_entry)} of {len(of_entry)} cells")
    reached: dict[tuple[object, str], list[str]] = {}
    for pair in found:
        reached.setdefault((pair.cell, pair.metric), []).extend([pair.entry] * pair.is_better)
    print(
        f"by some entry: {sum(map(bool, reached.values()))} of {len(reached)}; by none: {[k for k, v in reached.items() if not v]}"
    )


def show_calibration(rows: list[Row]) -> None:
    """NLL of the calibrated GCN and of `auto`."""
    standings = Standings.of(rows, GridTask.COLUMNS, METRICS, NATURAL)
    changes = []
    for cell in standings.cells:
        gcn, auto = (standings.mean(cell, "negative_log_likelihood", entry) for entry in NATURAL)
        if np.isfinite(auto / gcn):
            changes.append(auto / gcn - 1)
            print(f"{cell.graph:10s} {cell.size}: NLL gcn {gcn:.4f}, auto {auto:.4f}, {100 * changes[-1]:+.1f}%")
    if changes:
        lower = sum(change < 0 for change in changes)
        print(
            f"auto is lower in {lower} of {len(changes)} cells; mean {100 * np.mean(changes):+.1f}%, worst {100 * max(changes):+.1f}%"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="?")
    parser.add_argument("store", nargs="?")
    parser.add_argument("--rows", type=Path, help="rows that are there already, instead of graphs and a store")
    parser.add_argument("--only", default=",".join(GRAPHS))
    parser.add_argument("--labels", default="20,30,40")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    rows = compute(chosen) if chosen.rows is None else read_parquet(chosen.rows)
    show_cells(rows)
    show_calibration(rows)


def compute(chosen: argparse.Namespace) -> list[Row]:
    """The rows of the store, after what it lacks was computed."""
    grid = Grid(
        datasets=tuple(
            DatasetSource.parse(str(Path(chosen.graphs) / f"{name}.npz")) for name in chosen.only.split(",")
        ),
        entries=tuple(Entry.parse(word) for word in (*OURS, *NATURAL)),
        labels=tuple(int(word) for word in chosen.labels.split(",")),
        seeds=chosen.seeds,
    )
    results = run_grid(
        grid, chosen.store, jobs=chosen.jobs, progress=lambda share, what: print(f"{share:4.0%} {what}", flush=True)
    )
    for failure in results.failures:
        print(failure)
    return results.rows


if __name__ == "__main__":
    main()
