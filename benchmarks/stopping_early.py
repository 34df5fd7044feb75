"""Left-out logits against real retraining for the default training, which stops after 200 epochs.

For each graph some rare labels are left out by the engine and by retraining from the same seed. Printed are slope and
correlation of the real change of the node's logit on the predicted one, for

* the default: λ = the weight decay plus what stopping early acts like (`History.stopping_decay`), printed in units of
  the weight decay, and training that settles, its last quarter without dropout;
* the same training, λ = the weight decay alone;
* dropout to the last epoch, as in the paper.

A slope below one means that the engine exaggerates, one above it that it understates.

    python benchmarks/stopping_early.py --labels 30 --seeds 2
"""

from __future__ import annotations

import argparse

import numpy as np

import calirare as cr
from calirare.estimator.labels import TrainedBackbone
from calirare.estimator.methods import get_method
from calirare.influence.leave_one_out import LeaveOneOut


def train(name: str, seed: int, **options: float) -> TrainedBackbone:
    """The default training on the paper's split, or on a generated network."""
    made = name == "transactions"
    graph = cr.make_transactions(seed=seed) if made else cr.load_benchmark(name)
    split = None if made else cr.split_labels(graph, labels_per_class=20, seed=seed)
    return cr.RareCategoryClassifier(seed=seed, device="cpu", **options).fit_detector(graph, split)


def some_rare_rows(trained: TrainedBackbone, seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.flatnonzero(trained.labels.train_y == 1))[:count]


def real_change(trained: TrainedBackbone, rows: np.ndarray) -> np.ndarray:
    """Change of these rows' own logit when each is left out of a retraining."""
    nodes = trained.labels.train_nodes
    everyone = np.arange(len(nodes))
    retrained = [trained.retrain(get_method("jackknife"), np.delete(everyone, row), 0)[nodes[row]] for row in rows]
    return np.asarray(np.diff(np.stack(retrained) - trained.logits[nodes[rows]])[:, 0])


def predicted_change(engine: LeaveOneOut, rows: np.ndarray) -> np.ndarray:
    changes = engine.left_out_logits[rows] - engine.logits[engine.index[rows]]
    return np.asarray(np.diff(changes.cpu().numpy())[:, 0])


def with_weight_decay_alone(trained: TrainedBackbone) -> LeaveOneOut:
    labels = trained.labels
    return LeaveOneOut(
        trained.model,
        trained.inputs,
        labels.train_nodes,
        labels.train_y,
        trained.weights,
        trained.settings.weight_decay,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,transactions")
    parser.add_argument("--labels", type=int, default=30, help="rare labels left out of each training")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    arguments = parser.parse_args()
    print(f"{'graph':14s} {'λ / decay':>9s} {'settled':>16s} {'decay alone':>16s} {'dropout to the end':>20s}")
    for name in arguments.datasets.split(","):
        ratios, pairs = [], []
        for seed in range(arguments.seeds):
            decay = arguments.weight_decay
            settled = train(name, seed, weight_decay=decay)
            noisy = train(name, seed, weight_decay=decay, settle=0.0)
            rows = some_rare_rows(settled, seed, arguments.labels)
            engine, real = settled.leave_one_out(), real_change(settled, rows)
            ratios.append(engine.damping / settled.settings.weight_decay)
            pairs.append([
                (real, predicted_change(engine, rows)),
                (real, predicted_change(with_weight_decay_alone(settled), rows)),
                (real_change(noisy, rows), predicted_change(noisy.leave_one_out(), rows)),
            ])  # fmt: skip
        shown = []
        for column in zip(*pairs, strict=True):
            real, predicted = (np.concatenate(part) for part in zip(*column, strict=True))
            slope, correlation = real @ predicted / (predicted @ predicted), np.corrcoef(real, predicted)[0, 1]
            shown.append(f"{slope:8.2f} {correlation:7.2f}")
        print(f"{name:14s} {np.mean(ratios):9.2f} {shown[0]} {shown[1]} {'':3s} {shown[2]}", flush=True)


if __name__ == "__main__":
    main()
