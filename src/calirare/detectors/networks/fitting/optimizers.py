"""Torch's optimizers without its compiler.

Every optimizer of torch imports the compiler on first use, to mark where compiled code must stop. We compile
nothing, so what the marks wrap is called as it is; the arithmetic is torch's, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor


class Adam(torch.optim.Adam):
    """`torch.optim.Adam`, without that import.

    >>> ours, torchs = (torch.nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    >>> for one, kind in ((ours, Adam), (torchs, torch.optim.Adam)):
    ...     optimizer = kind([one], lr=0.1, weight_decay=0.01)
    ...     for _ in range(3):
    ...         optimizer.zero_grad()
    ...         one.pow(4).sum().backward()
    ...         _ = optimizer.step()
    >>> bool((ours == torchs).all())
    True
    """

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        return unwrap(torch.optim.Adam.step)(self, closure)


class LBFGS(torch.optim.LBFGS):
    """`torch.optim.LBFGS`, likewise."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)


def minimise(
    loss: Callable[[], Tensor], parameters: Iterable[Tensor], *, steps: int, lr: float, weight_decay: float = 0.0
) -> None:
    """Take `steps` of Adam down a loss, in place.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> minimise(lambda: (x - 1) ** 2, [x], steps=200, lr=0.1)
    >>> round(float(x.detach()), 2)
    1.0
    """
    optimizer = Adam(parameters, lr=lr, weight_decay=weight_decay)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
