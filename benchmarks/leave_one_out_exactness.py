"""Dual, primal and iterative leave-one-out against brute force in float64, for every network.

Brute force forms the whole Jacobian, removes each label from the Gauss-Newton matrix and solves. Printed: the largest
absolute difference of the centred left-out logits, for two and for four classes.

    python benchmarks/leave_one_out_exactness.py
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.detectors import GAT, GCN, GIN, SAGE
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut

DAMPING = 1e-2


def random_graph(rng: np.random.Generator, num_classes: int, num_nodes: int = 30, num_features: int = 7) -> RareGraph:
    features = sp.random_array((num_nodes, num_features), density=0.4, rng=rng, format="csr")
    edges = np.array(np.nonzero(rng.random((num_nodes, num_nodes)) < 0.12))
    names = tuple(str(c) for c in range(num_classes))
    return RareGraph(x=features, edge_index=edges, y=rng.integers(0, num_classes, num_nodes), class_names=names)


def brute_force(model: nn.Module, inputs: GraphInputs, nodes: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Tensor:
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    model.eval()
    logits = functional_call(model, parameters, (inputs,))
    pieces = jacrev(lambda values: functional_call(model, values, (inputs,)))(parameters)
    jacobian = torch.cat([piece.reshape(*logits.shape, -1) for piece in pieces.values()], dim=2)
    p = logits.softmax(1)
    curvature = [w * (torch.diag(p[v]) - torch.outer(p[v], p[v])) for v, w in zip(nodes, weights, strict=True)]
    whole = DAMPING * torch.eye(jacobian.shape[2], dtype=torch.float64)
    for v, block in zip(nodes, curvature, strict=True):
        whole += jacobian[v].T @ block @ jacobian[v]
    result = []
    for row, v in enumerate(nodes):
        target = nn.functional.one_hot(torch.tensor(y[row]), logits.shape[1]).double()
        without = whole - jacobian[v].T @ curvature[row] @ jacobian[v]
        shift = torch.linalg.solve(without, jacobian[v].T @ (weights[row] * (p[v] - target)))
        result.append(logits[v] + jacobian[v] @ shift)
    return torch.stack(result).detach()


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'classes':>7s} {'network':>9s} {'dual':>9s} {'primal':>9s} {'iterative':>9s}")
    for num_classes in (2, 4):
        graph = random_graph(rng, num_classes)
        inputs = GraphInputs(graph, dtype=torch.float64)
        nodes, weights = np.arange(12), rng.random(12)
        weights /= weights.sum()
        for network in (GCN, GAT, GIN, SAGE):
            torch.manual_seed(1)
            model = network(hidden=5).make(graph.num_features, num_classes).double()
            expected = brute_force(model, inputs, nodes, graph.y[nodes], weights)
            differences = []
            for solver in ("dual", "primal", "iterative"):
                engine = LeaveOneOut(model, inputs, nodes, graph.y[nodes], weights, DAMPING, solver=solver)
                difference = engine.left_out_logits - expected
                differences.append(float((difference - difference.mean(1, keepdim=True)).abs().max()))
            print(f"{num_classes:7d} {network.name:>9s} " + " ".join(f"{value:9.1e}" for value in differences))


if __name__ == "__main__":
    main()
