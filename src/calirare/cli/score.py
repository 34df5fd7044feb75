"""`calirare score`: from a model and two tables to a table of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.options import (
    AsJson,
    Coverage,
    Edges,
    IdColumn,
    Model,
    Nodes,
    SourceColumn,
    TargetColumn,
    WeightColumn,
)

EXAMPLE = "Example: calirare score model nodes.csv edges.csv --out scores.parquet"


def score(
    model: Model,
    nodes: Nodes,
    edges: Edges,
    out: Annotated[Path, typer.Option(help="Table of scores to write: .parquet or .csv.")],
    coverage: Coverage = 0.9,
    id_column: IdColumn = None,
    source: SourceColumn = None,
    target: TargetColumn = None,
    weight: WeightColumn = None,
    as_json: AsJson = False,
) -> None:
    """Score every node of the tables, old or new, without fitting again.

    Columns: id, probability of the rare class, the interval lower to upper, prediction, and the set of classes that
    the coverage does not rule out.
    """
    from calirare.data.export import check_export_path, write_table
    from calirare.persistence import load
    from calirare.scores import read_for, score_table

    check_export_path(out)
    with console.working("Reading model and tables"):
        classifier = load(model)
        graph = read_for(classifier, nodes, edges, id=id_column, source=source, target=target, weight=weight)
    with console.working("Scoring"):
        table = score_table(classifier, graph, coverage=coverage)
        write_table(table, out)
    if as_json:
        read = (graph.schema or {}).get("read", {})
        console.show_json({"scores": out, "nodes": graph.num_nodes, "coverage": coverage, "read": read})
        return
    show_top(table)
    console.show(out)


def show_top(table: dict[str, Any], rows: int = 10) -> None:
    """Print the nodes with the highest probability."""
    order = table["probability"].argsort(kind="stable")[::-1][:rows]
    console.show_table(
        f"Highest of {len(table['id']):,} nodes",
        ["id", "P(rare)", "interval", "prediction", "set"],
        [
            (
                table["id"][k],
                f"{table['probability'][k]:.3f}",
                f"{table['lower'][k]:.3f} – {table['upper'][k]:.3f}",
                table["prediction"][k],
                table["set"][k],
            )
            for k in order
        ],
        right=(1,),
    )
