"""How many threads a detector may use: set, never left to chance."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

from calirare.data.checks import check_count

_FEW_LABELS = 16_384


def threads_of(jobs: int | None) -> int:
    """The number asked for; None: the cores that this process may use.

    >>> threads_of(2)
    2
    """
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_count(jobs, "jobs")


def blas_for(labels: int) -> AbstractContextManager[object]:
    """One thread of BLAS while few labels are fitted.

    NumPy and SciPy bring a pool of threads each, and those of one that wait for work take the cores from the other.
    """
    return _pools().limit(limits=1, user_api="blas") if labels <= _FEW_LABELS else nullcontext()


@cache
def _pools() -> ThreadpoolController:
    """The pools of this process; finding them takes longer than fitting a hundred labels."""
    return ThreadpoolController()
