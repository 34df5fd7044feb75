"""Steps on a GPU, recorded once and played again: of most graphs they are many small calls, and launching them takes the time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_BEFORE = 3
"""Steps before one is recorded: in these the libraries take their memory and the optimiser makes its own."""


def is_steady(*asked: object) -> bool:
    """Whether each of these, a network or what is asked of it, says that it does the same on the GPU at every call."""
    return all(getattr(one, "steady", False) for one in asked)


class Replayed:
    """A step that is recorded at its fourth call, and played again at each later one: the same numbers in less time.

    What the step does in Python beside launching work on the GPU happens in the calls up to the recording alone.

    Args:
        step: Gives a loss; whatever it reads and writes on the GPU must stay where it is.
        device: The GPU.
    """

    def __init__(self, step: Callable[[], Tensor], device: torch.device) -> None:
        self._step, self._calls, self._beside = step, 0, torch.cuda.Stream(device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._loss = torch.empty(0)

    def __call__(self) -> Tensor:
        if self._graph is None and self._calls < _BEFORE:
            self._calls += 1
            return self._apart(self._step)
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            self._apart(self._record)
        self._graph.replay()
        return self._loss.clone()

    def _record(self) -> Tensor:
        assert self._graph is not None
        self._graph.capture_begin(capture_error_mode="thread_local")
        try:
            self._loss = self._step()
        finally:
            self._graph.capture_end()
        return self._loss

    def _apart(self, step: Callable[[], Tensor]) -> Tensor:
        """In a stream of its own, as recording wants it."""
        here = torch.cuda.current_stream(self._beside.device)
        self._beside.wait_stream(here)
        with torch.cuda.stream(self._beside):
            loss = step()
        here.wait_stream(self._beside)
        return loss
