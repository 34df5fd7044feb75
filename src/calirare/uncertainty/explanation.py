"""Which labels pull a prediction, and how far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from calirare.data.inputs import GraphInputs
from calirare.influence.jacobian import contrast_basis, make_jacobian
from calirare.influence.model import predict_logits
from calirare.uncertainty.jackknife import LeftOut, ToProbabilities


@dataclass(frozen=True)
class Explanation:
    """A table, strongest pull first.

    Args:
        node: The node explained.
        probability: Its P(rare).
        labelled_node: `(m,)` nodes whose labels pull.
        label: `(m,)` their classes.
        pull: `(m,)` P(rare) with the label minus P(rare) without it: positive pulls towards rare.
    """

    node: int
    probability: float
    labelled_node: np.ndarray
    label: np.ndarray
    pull: np.ndarray

    def __len__(self) -> int:
        return len(self.pull)

    def frame(self) -> dict[str, np.ndarray]:
        """The columns by name."""
        return {"labelled_node": self.labelled_node, "label": self.label, "pull": self.pull}


def explain_node(
    model: nn.Module,
    inputs: GraphInputs,
    left_out: LeftOut,
    to_probabilities: ToProbabilities,
    node: int,
    rare_class: int,
    *,
    node_by_node: bool = False,
) -> Explanation:
    """P(rare) of the node by the model, minus that by each left-out model, to first order in the parameters.

    `node_by_node`: the calibrator looks at the graph, so it wants the logits of all nodes, changed once per label.
    """
    jacobian = make_jacobian(model, inputs)
    logits = predict_logits(model, inputs).double()
    row = torch.cat(list(jacobian.rows(np.array([node]))))[0].double()
    basis = contrast_basis(logits.shape[1]).to(row)
    changes = torch.from_numpy(left_out.directions).to(row) @ row.T @ basis.T
    whole, changed = logits.cpu().numpy(), logits[node].cpu().numpy() + changes.cpu().numpy()
    probability = float(to_probabilities(whole)[node, rare_class])
    if node_by_node:
        without = np.array([_replaced(whole, node, row, to_probabilities)[rare_class] for row in changed])
    else:
        without = to_probabilities(changed)[:, rare_class]
    pull = probability - without
    order = np.argsort(-np.abs(pull), kind="stable")
    rows = left_out.rows[order]
    return Explanation(node, probability, left_out.nodes[rows], left_out.y[rows], pull[order])


def _replaced(logits: np.ndarray, node: int, changed: np.ndarray, to_probabilities: ToProbabilities) -> np.ndarray:
    """Probabilities `(C,)` of the node once its logits are replaced."""
    logits = logits.copy()
    logits[node] = changed
    return np.asarray(to_probabilities(logits)[node])
