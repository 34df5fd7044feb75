"""Your own graph and your own method in the paper's table, without touching calirare's files.

Run it:

    python examples/own_dataset_and_method.py my-results

It is the same as saving the graph and calling

    calirare benchmark --datasets none --dataset my_graph.npz \\
        --methods uncalibrated,temperature,jackknife \\
        --method examples/own_dataset_and_method.py:ShrunkLogits --out my-results
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch_geometric.data import Data

import calirare as cr
from calirare.benchmark import run_grid
from calirare.benchmark.pages import make_part, write_pages
from calirare.benchmark.planning import choose_entries, keep_graph, make_grid
from calirare.calibration import Calibrator


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


def main(folder: str | Path, *, epochs: int = 200, seeds: int = 3, jobs: int = -1) -> None:
    """Both in one small table: `results.md`, LaTeX, CSV and `index.html` in `folder`."""
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
    write_pages(results, folder, [make_part(results, "calibration", entries)], f"python {Path(__file__).name} {folder}")
    print(Path(folder, "results.md").read_text())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "my-results")
