"""`calirare methods`: what can be passed as `--method`."""

from __future__ import annotations

from typing import Annotated

import typer

from calirare.cli import console
from calirare.cli.options import AsJson

PANEL = "Research"
EXAMPLE = "Example: calirare methods"
HEADER = ("method", "what it does", "trains on", "calibrates on", "source")


def methods(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table of the README.")] = False,
    as_json: AsJson = False,
) -> None:
    """The methods, which labels each of them reads, and where it comes from (a key of docs/references.bib)."""
    from calirare.estimator.methods import methods as registry

    rows = [(method.name, method.summary, *method.label_budget, method.source or "–") for method in registry().values()]
    if as_json:
        console.show_json([dict(zip(HEADER, row, strict=True)) for row in rows])
    elif markdown:
        console.show(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
        for name, *rest in rows:
            console.show(f"| `{name}` | {' | '.join(rest)} |")
    else:
        console.show_table("Methods", HEADER, rows)
