"""How the attributes of a node and of its neighbours made a network's logit.

With G = ∂m/∂H the gradient of the node's margin m in what its first linear map gives, H = X W, the share of attribute j at
node u is X_uj (G Wᵀ)_uj. A network of linear maps and relu is linear where it stands, so these shares and what the biases add
give the margin exactly; for attention, what is left over goes to the base.
"""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from calirare.data.arrays import as_dense
from calirare.data.inputs import GraphInputs
from calirare.detectors.base import Contributions, DetectorInputs
from calirare.detectors.networks.influence.model import evaluating
from calirare.detectors.networks.layers import FeatureLinear
from calirare.detectors.networks.module import ModuleNetwork
from calirare.features.columns import ColumnGroup

Slopes = list[tuple[np.ndarray, np.ndarray | None]]
"""Gradients and the weights that carry them to the attributes; None: they are the attributes' own."""
_LARGEST_DENSE = 2**26


def network_contributions(model: nn.Module, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
    """Shares of the margin log P(rare) - log P(not rare) by attribute, own and neighbours' apart."""
    read = _slopes_of_module if isinstance(model, ModuleNetwork) else _slopes
    margin, slopes = read(model, inputs.tensors, node, rare_class)
    own, around = np.zeros(inputs.graph.num_features), np.zeros(inputs.graph.num_features)
    for slope, weight in slopes:
        touched = np.flatnonzero(np.abs(slope).max(axis=1) > 0)
        shares = as_dense(inputs.graph.x[touched]).astype(np.float64) * (
            slope[touched] if weight is None else slope[touched] @ weight
        )
        mine = touched == node
        own += shares[mine].sum(axis=0)
        around += shares[~mine].sum(axis=0)
    names = inputs.graph.attribute_names
    own_group: ColumnGroup = "own"
    neighbours: ColumnGroup = "neighbours"
    shares = np.concatenate([own, around])
    return Contributions(
        base=margin - float(shares.sum()),
        names=(*names, *(f"{name}, of neighbours" for name in names)),
        groups=(own_group,) * len(names) + (neighbours,) * len(names),
        shares=shares,
    )


def _margin(model: nn.Module, inputs: GraphInputs, node: int, rare_class: int) -> Tensor:
    logits: Tensor = model(inputs)[node]
    rest = torch.cat([logits[:rare_class], logits[rare_class + 1 :]])
    return logits[rare_class] - rest.logsumexp(dim=0)


def _slopes_of_module(model: nn.Module, inputs: GraphInputs, node: int, rare_class: int) -> tuple[float, Slopes]:
    """The margin, and its gradient in the attributes: what a user's own module does with them first is not known."""
    if inputs.num_nodes * inputs.num_features > _LARGEST_DENSE:  # all of it goes to the base
        with evaluating(model), torch.no_grad():
            return float(_margin(model, inputs, node, rare_class)), []
    x = inputs.torch_x
    seen = copy.copy(inputs)
    seen.x = (x.detach().clone() if x.layout == torch.strided else x.to_dense()).requires_grad_()
    with evaluating(model), torch.enable_grad():
        margin = _margin(model, seen, node, rare_class)
        (gradient,) = torch.autograd.grad(margin, [seen.x], materialize_grads=True)
    return float(margin.detach()), [(gradient.double().cpu().numpy(), None)]


def _slopes(model: nn.Module, inputs: GraphInputs, node: int, rare_class: int) -> tuple[float, Slopes]:
    """The margin, and (gradient `(N, hidden)`, weight `(hidden, F)`) of each linear map that reads the attributes."""
    seen: list[tuple[Tensor, Tensor, bool]] = []
    ours = threading.get_ident()

    def record(layer: nn.Module, given: tuple[Any, ...], output: Tensor) -> Tensor:
        if threading.get_ident() != ours:  # someone else asks the same network meanwhile
            return output
        propagated = "propagated_x" in vars(inputs) and given[0] is inputs.propagated_x
        if given[0] is inputs.x or propagated:
            output = output if output.requires_grad else output.requires_grad_()
            output.retain_grad()
            seen.append((output, dict(layer.named_parameters())["weight"].detach(), propagated))
        return output

    hooks = [layer.register_forward_hook(record) for layer in model.modules() if isinstance(layer, FeatureLinear)]
    try:
        with evaluating(model), torch.enable_grad():
            margin = _margin(model, inputs, node, rare_class)
            gradients = torch.autograd.grad(margin, [output for output, _, _ in seen], materialize_grads=True)
    finally:
        for hook in hooks:
            hook.remove()
    found: Slopes = []
    for gradient, (_, weight, propagated) in zip(gradients, seen, strict=True):
        if propagated:  # Â X was multiplied instead of X: carry the gradient back over Â, which is symmetric
            gradient = inputs.normalized.product(gradient, transpose=True)
        found.append((gradient.double().cpu().numpy(), weight.double().cpu().numpy()))
    return float(margin.detach()), found
