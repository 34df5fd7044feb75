"""From a backbone's name, or a user's module, to a model that takes `GraphInputs`."""

from __future__ import annotations

import copy
from collections.abc import Callable

from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.networks import gcn_jacobian  # noqa: F401  registers the closed form
from calirare.detectors.networks.gat import GAT
from calirare.detectors.networks.gcn import GCN
from calirare.detectors.networks.gin import GIN
from calirare.detectors.networks.sage import GraphSAGE
from calirare.errors import InputError, nearest

BACKBONES: dict[str, Callable[..., nn.Module]] = {"gcn": GCN, "gat": GAT, "gin": GIN, "sage": GraphSAGE}


class ModuleBackbone(nn.Module):
    """A user's `module(x, edge_index, edge_weight)` that returns logits, called with `GraphInputs`.

    A module whose forward takes no edge weight is called without it when the graph has none.
    """

    def __init__(self, module: nn.Module, num_classes: int) -> None:
        super().__init__()
        self.module, self.num_classes = module, num_classes

    def forward(self, inputs: GraphInputs) -> Tensor:
        if inputs.edge_weight is None:
            logits: Tensor = self.module(inputs.torch_x, inputs.edge_index)
        else:
            logits = self.module(inputs.torch_x, inputs.edge_index, inputs.edge_weight)
        wanted = (inputs.num_nodes, self.num_classes)
        if not isinstance(logits, Tensor) or tuple(logits.shape) != wanted or not logits.is_floating_point():
            found = (
                f"{logits.dtype} of shape {tuple(logits.shape)}"
                if isinstance(logits, Tensor)
                else type(logits).__name__
            )
            raise InputError(f"backbone must return logits of shape {wanted}, a column per class; got {found}.")
        return logits


def make_backbone(
    backbone: str | nn.Module, num_features: int, num_classes: int, *, hidden: int, dropout: float
) -> nn.Module:
    """A fresh model. A user's module is copied, so that fitting leaves the original untouched."""
    if isinstance(backbone, nn.Module):
        return ModuleBackbone(copy.deepcopy(backbone), num_classes)
    if backbone not in BACKBONES:
        raise InputError(
            f"backbone must be one of {sorted(BACKBONES)} or a torch.nn.Module; got {backbone!r}: "
            + nearest(str(backbone), BACKBONES)
        )
    return BACKBONES[backbone](num_features, num_classes, hidden=hidden, dropout=dropout)
