"""Is what a detector says of its labels without them what refits say?

For each graph, network and weight decay: negative log-likelihood and ROC-AUC of the left-out logits after a Platt map, as the
product gathers them and as ten-fold refits give them, with the standard error of the latter, and beside them the loss of all
other nodes under the same map: what left-out evidence stands for, which refits with a tenth fewer labels overstate. Refits
are read as they are and in the units of what each says of nodes without a label, whichever makes the labels likelier: one that
chose another penalty speaks in other units, and one map for all of them would count that as error. Beside real graphs with a tenth labelled, random labels on dense columns
(`random:50:200` is 50 columns and 200 labels), where every honest ROC-AUC is 0.5.

    python benchmarks/left_out_evidence.py --graphs cora,citeseer,random:50:200 --detectors gcn,gin --jobs 2
    python benchmarks/left_out_evidence.py --graphs cora,citeseer,pubmed,dblp,facebook,tolokers,reddit --jobs 16 --out evidence.jsonl

With `--out`, cells that the file holds already are not run again.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch
from against_scikit_learn import load, tenth
from cells import run_cells
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import calirare as cr
from calirare.calibration.scaling import PlattScaling
from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.detectors.left_out.folds import fold_numbers, folds
from calirare.detectors.networks.evidence import FoldEvidence
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.network import Network
from calirare.detectors.registry import make_detector
from calirare.features.copies import find_copies

DECAYS = (5e-4, 5e-3)


def make_case(name: str, seed: int) -> tuple[cr.RareGraph, np.ndarray]:
    if not name.startswith("random:"):
        graph = load(name)
        return graph, tenth(graph, seed, 0.1).train
    columns, labels = (int(part) for part in name.split(":")[1:])
    rng, nodes = np.random.default_rng(seed), 2_000
    graph = cr.RareGraph(
        x=rng.normal(size=(nodes, columns)).astype(np.float32),
        edge_index=rng.integers(0, nodes, (2, 3 * nodes)),
        y=(rng.random(nodes) < 0.2).astype(np.int64),
    )
    return graph, np.sort(rng.permutation(nodes)[:labels])


def judge(logits: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Mean loss after a Platt map, its standard error, and the ROC-AUC."""
    loss = loss_after(logits, y, logits, y)
    return float(loss.mean()), float(loss.std() / np.sqrt(len(y))), float(roc_auc_score(y, logits[:, 1] - logits[:, 0]))


def loss_after(logits: np.ndarray, y: np.ndarray, new_logits: np.ndarray, new_y: np.ndarray) -> np.ndarray:
    """Loss of each new label under the Platt map of the others."""
    p = PlattScaling().fit(logits, y).predict_proba(new_logits)[np.arange(len(new_y)), new_y]
    return np.asarray(-np.log(np.clip(p, 1e-12, 1)))


def in_common_units(logits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """`(N, 2)` logits whose differences, over nodes without a label, have median 0 and 1 between the first and last tenth."""
    scores = logits[:, 1] - logits[:, 0]
    low, middle, high = np.quantile(scores[others], [0.1, 0.5, 0.9])
    scores = (scores - middle) / max(high - low, 1e-12)
    return np.stack([-scores / 2, scores / 2], axis=1)


def run(name: str, what: str, decay: float | None, seed: int, device: str) -> str:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        graph, nodes = make_case(name, seed)
        y = graph.y[nodes]
        labels = LabelledNodes(nodes, y, node_weights(y, 2), 2, find_copies(graph, nodes))
        inputs = DetectorInputs(graph, device=device)
        detector = make_detector(what)
        if decay is not None:
            detector.set_params(weight_decay=decay)
        detector.fit(inputs, labels, seed=seed)
        found = judge(detector.left_out_logits(), y)
        way = ""
        if isinstance(detector, Network):
            way = "folds" if isinstance(detector.evidence_, FoldEvidence) else "step"
        others = np.setdiff1d(np.arange(graph.num_nodes), nodes)
        rest = np.intersect1d(graph.known, others)
        tested = loss_after(detector.left_out_logits(), y, detector.logits(inputs)[rest], graph.y[rest])
        fold = fold_numbers(labels, seed, num_folds=10)
        assert fold is not None
        as_they_are, in_units = np.empty((len(y), 2)), np.empty((len(y), 2))
        for _, kept, left in folds(fold):
            again = make_detector(detector).fit(inputs, labels.take(kept), seed=seed)
            logits = again.logits(inputs)
            as_they_are[left], in_units[left] = logits[nodes[left]], in_common_units(logits, others)[nodes[left]]
        wanted = min(judge(as_they_are, y), judge(in_units, y))
    return _line(name, what, decay, way, found, wanted, float(tested.mean()))


def _line(
    name: str,
    what: str,
    decay: float | None,
    way: str,
    found: tuple[float, float, float],
    wanted: tuple[float, float, float],
    tested: float,
) -> str:
    off = 100 * (found[0] / wanted[0] - 1)
    fine = abs(found[0] - wanted[0]) <= max(0.05 * wanted[0], wanted[1])
    return (
        f"{name:18s} {what:9s} {'' if decay is None else f'{decay:g}':7s} {way:6s} NLL {found[0]:.4f}, refits {wanted[0]:.4f} "
        f"± {wanted[1]:.4f} ({off:+.1f}%{'' if fine else ', OFF'})  test {tested:.4f}  "
        f"ROC-AUC {found[2]:.2f}, refits {wanted[2]:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="cora,citeseer,tolokers,reddit,random:5:200,random:50:200,random:500:200")
    parser.add_argument("--detectors", default="gcn,gat,gin,sage,linear,forest,boosting,spreading")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="of the networks: cpu or cuda")
    parser.add_argument("--out", type=Path, help="JSON Lines of cells and their text, appended to and read first")
    arguments = parser.parse_args()
    tasks = [
        (name, what, decay, seed)
        for name in arguments.graphs.split(",")
        for what in arguments.detectors.split(",")
        for decay in (DECAYS if isinstance(make_detector(what), Network) else (None,))
        for seed in range(arguments.seeds)
    ]
    for line in run_cells(run, tasks, jobs=arguments.jobs, out=arguments.out, device=arguments.device).values():
        print(line)


if __name__ == "__main__":
    main()
