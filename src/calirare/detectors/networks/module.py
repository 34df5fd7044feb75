"""A user's own torch module: called with the graph as our networks are, and with new weights."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.errors import InputError, first_line


class ModuleNetwork(nn.Module):
    """A user's `module(x, edge_index, edge_weight)` that returns logits, called with `GraphInputs`.

    Where the graph has no weights the module is called without, or with ones if its forward must have them.
    """

    def __init__(self, module: nn.Module, num_classes: int) -> None:
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise InputError(
                "the module must have parameters that learn; module.requires_grad_(True) thaws frozen ones."
            )
        self.module, self.num_classes = module, num_classes
        asked = inspect.signature(module.forward).parameters.get("edge_weight")
        self.must_weigh = asked is not None and asked.default is asked.empty

    def forward(self, inputs: GraphInputs) -> Tensor:
        ones = (torch.ones_like(inputs.edge_index[0], dtype=inputs.dtype),) if self.must_weigh else ()
        weight = ones if inputs.edge_weight is None else (inputs.edge_weight,)
        try:
            logits: Tensor = self.module(inputs.torch_x, inputs.edge_index, *weight)
        except (TypeError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "shapes cannot be multiplied" not in str(error):
                raise
            called = f"module(x, edge_index{', edge_weight' * len(weight)})"
            raise InputError(
                f"the module must take {called} with x of {inputs.torch_x.shape[1]} columns; it raised "
                f"{type(error).__name__}: {first_line(error)}"
            ) from error
        wanted = (inputs.num_nodes, self.num_classes)
        if not isinstance(logits, Tensor) or tuple(logits.shape) != wanted or not logits.is_floating_point():
            found = (
                f"{logits.dtype} of shape {tuple(logits.shape)}"
                if isinstance(logits, Tensor)
                else type(logits).__name__
            )
            raise InputError(f"the module must return logits of shape {wanted}, a column per class; got {found}.")
        return logits.to(inputs.dtype)


def forget(model: nn.Module) -> None:
    """Draw new weights for a trained network, layer by layer, where torch's and PyG's layers know how."""
    for layer in model.modules():
        reset = getattr(layer, "reset_parameters", None)
        if callable(reset):
            reset()
