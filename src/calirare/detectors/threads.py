"""How many threads a detector may use: set, never left to chance."""

from __future__ import annotations

import os

from calirare.errors import InputError


def threads_of(jobs: int | None) -> int:
    """The number asked for; None: the cores that this process may use.

    >>> threads_of(2)
    2
    """
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"jobs must be a positive whole number or None; got {jobs!r}.")
    return jobs
