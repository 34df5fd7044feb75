"""The detectors that read columns, side by side: what they find, how likely, how honest, how dear.

A tenth of the known labels, drawn per class, the rest to judge by. Left-out logits go through a Platt map; with it the
table gives average precision and negative log-likelihood (NLL) on the test nodes, the NLL that the left-out labels
promised, and how many of its standard errors the promise is off.

    python benchmarks/detectors.py --datasets cora,tolokers --detectors linear,forest,boosting --seeds 3

Labels that mean nothing have a script of their own: `random_labels.py`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import calirare as cr
from calirare.calibration.scaling import PlattScaling
from calirare.data.catalogue.benchmarks import data_folder
from calirare.detectors.base import Detector, DetectorInputs, LabelledNodes
from calirare.detectors.boosting import Boosting
from calirare.detectors.forest import Forest
from calirare.detectors.linear import Linear
from calirare.features.recipe import ColumnRecipe

DETECTORS: dict[str, type[Detector]] = {kind.name: kind for kind in (Linear, Forest, Boosting)}  # type: ignore[type-abstract]
NOT_IN_THE_CATALOGUE = ("tolokers", "reddit")


def read(name: str) -> cr.RareGraph:
    if name in NOT_IN_THE_CATALOGUE:
        return cr.RareGraph.load(Path(data_folder()) / f"{name}.npz")
    return cr.load_benchmark(name)


def draw(graph: cr.RareGraph, seed: int, share: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Labelled and test nodes."""
    rng, known, labelled = np.random.default_rng(seed), graph.known, []
    for label in np.unique(graph.y[known]):
        nodes = rng.permutation(known[graph.y[known] == label])
        labelled.append(nodes[: max(3, round(share * len(nodes)))])
    nodes = np.sort(np.concatenate(labelled))
    return nodes, np.setdiff1d(known, nodes)


def labels_of(graph: cr.RareGraph, nodes: np.ndarray, y: np.ndarray) -> LabelledNodes:
    weights = 1.0 / np.bincount(y, minlength=graph.num_classes)[y]
    return LabelledNodes(nodes, y, weights / weights.sum(), graph.num_classes, np.arange(len(nodes)))


def surprise(probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(probabilities[np.arange(len(y)), y], 1e-12))


def measure(kind: str, inputs: DetectorInputs, seed: int) -> np.ndarray:
    """Average precision, test NLL, left-out NLL, its error in standard errors, seconds of CPU to fit."""
    graph = inputs.graph
    nodes, test = draw(graph, seed)
    labels, start = labels_of(graph, nodes, graph.y[nodes]), time.process_time()
    detector = DETECTORS[kind]().fit(inputs, labels, seed=seed)
    seconds = time.process_time() - start
    left_out = detector.left_out_logits()
    platt = PlattScaling().fit(left_out, labels.y)
    promised = surprise(platt.predict_proba(left_out), labels.y)
    found = platt.predict_proba(detector.logits(inputs))[test]
    kept = surprise(found, graph.y[test]).mean()
    rare = graph.rare_class
    precision = 100 * average_precision_score(graph.y[test] == rare, found[:, rare])
    off = (promised.mean() - kept) / (promised.std() / np.sqrt(len(promised)))
    return np.array([precision, kept, promised.mean(), off, seconds])


def compare(names: list[str], kinds: list[str], seeds: int) -> None:
    print(f"{'graph':9s} {'detector':9s} {'AP':>5s} {'NLL':>7s} {'left-out':>8s} {'off (se)':>8s} {'CPU s':>6s}")
    for name in names:
        graph = read(name)
        inputs = DetectorInputs(graph, ColumnRecipe.learn(graph))
        for kind in kinds:
            rows = np.stack([measure(kind, inputs, seed) for seed in range(seeds)])
            precision, kept, promised, off, seconds = rows.mean(axis=0)
            print(
                f"{name:9s} {kind:9s} {precision:5.1f} {kept:7.4f} {promised:8.4f} {off:8.1f} {seconds:6.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,facebook,tolokers,reddit")
    parser.add_argument("--detectors", default=",".join(DETECTORS))
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    kinds = arguments.detectors.split(",")
    compare(arguments.datasets.split(","), kinds, arguments.seeds)


if __name__ == "__main__":
    main()
