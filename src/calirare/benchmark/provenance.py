"""What made a row: the code, the libraries, the time and the memory."""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

import calirare

LIBRARIES = ("torch", "torch_geometric", "numpy", "scipy", "scikit-learn")
_COMPUTES = ("data", "metrics", "features", "detectors", "calibration", "uncertainty", "estimator",
             "decisions/threshold.py", "benchmark/tasks.py", "benchmark/work.py")  # fmt: skip


@cache
def versions() -> dict[str, str]:
    """The version of Python, of calirare and of the libraries that compute."""
    found = {"python": platform.python_version(), "calirare": calirare.__version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout or a zip without metadata
            found[name] = "unknown"
    return found


@cache
def code_digest(*more: str) -> str:
    """A digest of the code that computes rows, blind to comments, docstrings and layout.

    Rows made by other code are not reused, so a table never mixes two versions of a method.

    Args:
        more: Further files and folders of the package that shape them.
    """
    root = files("calirare")
    if not isinstance(root, Path):
        return calirare.__version__
    paths = [root / name for name in (*_COMPUTES, *more)]
    return source_digest(file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path]))


def digest(*shaping: object) -> str:
    """What changes when one of these does."""
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:16]


def source_digest(paths: Iterable[Path]) -> str:
    """A digest of what Python files do."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            _drop_docstrings(node)
        digest.update(f"{path.name}\n{ast.dump(tree)}\n".encode())
    return digest.hexdigest()[:16]


def _drop_docstrings(node: ast.AST) -> None:
    body = getattr(node, "body", None)
    if isinstance(body, list):
        # Strings under an assignment document it; Python evaluates and forgets them.
        body[:] = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]


def reset_peak_memory() -> None:
    """Start measuring this process's peak memory from zero, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def peak_memory_mb() -> float:
    """The most memory this process held since `reset_peak_memory`, else since it started, in MB."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        if sys.platform == "win32":
            return float("nan")
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if sys.platform == "darwin" else 1024)
