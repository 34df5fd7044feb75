"""A model as the engine reads it: in eval mode, its logits finite; and how far they may lie apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.errors import NumericalError

LARGEST_LOGIT = 30.0
"""Of centred logits: as sure as a prediction can be, and as wrong."""


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


def bounded(logits: Tensor) -> Tensor:
    """`(…, C)` as they are; centred and cut at `LARGEST_LOGIT` where they lie further apart, as left-out logits are.

    Attributes of a few nodes can be a thousand times those of all labelled ones, and so can what a network says of them.
    Its weight comes from left-out logits, which know nothing of such sizes.

    >>> bounded(torch.tensor([[1.0, 3.0], [0.0, 2e9]])).tolist()
    [[1.0, 3.0], [-30.0, 30.0]]
    """
    apart = logits - logits.mean(dim=-1, keepdim=True)
    beyond = (apart.abs() > LARGEST_LOGIT).any(dim=-1, keepdim=True)
    return torch.where(beyond, apart.clamp(-LARGEST_LOGIT, LARGEST_LOGIT), logits)
