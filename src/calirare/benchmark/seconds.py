"""How long runs take, by earlier ones: said before a run starts, and what orders its work."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from calirare.benchmark.store import Row

FILE = "seconds.json"
_UNKNOWN = 3.0
"""Seconds assumed for a run that nobody has timed."""


@dataclass(frozen=True)
class Seconds:
    """Processor seconds of one core: a graph's factor times a competitor's seconds in a protocol.

    Args:
        graphs: Factor of each graph, 1 on average.
        runs: Seconds on an average graph, by competitor, then by protocol and size, as "few 10".
    """

    graphs: dict[str, float]
    runs: dict[str, dict[str, float]]

    @classmethod
    @cache
    def known(cls) -> Seconds:
        """Those that come with the package."""
        return cls(**json.loads(files("calirare.benchmark").joinpath(FILE).read_text(encoding="utf-8")))

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Seconds:
        """From rows; a run that was skipped took none. The totals over all graphs are those of the rows."""
        timed = [(row, _spent(row)) for row in rows if np.isfinite(_spent(row))]
        by_graph: dict[str, list[float]] = {}
        for row, spent in timed:
            if row["protocol"] == "tenth":
                by_graph.setdefault(row["graph"], []).append(spent)
        means = {graph: float(np.mean(found)) for graph, found in sorted(by_graph.items())}
        graphs = {graph: mean / float(np.mean(list(means.values()))) for graph, mean in means.items()}
        sums: dict[str, dict[str, tuple[float, float]]] = {}
        for row, spent in timed:
            cell, found = f"{row['protocol']} {row['size']}", sums.setdefault(row["competitor"], {})
            before = found.get(cell, (0.0, 0.0))
            found[cell] = before[0] + spent, before[1] + graphs.get(row["graph"], 1.0)
        runs = {
            name: {cell: total / weight for cell, (total, weight) in sorted(found.items())}
            for name, found in sorted(sums.items())
        }
        return cls(graphs, runs)

    def expected(self, graph: str, protocol: str, size: int, competitor: str) -> float:
        """Expected seconds of one run; where the cell is new, what the competitor takes elsewhere.

        >>> known = Seconds({"cora": 0.5}, {"auto": {"few 10": 4.0, "tenth 10": 8.0}})
        >>> known.expected("cora", "few", 10, "auto"), known.expected("mine", "few", 7, "auto")
        (2.0, 6.0)
        """
        found = self.runs.get(competitor, {})
        usual = float(np.mean(list(found.values()))) if found else _UNKNOWN
        return self.graphs.get(graph, 1.0) * found.get(f"{protocol} {size}", usual)

    def save(self, path: str | Path) -> Path:
        """Write them, three digits each."""
        plain = {"graphs": _rounded(self.graphs), "runs": {name: _rounded(found) for name, found in self.runs.items()}}
        Path(path).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
        return Path(path)


def _rounded(found: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.3g}") for name, value in found.items()}


def _spent(row: Row) -> float:
    """What a run took where it stood; older rows tell what it would take alone."""
    if "skipped" in row:
        return 0.0
    return float(row["spent"] if "spent" in row else row.get("seconds", math.nan))
