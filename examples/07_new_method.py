"""A new method: your own graph and your own calibrator in the paper's table, without touching calirare's files.

    python examples/07_new_method.py --out pictures

It is the same as saving the graph and calling

    calirare benchmark --datasets none --dataset my_graph.npz \\
        --methods uncalibrated,temperature,jackknife \\
        --method examples/07_new_method.py:ShrunkLogits --out pictures/07_new_method
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch_geometric.data import Data

import calirare as cr
from calirare.benchmark import run_grid
from calirare.benchmark.pages import make_section, write_pages
from calirare.benchmark.planning import choose_entries, keep_graph, make_grid
from calirare.calibration import Calibrator
from calirare.plots.style import BLUE, GUIDE, new_figure, styled


class ShrunkLogits(Calibrator):
    """Logits pulled towards the mean logits of the calibration nodes.

    z' = m + a (z − m), with m the mean logits and a in [0, 5] by maximum likelihood.
    """

    def _fit(self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        self.centre_ = weights @ logits
        rows = np.arange(len(y))

        def loss(amount: float) -> float:
            moved = self.centre_ + amount * (logits - self.centre_)
            return float(-weights @ log_softmax(moved, axis=1)[rows, y])

        self.amount_ = float(minimize_scalar(loss, bounds=(0.0, 5.0), method="bounded").x)

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(self.centre_ + self.amount_ * (logits - self.centre_), axis=1))


def my_graph(num_nodes: int = 600, seed: int = 0) -> cr.RareGraph:
    """A PyG graph of two communities, the smaller of them rare, as it might come from a researcher's own data.

    Tables work alike: `cr.read_tables("nodes.csv", "edges.csv", label="is_fraud", rare="yes")`.
    """
    generator = np.random.default_rng(seed)
    y = (generator.random(num_nodes) < 0.12).astype(np.int64)
    source, target = generator.integers(0, num_nodes, (2, 8 * num_nodes))
    kept = (y[source] == y[target]) | (generator.random(source.size) < 0.25)
    x = generator.normal(size=(num_nodes, 8)) + 0.8 * y[:, None] * (np.arange(8) < 3)
    edge_index = torch.from_numpy(np.stack([source, target])[:, kept])
    data = Data(x=torch.from_numpy(x).float(), edge_index=edge_index, y=torch.from_numpy(y))
    return cr.from_pyg(data, rare_class=1, name="my_graph")


def main(folder: str | Path, *, epochs: int = 200, seeds: int = 3, jobs: int = -1) -> list[dict[str, object]]:
    """Both in one small table: `results.md`, LaTeX, CSV and `index.html` in `folder`; gives the rows."""
    own = [f"{__file__}:ShrunkLogits"]
    entries = choose_entries("calibration", "uncalibrated,temperature,jackknife", own)
    grid = make_grid(
        datasets=[keep_graph(my_graph(), folder)],
        entries=entries,
        own_methods=own,
        labels=(20,),
        seeds=seeds,
        epochs=epochs,
    )
    results = run_grid(grid, folder, jobs=jobs)
    write_pages(
        results, folder, [make_section(results, "calibration", entries)], f"python {Path(__file__).name} {folder}"
    )
    print(Path(folder, "results.md").read_text())
    return results.rows


def draw(rows: list[dict[str, object]], path: Path) -> Path:
    """Every run as a dot, the mean as a bar."""
    names = list(dict.fromkeys(str(row["entry"]) for row in rows))
    with styled():
        figure = new_figure(4.8, 0.9 + 0.3 * len(names))
        ax = figure.add_subplot()
        for place, name in enumerate(reversed(names)):
            values = [float(row["negative_log_likelihood"]) for row in rows if row["entry"] == name]
            ax.plot(values, [place] * len(values), "o", color=BLUE, alpha=0.6)
            ax.plot(np.mean(values), place, "|", color=GUIDE, markersize=16, markeredgewidth=2)
        ax.set_yticks(range(len(names)), list(reversed(names)))
        ax.set(
            xlabel="negative log-likelihood: a dot for each seed, their mean",
            xlim=(0, None),
            ylim=(-0.6, len(names) - 0.4),
        )
        ax.grid(axis="x")
    return cr.plots.save(figure, path, formats=["png"])[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture and the tables")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    found = main(args.out / "07_new_method", epochs=args.epochs, seeds=args.seeds, jobs=args.jobs)
    print(draw(found, args.out / "07_new_method"))
