"""`calirare report`: one HTML file about a model, its data and its decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Budget, Coverage, Model, new_file, priced_by_column

EXAMPLE = "Example: calirare report model --out report.html"


@priced_by_column
def report(
    model: Model,
    out: Annotated[Path, typer.Option(parser=new_file, metavar="FILE", help="The page to write: .html.")] = Path(
        "report.html"
    ),
    *,
    prices: dict[str, Any],
    budget: Budget = None,
    rows: Annotated[int, typer.Option(help="Nodes of the queue to list, half of them reviews.")] = 200,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    coverage: Coverage = 0.9,
    as_json: AsJson = False,
) -> None:
    """Write what was fitted, how far to trust it and what it decides, as one page that opens offline.

    The graph is the one that `calirare fit` stored beside the model.
    """
    from calirare.decisions.node_prices import costs_of
    from calirare.estimator.classifier import load
    from calirare.persistence.folder import load_graph, model_version
    from calirare.report import write_report
    from calirare.review.beside import read_decided

    with console.working("Reading the model"):
        classifier, graph = load(model), load_graph(model)
    with console.working("Writing the report"):
        path = write_report(
            classifier,
            graph,
            out,
            costs=costs_of(graph, **prices),
            budget=budget,
            coverage=coverage,
            rows=rows,
            decided=read_decided(model),
            title=title,
            model_version=model_version(model),
        )
    if as_json:
        console.show_json({"report": path, "bytes": path.stat().st_size})
        return
    console.show(path)
