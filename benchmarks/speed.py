"""Ratios of time on the benchmark graphs, each pair measured side by side in one run.

* epoch: one full-batch epoch of our GCN beside plain PyG's (`GCNConv(cached=True)`, dense features);
* calibrated: `fit(method="jackknife")` beside `fit(method="uncalibrated")` on the same labels;
* objective: one epoch of the `calirare` objective, influence refresh included, beside a plain epoch;
* cross_fit: `fit(method="jackknife")` beside `fit(method="cross_fit")`.

    python benchmarks/speed.py --datasets cora,citeseer,pubmed,dblp,facebook [--device cuda]
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable

import numpy as np
import torch
import torch_geometric
from ratios import Ratio, keep
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

import calirare as cr
from calirare.detectors import GCN, DetectorInputs, LabelledNodes
from calirare.detectors.networks.fitting.training import Training
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.estimator.methods import get_method


class PlainGCN(nn.Module):
    """The same two layers as anyone would write them with PyG."""

    def __init__(self, num_features: int, hidden: int = 16) -> None:
        super().__init__()
        self.first = GCNConv(num_features, hidden, cached=True)
        self.second = GCNConv(hidden, 2, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = torch.relu(self.first(x, edge_index))
        return self.second(nn.functional.dropout(hidden, 0.5, self.training), edge_index)


def synchronised(work: Callable[[], object], device: str) -> float:
    began = time.perf_counter()
    work()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - began


def interleaved(
    first: Callable[[], object], second: Callable[[], object], repeats: int, device: str
) -> tuple[float, float]:
    """Best time of each, the two taking turns so that a busy moment hits both."""
    first(), second()
    times = [(synchronised(first, device), synchronised(second, device)) for _ in range(repeats)]
    return min(a for a, _ in times), min(b for _, b in times)


def plain_training(
    graph: cr.RareGraph, nodes: np.ndarray, epochs: int, device: str, model: nn.Module | None = None
) -> Callable[[], None]:
    """Epochs as anyone would write them; default: of two of PyG's graph convolutions."""
    dense = graph.x if isinstance(graph.x, np.ndarray) else graph.x.toarray()
    x = torch.from_numpy(dense).to(device)
    edge_index = torch.from_numpy(graph.edge_index).to(device)
    model = (PlainGCN(graph.num_features) if model is None else model).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    index, y = torch.from_numpy(nodes).to(device), torch.from_numpy(graph.y[nodes]).to(device)
    weights = torch.from_numpy(node_weights(graph.y[nodes], 2)).float().to(device)

    def run() -> None:
        model.train()
        for _ in range(epochs):
            optimizer.zero_grad()
            losses = nn.functional.cross_entropy(model(x, edge_index)[index], y, reduction="none")
            (weights * losses).sum().backward()
            optimizer.step()

    return run


def our_training(
    graph: cr.RareGraph, inputs: DetectorInputs, nodes: np.ndarray, epochs: int, method: str
) -> Callable[[], object]:
    y = graph.y[nodes]
    labels = LabelledNodes(nodes, y, node_weights(y, 2), 2, groups=np.arange(len(nodes)))
    training = Training(get_method(method).objective, rests=False)  # epochs alone, as the other side has them
    return lambda: GCN(epochs=epochs).fit(inputs, labels, training=training)


def fit_of(method: str, graph: cr.RareGraph, split: cr.Split, device: str) -> Callable[[], object]:
    return lambda: cr.RareCategoryClassifier("gcn", method, device=device).fit(graph, split)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,dblp,facebook")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--ratios", help="file to append the ratios to")
    arguments = parser.parse_args()
    device, repeats, epochs = arguments.device, arguments.repeats, arguments.epochs
    print(
        f"calirare {cr.__version__}, torch {torch.__version__}, PyG {torch_geometric.__version__}, "
        f"{platform.machine()}, {torch.get_num_threads()} threads, device {device}"
    )
    print(
        f"{'graph':9s} | {'epoch ms':>8s} {'PyG ms':>8s} {'ratio':>6s} | {'calib. s':>8s} {'plain s':>8s} {'ratio':>6s} "
        f"| {'objective':>9s} | {'cross_fit s':>11s} {'ratio':>6s}"
    )
    for name in arguments.datasets.split(","):
        graph = cr.load_benchmark(name)
        split = cr.split_labels(graph, labels_per_class=20, seed=0)
        inputs = DetectorInputs(graph, device=device)
        ours, plain = interleaved(
            our_training(graph, inputs, split.train, epochs, "uncalibrated"),
            plain_training(graph, split.train, epochs, device),
            repeats,
            device,
        )
        everything = cr.Split(train=split.labelled)
        calibrated, uncalibrated = interleaved(
            fit_of("jackknife", graph, everything, device),
            fit_of("uncalibrated", graph, everything, device),
            repeats,
            device,
        )
        objective, cross_entropy = interleaved(
            our_training(graph, inputs, split.train, 100, "calirare"),
            our_training(graph, inputs, split.train, 100, "uncalibrated"),
            repeats,
            device,
        )
        retrained = synchronised(fit_of("cross_fit", graph, everything, device), device)
        print(
            f"{name:9s} | {1e3 * ours / epochs:8.2f} {1e3 * plain / epochs:8.2f} {ours / plain:6.2f} "
            f"| {calibrated:8.2f} {uncalibrated:8.2f} {calibrated / uncalibrated:6.2f} | {objective / cross_entropy:9.2f} "
            f"| {retrained:11.2f} {calibrated / retrained:6.2f}",
            flush=True,
        )
        most = 0.5 if name in ("citeseer", "facebook") else 1.0
        keep(
            [
                Ratio("an epoch / plain PyG", name, ours / epochs, plain / epochs, most),
                Ratio("calibrated fit / uncalibrated fit", name, calibrated, uncalibrated, 1.3),
                Ratio("an epoch of calirare / cross-entropy", name, objective / 100, cross_entropy / 100, 4.0),
                Ratio("jackknife fit / cross_fit fit", name, calibrated, retrained, 0.3),
            ],
            arguments.ratios,
        )


if __name__ == "__main__":
    main()
