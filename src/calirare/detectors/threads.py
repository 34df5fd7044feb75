"""How many threads a detector may use: set, never left to chance."""

from __future__ import annotations

import os

from calirare.data.checks import check_count


def threads_of(jobs: int | None) -> int:
    """The number asked for; None: the cores that this process may use.

    >>> threads_of(2)
    2
    """
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_count(jobs, "jobs")
