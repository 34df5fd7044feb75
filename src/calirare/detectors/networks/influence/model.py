"""A model as the engine reads it: in eval mode, its logits finite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.errors import NumericalError


@contextmanager
def evaluating(model: nn.Module) -> Iterator[nn.Module]:
    """The model in eval mode inside the block, in its earlier mode after it."""
    was_training = model.training
    model.eval()
    try:
        yield model
    finally:
        model.train(was_training)


def predict_logits(model: nn.Module, inputs: GraphInputs) -> Tensor:
    """Logits of every node in eval mode, without gradients.

    Raises:
        NumericalError: Some are NaN or infinite.
    """
    with evaluating(model), torch.no_grad():
        logits: Tensor = model(inputs)
    finite = logits.isfinite().all(dim=1)
    if not bool(finite.all()):
        raise NumericalError(
            f"the model gives NaN or infinite logits for {int((~finite).sum())} of {len(finite)} nodes; "
            "scale the features and the edge weights, or lower lr."
        )
    return logits
