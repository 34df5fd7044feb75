"""Left-out logits against real retraining for the default training: 200 epochs with dropout, stopped short of the optimum.

For each graph some rare labels are left out by the engine, with λ = the weight decay and with λ = the weight decay plus
what stopping early acts like (`History.stopping_decay`), and by retraining from the same seed. Printed: the second λ in
units of the weight decay, and for both the slope and correlation of the real change of the node's logit on the
predicted one. A slope below one means that the engine exaggerates.

    python benchmarks/stopping_early.py --labels 30 --seeds 2
"""

from __future__ import annotations

import argparse

import numpy as np

import calirare as cr
from calirare.fitting import TrainedBackbone
from calirare.influence import LeaveOneOut
from calirare.methods import get_method


def changes(trained: TrainedBackbone, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Change of P(rare)'s logit of these rows: by retraining, by the engine, by the engine with weight decay alone."""
    labels = trained.labels
    before = trained.logits[labels.train_nodes[rows]]
    everyone = np.arange(len(labels.train_nodes))
    retrained = [
        trained.retrain(get_method("jackknife"), np.delete(everyone, row), 0)[labels.train_nodes[row]] for row in rows
    ]
    alone = LeaveOneOut(
        trained.model,
        trained.inputs,
        labels.train_nodes,
        labels.train_y,
        trained.weights,
        trained.settings.weight_decay,
    )
    found = (np.stack(retrained), trained.leave_one_out().left_out_logits[rows], alone.left_out_logits[rows])
    real, ours, plain = (np.diff(np.asarray(logits) - before)[:, 0] for logits in found)
    return real, ours, plain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,transactions")
    parser.add_argument("--labels", type=int, default=30, help="rare labels left out of each training")
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{'graph':14s} {'λ / decay':>9s}   slope, correlation with it   with the weight decay alone")
    for name in arguments.datasets.split(","):
        ratios, parts = [], []
        for seed in range(arguments.seeds):
            made = name == "transactions"
            graph = cr.make_transactions(seed=seed) if made else cr.load_benchmark(name)
            split = None if made else cr.split_labels(graph, labels_per_class=20, seed=seed)
            trained = cr.RareCategoryClassifier(seed=seed, device="cpu").train_backbone(graph, split)
            ratios.append(trained.leave_one_out().damping / trained.settings.weight_decay)
            rare = np.flatnonzero(trained.labels.train_y == graph.rare_class)
            parts.append(changes(trained, np.random.default_rng(seed).permutation(rare)[: arguments.labels]))
        real, *predicted = (np.concatenate(part) for part in zip(*parts, strict=True))
        shown = [f"{real @ p / (p @ p):8.2f} {np.corrcoef(real, p)[0, 1]:8.2f}" for p in predicted]
        print(f"{name:14s} {np.mean(ratios):9.2f}   {shown[0]}            {shown[1]}", flush=True)


if __name__ == "__main__":
    main()
