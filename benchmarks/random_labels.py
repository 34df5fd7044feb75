"""Labels that mean nothing: how well are they told apart by what is said of each without it? 0.5 is honest.

2,000 nodes with normal columns and random edges, three of ten labels rare, drawn again for every seed. For each number of
columns and labels and each detector: the mean over seeds of the left-out ROC-AUC, and its standard error. Few labels
scatter more, so they are drawn more often (`--draws` labels in all). `auto` is judged by its calibrated left-out
probabilities, the others by their left-out logits. With `--out`, cells that the file holds already are not run again.

    python benchmarks/random_labels.py --detectors linear,forest,boosting,spreading --jobs 2 --out random.jsonl
    python benchmarks/random_labels.py --detectors gcn,gat,gin,sage,auto --jobs 16 --out random.jsonl
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch
from cells import Cell, run_cells
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import calirare as cr
from calirare.calibration.base import target_shares
from calirare.calibration.stack import StackScaling, left_out_probabilities
from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.detectors.left_out.folds import fold_numbers
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.registry import make_detector
from calirare.features.recipe import ColumnRecipe

NUM_NODES, SHARE = 2_000, 0.3
DETECTORS = "linear,forest,boosting,spreading,gcn,gat,gin,sage,auto"


def inputs_of(columns: int, device: str) -> DetectorInputs:
    rng = np.random.default_rng(columns)
    graph = cr.RareGraph(
        x=rng.standard_normal((NUM_NODES, columns)).astype(np.float32),
        edge_index=rng.integers(0, NUM_NODES, (2, 3 * NUM_NODES)),
        y=np.arange(NUM_NODES) % 2,
    )
    return DetectorInputs(graph, ColumnRecipe.learn(graph), device=device)


def random_labels(count: int, seed: int) -> LabelledNodes:
    rng = np.random.default_rng([seed, count])
    y = (rng.permutation(count) < SHARE * count).astype(np.int64)
    nodes = np.sort(rng.permutation(NUM_NODES)[:count])
    return LabelledNodes(nodes, y, node_weights(y, 2), 2, np.arange(count))


def area(what: str, columns: int, count: int, seed: int, device: str) -> float:
    """Left-out ROC-AUC of one draw of labels."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        labels = random_labels(count, seed)
        left_out = make_detector(what).fit(inputs_of(columns, device), labels, seed=seed).left_out_logits()
        if what == "auto":
            fold, shares = fold_numbers(labels, seed, num_folds=10), target_shares(labels.y, 2)
            left_out = left_out_probabilities(StackScaling, left_out, labels.y, shares, fold)
    return float(roc_auc_score(labels.y, left_out[:, 1] - left_out[:, 0]))


def show(known: dict[Cell, float], kinds: list[str]) -> None:
    print(f"{'columns':>7s} {'labels':>6s} " + " ".join(f"{kind:>13s}" for kind in kinds))
    for columns, count in sorted({cell[1:3] for cell in known}):
        texts = []
        for kind in kinds:
            found = [value for cell, value in known.items() if cell[:3] == (kind, columns, count)]
            error = np.std(found) / np.sqrt(len(found)) if found else np.nan
            texts.append(f"{np.mean(found):.3f} ± {error:.3f}" if found else f"{'':13s}")
        print(f"{columns:7d} {count:6d} " + " ".join(texts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--detectors", default=DETECTORS)
    parser.add_argument("--columns", default="5,50,500")
    parser.add_argument("--labels", default="50,200,1000")
    parser.add_argument("--draws", type=int, default=2_000, help="labels drawn per cell, over all seeds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="of the networks: cpu or cuda")
    parser.add_argument("--out", type=Path, help="JSON Lines, appended to and read first")
    arguments = parser.parse_args()
    kinds = arguments.detectors.split(",")
    wanted = [
        (kind, int(columns), int(count), seed)
        for columns in arguments.columns.split(",")
        for kind in kinds
        for count in arguments.labels.split(",")
        for seed in range(max(4, -(-arguments.draws // int(count))))
    ]
    show(run_cells(area, wanted, jobs=arguments.jobs, out=arguments.out, device=arguments.device), kinds)


if __name__ == "__main__":
    main()
