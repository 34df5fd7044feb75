"""How the attributes of a node and of its neighbours made a network's logit.

With G = ∂m/∂H the gradient of the node's margin m in what its first linear map gives, H = X W, the share of attribute j at
node u is X_uj (G Wᵀ)_uj. A network of linear maps and relu is linear where it stands, so these shares and what the biases add
give the margin exactly; for attention, what is left over goes to the base.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from calirare.data.around import inputs_around, size_around
from calirare.data.arrays import as_dense
from calirare.data.inputs import GraphInputs
from calirare.detectors.base import Contributions, DetectorInputs
from calirare.detectors.networks.backbones.layers import FeatureLinear
from calirare.detectors.networks.influence.model import bounded, evaluating
from calirare.detectors.networks.module import ModuleNetwork
from calirare.features.columns import ColumnGroup

Slopes = list[tuple[np.ndarray, np.ndarray]]
"""Gradients and the weights that carry them to the attributes."""
_LARGEST_DENSE = 2**26
_MOST_AROUND = 2**21
"""Attributes of edges that are looked at together."""


def network_contributions(
    model: nn.Module, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int
) -> Iterator[Contributions]:
    """Shares of the margin log P(rare) - log P(not rare) of each node by attribute, own and neighbours' apart."""
    names = inputs.graph.attribute_names
    own_group: ColumnGroup = "own"
    neighbours: ColumnGroup = "neighbours"
    told = (*names, *(f"{name}, of neighbours" for name in names))
    groups = (own_group,) * len(names) + (neighbours,) * len(names)
    for margins, shares in _shares(model, inputs, np.asarray(nodes, dtype=np.int64), rare_class):
        for margin, share in zip(margins, shares, strict=True):
            yield Contributions(base=margin - float(share.sum()), names=told, groups=groups, shares=share)


def _shares(
    model: nn.Module, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int
) -> Iterator[tuple[list[float], np.ndarray]]:
    """Some nodes at a time: their margins, and `(b, 2F)` shares of own and of neighbours' attributes."""
    width = inputs.graph.num_features
    if isinstance(model, ModuleNetwork):  # how far it looks is not known
        for node in nodes.tolist():
            margin, slopes = _slopes_of_module(model, inputs.tensors, node, rare_class)
            found = np.zeros((1, 2, width))
            for slope in slopes:
                _add_shares(found, slope, None, inputs.graph.x, (np.arange(len(slope)) != node).astype(np.int64))
            yield [margin], found.reshape(1, -1)
        return
    for some in _blocks(inputs, nodes):
        near = inputs_around(inputs.tensors, some)
        margins, pairs = _slopes(model, near.inputs, len(some), rare_class)
        found = np.zeros((len(some), 2, width))
        place = 2 * near.centre + (np.arange(len(near.nodes)) >= len(some))
        for slope, weight in pairs:
            _add_shares(found, slope, weight, inputs.graph.x, place, near.nodes)
        yield margins, found.reshape(len(some), -1)


def _blocks(inputs: DetectorInputs, nodes: np.ndarray) -> list[np.ndarray]:
    """The nodes in groups whose surroundings fit into memory together."""
    wide = min(inputs.graph.num_features, 1_000)
    size = np.cumsum(size_around(inputs.tensors, nodes) + 1) * wide // _MOST_AROUND
    return np.split(nodes, np.flatnonzero(np.diff(size)) + 1) if nodes.size else []


def _add_shares(
    found: np.ndarray,
    slope: np.ndarray,
    weight: np.ndarray | None,
    x: Any,
    place: np.ndarray,
    nodes: np.ndarray | None = None,
) -> None:
    """Add x_uj (G Wᵀ)_uj of every row that has a slope to its place among the rows of `found`."""
    touched = np.flatnonzero(np.abs(slope).max(axis=1) > 0)
    rows = as_dense(x[touched if nodes is None else nodes[touched]]).astype(np.float64)
    rows *= slope[touched] if weight is None else slope[touched] @ weight
    flat = found.reshape(-1, found.shape[-1])
    sums = sp.csr_array((np.ones(touched.size), (place[touched], np.arange(touched.size))), (len(flat), touched.size))
    flat += sums @ rows


def _margins(logits: Tensor, rare_class: int) -> Tensor:
    logits = bounded(logits)
    rest = torch.cat([logits[:, :rare_class], logits[:, rare_class + 1 :]], dim=1)
    return logits[:, rare_class] - rest.logsumexp(dim=1)


def _slopes_of_module(
    model: nn.Module, inputs: GraphInputs, node: int, rare_class: int
) -> tuple[float, list[np.ndarray]]:
    """The margin, and its gradient in the attributes: what a user's own module does with them first is not known."""
    if inputs.num_nodes * inputs.num_features > _LARGEST_DENSE:  # all of it goes to the base
        with evaluating(model), torch.no_grad():
            return float(_margins(model(inputs)[[node]], rare_class)), []
    x = inputs.torch_x
    seen = copy.copy(inputs)
    seen.x = (x.detach().clone() if x.layout == torch.strided else x.to_dense()).requires_grad_()
    with evaluating(model), torch.enable_grad():
        margin = _margins(model(seen)[[node]], rare_class).sum()
        (gradient,) = torch.autograd.grad(margin, [seen.x], materialize_grads=True)
    return float(margin.detach()), [gradient.double().cpu().numpy()]


def _slopes(model: nn.Module, inputs: GraphInputs, count: int, rare_class: int) -> tuple[list[float], Slopes]:
    """The margins of the first rows, and for each linear map that reads the attributes the gradient `(m, hidden)` of their
    sum and the weight `(hidden, F)`."""
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
            margins = _margins(model(inputs)[:count], rare_class)
            gradients = torch.autograd.grad(margins.sum(), [output for output, _, _ in seen], materialize_grads=True)
    finally:
        for hook in hooks:
            hook.remove()
    found: Slopes = []
    for gradient, (_, weight, propagated) in zip(gradients, seen, strict=True):
        if propagated:  # Â X was multiplied instead of X: carry the gradient back over Â
            gradient = inputs.normalized.product(gradient, transpose=True)
        found.append((gradient.double().cpu().numpy(), weight.double().cpu().numpy()))
    return margins.detach().double().tolist(), found
