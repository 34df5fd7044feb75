"""The networks by name, and the user's own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import ClassVar

from torch import nn

from calirare.detectors.networks import gat_jacobian, gcn_jacobian, local_jacobian
from calirare.detectors.networks.backbones import gat, gcn, gin, sage
from calirare.detectors.networks.defaults import EPOCHS, LR, SETTLE, WEIGHT_DECAY
from calirare.detectors.networks.influence.jacobian import register_closed_form
from calirare.detectors.networks.module import ModuleNetwork
from calirare.detectors.networks.network import Network, WeightDecay
from calirare.detectors.registry import register
from calirare.errors import InputError

register_closed_form(gcn.GCNBackbone, gcn_jacobian.GCNJacobian)
register_closed_form(sage.SAGEBackbone, local_jacobian.SAGEJacobian)
register_closed_form(gin.GINBackbone, local_jacobian.GINJacobian)
register_closed_form(gat.GATBackbone, gat_jacobian.GATJacobian)


class Backboned(Network):
    """One that is made of its backbone alone."""

    backbone: ClassVar[Callable[..., nn.Module]]

    def make(self, num_features: int, num_classes: int) -> nn.Module:
        return type(self).backbone(num_features, num_classes, hidden=self.units, dropout=self.dropout)


@register
class GCN(Backboned):
    """The graph convolutional network of Kipf and Welling. Source: key `kipf2017`."""

    name = "gcn"
    backbone = gcn.GCNBackbone


@register
class GAT(Backboned):
    """The graph attention network of Veličković et al. Source: key `velickovic2018`."""

    name = "gat"
    backbone = gat.GATBackbone


@register
class GIN(Backboned):
    """The graph isomorphism network of Xu et al. Source: key `xu2019`."""

    name = "gin"
    backbone = gin.GINBackbone


@register
class SAGE(Backboned):
    """GraphSAGE with mean aggregation, of Hamilton et al. Source: key `hamilton2017`."""

    name = "sage"
    backbone = sage.SAGEBackbone


@register
class Module(Network):
    """A user's torch module, `forward(x, edge_index)` or `forward(x, edge_index, edge_weight)`, that returns logits.

    Each fit trains a copy from the weights that the module has.

    Args:
        module: The module.
        epochs, lr, weight_decay, settle, patience: As for the other networks.
    """

    name = "module"
    sized = False

    def __init__(
        self,
        module: nn.Module,
        epochs: int = EPOCHS,
        lr: float = LR,
        weight_decay: WeightDecay = WEIGHT_DECAY,
        settle: float = SETTLE,
        patience: int | None = None,
    ) -> None:
        super().__init__(epochs=epochs, lr=lr, weight_decay=weight_decay, settle=settle, patience=patience)
        self.module = module

    def make(self, num_features: int, num_classes: int) -> nn.Module:
        if not isinstance(self.module, nn.Module):
            raise InputError(f"module must be a torch.nn.Module; got {type(self.module).__name__}.")
        return ModuleNetwork(copy.deepcopy(self.module), num_classes)
