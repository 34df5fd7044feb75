"""Ratios that several benchmarks measure, kept in one file so that `run_all.py` can show them in one table."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import torch

import calirare as cr


@dataclass(frozen=True)
class Ratio:
    """Ours beside something else, measured in the same run.

    Args:
        what: What is compared.
        case: On which graph.
        ours: Seconds.
        beside: Seconds of the other.
        most: What ours / beside should not exceed.
    """

    what: str
    case: str
    ours: float
    beside: float
    most: float


def keep(ratios: list[Ratio], path: str | None) -> None:
    """Append them to the file, where one is asked for."""
    if path is not None:
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in ratios)


def show(path: str) -> None:
    """Print what the file holds, with versions."""
    kept = [Ratio(**json.loads(line)) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    packages = ("torch", "torch-geometric", "numpy", "scipy", "scikit-learn")
    print(
        ", ".join([f"calirare {cr.__version__}", *(f"{name} {version(name)}" for name in packages)])
        + f"; Python {platform.python_version()}, {platform.machine()}, {torch.get_num_threads()} threads"
    )
    print(f"{'ours / beside':42s} {'case':16s} {'ours s':>9s} {'beside s':>9s} {'ratio':>6s} {'at most':>8s}")
    above = 0
    for one in kept:
        ratio = one.ours / one.beside
        above += ratio > one.most
        print(
            f"{one.what:42s} {one.case:16s} {one.ours:9.4f} {one.beside:9.4f} {ratio:6.2f} {one.most:8.2f}"
            + ("  above" if ratio > one.most else "")
        )
    print(f"{len(kept) - above} of {len(kept)} within what they should not exceed")
