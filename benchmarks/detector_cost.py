"""What detectors cost beside each other, in CPU seconds of one run, a tenth of the nodes labelled.

* auto / gcn and linear / gcn: `fit` of the classifier, columns and calibration included;
* evidence / training: of each network, left-out logits beside the training that they are about, and whether one step
  spoke for them or refits in folds; of the linear detector, beside all else of its fit, columns included;
* epoch / PyG: one epoch of each backbone beside the same layers as anyone would write them with PyG on dense features.

    python benchmarks/detector_cost.py --graphs cora,citeseer,pubmed,dblp,facebook,tolokers,reddit [--networks gcn,sage,gin,gat]
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from against_scikit_learn import GRAPHS, load, tenth
from ratios import Ratio, keep
from speed import plain_training
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

import calirare as cr
from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.detectors.linear import Linear
from calirare.detectors.networks.evidence import FoldEvidence
from calirare.detectors.networks.fitting.training import Training
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.network import Network
from calirare.detectors.registry import make_detector
from calirare.detectors.regression import fitted as regression
from calirare.detectors.regression.fitted import leave_out


class Plain(nn.Module):
    """Two of PyG's layers with 16 hidden units."""

    def __init__(self, kind: str, num_features: int) -> None:
        super().__init__()
        width = 64 if kind == "gat" else 16
        self.first, self.second = _layer(kind, num_features, 16, heads=4), _layer(kind, width, 2, heads=1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = torch.relu(self.first(x, edge_index))
        out: Tensor = self.second(nn.functional.dropout(hidden, 0.5, self.training), edge_index)
        return out


def _layer(kind: str, size: int, out: int, heads: int) -> nn.Module:
    if kind == "gin":
        return GINConv(nn.Sequential(nn.Linear(size, 16), nn.ReLU(), nn.Linear(16, out)))
    if kind == "gat":
        return GATConv(size, out, heads=heads)
    return SAGEConv(size, out) if kind == "sage" else GCNConv(size, out, cached=True)


def seconds(work: Callable[[], object]) -> float:
    gc.collect()  # else a pass over all that was imported may fall into the time
    began = time.process_time()
    work()
    return time.process_time() - began


def classifiers(name: str, graph: cr.RareGraph, split: cr.Split, kinds: tuple[str, ...]) -> list[Ratio]:
    found = {}
    for kind in ("gcn", *kinds):
        clf = cr.RareCategoryClassifier(kind, device="cpu")
        found[kind] = seconds(lambda clf=clf: clf.fit(graph, split))  # type: ignore[misc]
    most = {"auto": 3.0, "linear": 0.1}
    return [Ratio(f"{kind} / gcn, fit and calibrate", name, found[kind], found["gcn"], most[kind]) for kind in kinds]


def linear_evidence(name: str, graph: cr.RareGraph, nodes: np.ndarray) -> Ratio:
    spent = list[float]()

    def timed(*given: Any) -> Any:
        began = time.process_time()
        found = leave_out(*given)
        spent.append(time.process_time() - began)
        return found

    with patch.object(regression, "leave_out", timed):
        whole = seconds(lambda: Linear().fit(DetectorInputs(graph), labelled(graph, nodes)))
    if not spent:
        raise RuntimeError("no label was left out")
    return Ratio("linear: evidence / training", name, sum(spent), whole - sum(spent), 0.15)


def labelled(graph: cr.RareGraph, nodes: np.ndarray) -> LabelledNodes:
    y = graph.y[nodes]
    return LabelledNodes(nodes, y, node_weights(y, 2), 2, np.arange(len(nodes)))


def networks(name: str, graph: cr.RareGraph, nodes: np.ndarray, kinds: list[str], epochs: int) -> list[Ratio]:
    labels = labelled(graph, nodes)
    inputs, found = DetectorInputs(graph), []
    for kind in kinds:
        made = make_detector(kind)
        assert isinstance(made, Network)
        made.set_params(epochs=1).fit(inputs, labels, training=Training(rests=False))  # the matrices are made once
        made.set_params(epochs=epochs)
        ours = seconds(lambda made=made: made.fit(inputs, labels, training=Training(rests=False)))  # type: ignore[misc]
        plain = seconds(plain_training(graph, labels.nodes, epochs, "cpu", Plain(kind, graph.num_features)))
        found.append(Ratio(f"{kind}: epoch / PyG", name, ours / epochs, plain / epochs, 0.7))
        trained = make_detector(kind)
        training = seconds(lambda trained=trained: trained.fit(inputs, labels))  # type: ignore[misc]
        evidence = seconds(trained.left_out_logits)
        way = "folds" if isinstance(trained.evidence_, FoldEvidence) else "one step"  # type: ignore[attr-defined]
        most = 0.15 if kind == "gcn" else 0.3
        found.append(Ratio(f"{kind}: evidence ({way}) / training", name, evidence, training, most))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--networks", default="gcn,sage,gin,gat", help="empty: none")
    parser.add_argument("--classifiers", default="linear,auto", help="beside the gcn; empty: none")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ratios", help="file to append the ratios to")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    threadpool_limits(arguments.threads)  # threads that wait for work would be counted too
    for name in arguments.graphs.split(","):
        graph = load(name)
        split = tenth(graph, 0, 0.1)
        found: list[Ratio] = []
        if arguments.networks:
            found += networks(name, graph, split.train, arguments.networks.split(","), arguments.epochs)
        if "linear" in arguments.classifiers.split(","):
            found.append(linear_evidence(name, graph, split.train))
        if arguments.classifiers:
            found += classifiers(name, graph, split, tuple(arguments.classifiers.split(",")))
        for one in found:
            ratio = one.ours / one.beside
            above = "  above" if ratio > one.most else ""
            print(f"{name:10s} {one.what:36s} {one.ours:8.3f} / {one.beside:8.3f} s = {ratio:5.2f}{above}", flush=True)
        keep(found, arguments.ratios)


if __name__ == "__main__":
    main()
