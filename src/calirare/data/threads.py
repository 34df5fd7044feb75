"""Work in blocks on several threads, and torch on one where the order in which it adds must not depend on their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")
_for_blocks: ContextVar[int | None] = ContextVar("threads for blocks", default=None)


def block_threads() -> int:
    """Threads that blocks are handed to: torch's number, also while torch itself is held to one."""
    return _for_blocks.get() or torch.get_num_threads()


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """So many threads, started once."""
    return ThreadPoolExecutor(threads, thread_name_prefix="calirare-blocks")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`map(work, items)` on `block_threads()`, in order, with no more results in memory than threads.

    >>> list(in_threads(abs, [3, -1]))
    [3, 1]
    """
    threads, queue = block_threads(), iter(items)
    while group := list(islice(queue, threads)):
        yield from pool(threads).map(work, group) if len(group) > 1 else map(work, group)


@contextmanager
def torch_on_one_thread() -> Iterator[None]:
    """Torch's own sums in one order, whatever its number of threads; blocks keep theirs, each being summed in one order.

    >>> before = torch.get_num_threads()
    >>> with torch_on_one_thread():
    ...     print(torch.get_num_threads(), block_threads() == before)
    1 True
    >>> torch.get_num_threads() == before
    True
    """
    threads, handed = torch.get_num_threads(), _for_blocks.set(block_threads())
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        _for_blocks.reset(handed)
