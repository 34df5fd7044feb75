"""Threads that blocks are handed to, and torch's own."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from calirare.data.threads import block_threads, in_threads, torch_on_one_thread


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_blocks_keep_their_threads_while_torch_has_one() -> None:
    meeting = threading.Barrier(3)
    with torch_on_one_thread(), torch_on_one_thread():  # one within the other, as a refit within a fit
        assert (torch.get_num_threads(), block_threads()) == (1, 3)
        # All three must be at work at once to pass, or the barrier breaks.
        assert len(list(in_threads(lambda _: meeting.wait(timeout=10), range(6)))) == 6
    assert (torch.get_num_threads(), block_threads()) == (3, 3)


def test_torch_has_its_threads_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="broken"), torch_on_one_thread():
        raise ValueError("broken")
    assert (torch.get_num_threads(), block_threads()) == (3, 3)
