"""`calirare report`: one HTML file about a model, its data and its decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Coverage, Model

EXAMPLE = "Example: calirare report model --out report.html"


def report(
    model: Model,
    out: Annotated[Path, typer.Option(help="The page to write: .html.")] = Path("report.html"),
    cost_miss: Annotated[float, typer.Option(help="Cost of a rare node that is cleared.")] = 50.0,
    cost_alarm: Annotated[float, typer.Option(help="Cost of an alert on a node that is not rare.")] = 5.0,
    cost_review: Annotated[float, typer.Option(help="Cost of a human look at one node.")] = 1.0,
    budget: Annotated[int | None, typer.Option(help="Most looks; default: wherever one pays.")] = None,
    rows: Annotated[int, typer.Option(help="Nodes of the queue to list.")] = 200,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    coverage: Coverage = 0.9,
    as_json: AsJson = False,
) -> None:
    """Write what was fitted, how far to trust it and what it decides, as one page that opens offline.

    The graph is the one that `calirare fit` stored beside the model.
    """
    from calirare.persistence.folder import load, load_graph, model_version
    from calirare.report import write_report

    with console.working("Reading the model"):
        classifier, graph = load(model), load_graph(model)
    with console.working("Writing the report"):
        path = write_report(
            classifier,
            graph,
            out,
            cost_miss=cost_miss,
            cost_alarm=cost_alarm,
            cost_review=cost_review,
            budget=budget,
            coverage=coverage,
            rows=rows,
            title=title,
            model_version=model_version(model),
        )
    if as_json:
        console.show_json({"report": path, "bytes": path.stat().st_size})
        return
    console.show(path)
