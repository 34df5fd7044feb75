"""CaGCN: a temperature for every node, by a small graph convolutional network on the logits."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from scipy.special import softmax
from torch import Tensor

from calirare.calibration.base import Calibrator
from calirare.data.inputs import GraphInputs
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.fitting.loop import seeded
from calirare.detectors.networks.fitting.optimizers import minimise

_LOG_OFFSET = torch.tensor(1.1, dtype=torch.float64).log()


class CaGCN(Calibrator):
    """z'_v = z_v · t_v with t = log(exp(g) + 1.1) and g = Â relu(Â z W₁ + b₁) w₂ + b₂ a two-layer GCN.

    It minimises, over the calibration nodes with weights w_i, the sharpened p' = softmax(z') having a largest entry
    p'₁ and a second p'₂,

        Σ_i w_i [ -log p'_i[y_i] + margin · (1 - p'₁ + p'₂ where the prediction is right, p'₁ - p'₂ where wrong) ] .

    Every t_v is positive, so no prediction changes. Source: key `wang2021`.

    Args:
        hidden: Units of the hidden layer.
        dropout: Share of hidden units dropped while fitting.
        epochs: Steps of Adam.
        lr: Its learning rate.
        weight_decay: Its L2 penalty.
        margin: Weight of the second term.
        seed: Of the first weights and of dropout.
    """

    needs_graph = True

    def __init__(
        self,
        hidden: int = 16,
        dropout: float = 0.5,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-3,
        margin: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.margin = margin
        self.seed = seed

    def _fit_on_graph(
        self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray, nodes: np.ndarray, graph: GraphInputs
    ) -> None:
        # Â z does not change while fitting, and only the calibration nodes' neighbours reach the loss.
        rows = graph.normalized.csr[nodes]
        neighbours, columns = np.unique(rows.indices, return_inverse=True)
        local = SparseMatrix(sp.csr_array((rows.data, columns, rows.indptr), shape=(len(nodes), len(neighbours))))
        smoothed = torch.from_numpy(graph.normalized.csr[neighbours] @ logits)
        own, classes, share = (torch.from_numpy(one) for one in (logits[nodes], y.astype(np.int64), weights))
        with seeded(self.seed):
            parameters = self._first_parameters(logits.shape[1])
            first, first_bias, second, second_bias = parameters

            def loss() -> Tensor:
                units = F.dropout(torch.relu(smoothed @ first + first_bias), self.dropout)
                sharpness = torch.logaddexp(local @ (units @ second) + second_bias, _LOG_OFFSET)
                return self._loss(own * sharpness, classes, share)

            minimise(loss, parameters, steps=self.epochs, lr=self.lr, weight_decay=self.weight_decay)
        arrays = [parameter.detach().numpy() for parameter in parameters]
        self.first_weight_, self.first_bias_, self.second_weight_, self.second_bias_ = arrays

    def _first_parameters(self, num_classes: int) -> list[Tensor]:
        first = torch.nn.init.xavier_uniform_(torch.empty(num_classes, self.hidden, dtype=torch.float64))
        second = torch.nn.init.xavier_uniform_(torch.empty(self.hidden, 1, dtype=torch.float64))
        biases = torch.zeros(self.hidden, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
        return [parameter.requires_grad_() for parameter in (first, biases[0], second, biases[1])]

    def _loss(self, scaled: Tensor, y: Tensor, weights: Tensor) -> Tensor:
        likelihood = F.cross_entropy(scaled, y, reduction="none")
        top = scaled.softmax(dim=1).topk(2, dim=1).values
        lead = top[:, 0] - top[:, 1]
        right = scaled.argmax(dim=1) == y
        return (weights * (likelihood + self.margin * torch.where(right, 1 - lead, lead))).sum()

    def _predict_on_graph(self, logits: np.ndarray, graph: GraphInputs) -> np.ndarray:
        return softmax(logits * self.sharpness(logits, graph)[:, None], axis=1)

    def sharpness(self, logits: np.ndarray, graph: GraphInputs) -> np.ndarray:
        """t `(N,)`: what the logits of each node are multiplied by."""
        propagation = graph.normalized.csr
        units = np.maximum(propagation @ logits @ self.first_weight_ + self.first_bias_, 0.0)
        score = (propagation @ (units @ self.second_weight_) + self.second_bias_)[:, 0]
        return np.logaddexp(score, float(_LOG_OFFSET))
