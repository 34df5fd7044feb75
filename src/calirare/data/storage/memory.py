"""How much memory this process can still get."""

from __future__ import annotations

import os
from pathlib import Path

_UNKNOWN = 32 * 2**30
"""What is assumed where the system says nothing."""
_USABLE = 0.8


def available_memory() -> int:
    """Bytes of memory that this process can still get, by what the system and its limits say."""
    found = [_from_meminfo(), _from_cgroup(), _from_rlimit()]
    known = [number for number in found if number is not None]
    return min(known) if known else _UNKNOWN


def usable_memory() -> int:
    """Bytes that one file or table may take of it: most."""
    return int(_USABLE * available_memory())


def _from_meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return None


def _from_cgroup() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None


def _from_rlimit() -> int | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)
    except (ImportError, OSError, ValueError):
        return None
