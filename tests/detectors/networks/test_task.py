"""How many threads torch has while a network is trained and brought to rest."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from graph_cases import small_graph
from torch import Tensor, nn

import calirare as cr
from calirare.detectors.networks import task


class _Counting(nn.Module):
    """A module that notes how many threads torch has while it learns."""

    seen: ClassVar[list[int]] = []

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(7, 2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            self.seen.append(torch.get_num_threads())
        result: Tensor = self.linear(x)
        return result


@pytest.mark.parametrize(("few", "threads"), [(30, 1), (29, 3)])
def test_few_nodes_are_read_on_one_thread(monkeypatch: pytest.MonkeyPatch, few: int, threads: int) -> None:
    monkeypatch.setattr(task, "_FEW_NODES", few)
    monkeypatch.setattr(_Counting, "seen", [])
    before, graph = torch.get_num_threads(), small_graph(2, sparse=False)
    torch.set_num_threads(3)
    try:
        detector = cr.detectors.Module(_Counting(), epochs=4, weight_decay="left_out")
        cr.RareCategoryClassifier(detector, method="uncalibrated", device="cpu").fit(graph)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    # Four epochs, at least a block of steps to rest under each of two decays, and the engine's own look with all threads.
    assert _Counting.seen[:4] == [threads] * 4
    assert _Counting.seen.count(threads) > 4 + 2 * 15
