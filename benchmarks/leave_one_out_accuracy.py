"""Leave-one-out by influence against real retraining on Cora.

The two-layer GCN of the paper without dropout is trained to convergence on the 140 public training labels. Then single
labels are taken out and the model is trained again to convergence, from the first model's parameters (`--cold`: from
the initial ones). Printed: Pearson correlation and relative error of the change of the left-out node's own logit, and
of the change of P(rare) over the 1000 test nodes, for one Newton step, plain influence, and influence with the damping
of the paper's published code.

    python benchmarks/leave_one_out_accuracy.py --left-out 70
"""

from __future__ import annotations

import argparse
import copy
import time

import numpy as np
import torch
from torch import nn

import calirare as cr
from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.influence.model import predict_logits

WEIGHT_DECAY = 5e-4
PUBLISHED_DAMPING = 1e-2
"""Added to the Hessian by the paper's published code."""


def converge(model: nn.Module, inputs: GraphInputs, nodes: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Minimise the weighted loss and the L2 penalty with L-BFGS; returns the norm of the gradient that is left."""
    index, target, scale = torch.from_numpy(nodes), torch.from_numpy(y), torch.from_numpy(weights)
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=3_000, tolerance_grad=1e-8, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(inputs)[index], target, reduction="none")
        penalty = sum(parameter.square().sum() for parameter in model.parameters())
        loss = (scale * losses).sum() + 0.5 * WEIGHT_DECAY * penalty
        loss.backward()
        return loss

    model.eval()
    optimizer.step(closure)
    closure()
    return float(torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()]).norm())


def start(model: nn.Module, inputs: GraphInputs, nodes: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
    """The 200 epochs of Adam that every training begins with."""
    index, target, scale = torch.from_numpy(nodes), torch.from_numpy(y), torch.from_numpy(weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=WEIGHT_DECAY)
    model.eval()
    for _ in range(200):
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(inputs)[index], target, reduction="none")
        (scale * losses).sum().backward()
        optimizer.step()


def compare(predicted: np.ndarray, real: np.ndarray) -> str:
    correlation = np.corrcoef(predicted.ravel(), real.ravel())[0, 1]
    error = np.linalg.norm(predicted - real) / np.linalg.norm(real)
    return f"{correlation:7.3f}  {error:9.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", type=int, default=70)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    graph = cr.load_benchmark("cora")
    split = cr.split_labels(graph, labels_per_class=20)
    inputs = GraphInputs(graph, dtype=torch.float64)
    nodes, y = split.train, graph.y[split.train]
    weights = node_weights(y, 2)
    torch.manual_seed(arguments.seed)
    model = GCNBackbone(graph.num_features, 2, dropout=0.0).double()
    initial = copy.deepcopy(model)
    start(model, inputs, nodes, y, weights)
    print(f"gradient left after training: {converge(model, inputs, nodes, y, weights):.1e}")

    engines = {
        "Newton step": LeaveOneOut(model, inputs, nodes, y, weights, WEIGHT_DECAY),
        "plain influence": LeaveOneOut(model, inputs, nodes, y, weights, WEIGHT_DECAY, step="influence"),
        "influence, published damping": LeaveOneOut(
            model, inputs, nodes, y, weights, WEIGHT_DECAY + PUBLISHED_DAMPING, step="influence"
        ),
    }
    rows = np.random.default_rng(arguments.seed).permutation(len(nodes))[: arguments.left_out]
    before = predict_logits(model, inputs)
    probability = before.softmax(1)[:, 1].numpy()
    real_own, real_test = [], []
    began = time.perf_counter()
    for row in rows:
        keep = np.delete(np.arange(len(nodes)), row)
        again = copy.deepcopy(initial if arguments.cold else model)
        if arguments.cold:
            start(again, inputs, nodes[keep], y[keep], weights[keep])
        converge(again, inputs, nodes[keep], y[keep], weights[keep])
        after = predict_logits(again, inputs)
        change = (after - before)[nodes[row]]
        real_own.append(float(change[1] - change[0]))
        real_test.append(after.softmax(1)[split.test, 1].numpy() - probability[split.test])
    print(f"{len(rows)} labels left out and retrained in {time.perf_counter() - began:.0f} s")
    print(f"{'':30s}  left-out node's logit   P(rare) of 1000 test nodes")
    print(f"{'':30s}  Pearson  rel.error      Pearson  rel.error")
    for name, engine in engines.items():
        own = (engine.left_out_logits - engine.logits[engine.index]).numpy()[rows]
        blocks = [block for _, block in engine.changes(rows, split.test)]
        shifted = (before[split.test][:, None] + torch.cat(blocks, dim=1)).softmax(2)[:, :, 1].numpy().T
        test = shifted - probability[split.test]
        print(
            f"{name:30s}  {compare(own[:, 1] - own[:, 0], np.array(real_own))}      {compare(test, np.array(real_test))}"
        )


if __name__ == "__main__":
    main()
