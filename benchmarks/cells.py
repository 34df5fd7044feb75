"""Many independent cells of a benchmark, run side by side and kept as they come.

A cell is the tuple of arguments of one run. With a file, each result is appended as one line, the cell and then its result,
and what the file holds already is not run again: a run that was stopped goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

Cell = tuple[str | int | float | None, ...]


def run_cells(
    function: Callable[..., Any], cells: Iterable[Cell], *, jobs: int, out: Path | None, **options: object
) -> dict[Cell, Any]:
    """The result of `function(*cell, **options)` for each cell, in their order."""
    cells, known = list(cells), read_cells(out)
    missing = [delayed(_run)(partial(function, **options), cell) for cell in cells if cell not in known]
    for cell, result in Parallel(jobs, return_as="generator_unordered")(missing):
        known[cell] = result
        if out is not None:
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*cell, result]) + "\n")
    return {cell: known[cell] for cell in cells}


def read_cells(out: Path | None) -> dict[Cell, Any]:
    if out is None or not out.exists():
        return {}
    rows = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    return {tuple(cell): result for *cell, result in rows}


def _run(function: Callable[..., Any], cell: Cell) -> tuple[Cell, Any]:
    return cell, function(*cell)
