"""The unit of work of a benchmark, and what a worker does with it."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import torch
from threadpoolctl import threadpool_limits

from calirare.benchmark.sources import DatasetSource
from calirare.benchmark.store import Row
from calirare.errors import CalirareError

RowKey = tuple[Any, ...]
"""Graph, protocol, size, seed, name, fingerprint: what tells one row from another."""


@dataclass(frozen=True)
class Task(ABC):
    """Those who share work, on one graph with one draw of labels.

    Args:
        dataset: The graph.
        protocol: How labels come about.
        size: How many, as the protocol counts them.
        seed: Which of the draws.
        group: What the names share.
        names: Who answers: words, or what `str` makes a word of.
        fingerprint: Changes when the rows would.
    """

    COLUMNS: ClassVar[tuple[str, ...]]
    """What rows call the parts of their key."""

    dataset: DatasetSource
    protocol: str
    size: int
    seed: int
    group: str
    names: tuple[Any, ...]
    fingerprint: str

    @property
    @abstractmethod
    def cost(self) -> float:
        """What it takes, by earlier runs."""

    @property
    def file(self) -> str:
        """What the file of its rows is called."""
        group = "".join(letter if letter.isalnum() else "_" for letter in self.group)
        return f"{self.dataset.name}-{self.protocol}-{self.size}-seed{self.seed}-{group}"

    def key(self, name: object) -> RowKey:
        return (self.dataset.name, self.protocol, self.size, self.seed, str(name), self.fingerprint)

    def facts(self, name: object) -> Row:
        """The part of a row that is known before."""
        return dict(zip(self.COLUMNS, self.key(name), strict=True))

    def accepts(self, row: Row) -> bool:
        """Whether a row of this graph that other code made answers the same question."""
        return True


AnyTask = TypeVar("AnyTask", bound=Task)
Asking = Callable[[AnyTask], AbstractContextManager[Callable[[Any], Row]]]
"""Opens a task: gives the function from a name to its numbers."""


def without(tasks: Iterable[AnyTask], done: Collection[RowKey]) -> list[AnyTask]:
    """The tasks less the rows that are done."""
    left = (replace(task, names=tuple(name for name in task.names if task.key(name) not in done)) for task in tasks)
    return [task for task in left if task.names]


def run_task(task: AnyTask, asking: Asking[AnyTask], until: float = math.inf) -> tuple[AnyTask, list[Row]]:
    """The rows of a task; nothing is started after `until` (seconds since 1970).

    Deterministic: one thread, one seed. Who breaks has a row that says why, and does not stop the others.
    """
    rows: list[Row] = []
    if time.time() > until:
        return task, rows
    with one_thread(), asking(task) as ask:
        for name in task.names:
            if time.time() > until:
                break
            try:
                found = ask(name)
            except CalirareError as error:
                found = {"failed": " ".join(str(error).split())}
            rows.append(task.facts(name) | found)
    return task, rows


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for every library: workers do not fight for cores, and sums have one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
