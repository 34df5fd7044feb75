"""Write a graph as the two tables that `read_tables` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calirare.data.arrays import UNKNOWN, column_of
from calirare.data.edge_rows import edges_as_columns
from calirare.data.graph import RareGraph
from calirare.data.tables.sources.export import write_table
from calirare.errors import InputError

FORMATS = ("parquet", "csv")


def write_tables(graph: RareGraph, folder: str | Path, *, format: str = "parquet") -> tuple[Path, Path]:
    """Write `nodes` and `edges` into a folder, each whole or not at all; the paths of both.

    Nodes: `id`, the attributes in the units of the schema's table, and `is_fraud`, "yes" for the rare class, "no" for
    the others, null where it is unknown. Edges: `source`, `target`, and every column of the edges as they came, each
    row; else `weight` where the graph has weights, each edge once.

    Args:
        graph: Its features must be numbers, as those of `make_transactions`.
        folder: Made if it is not there.
        format: "parquet" or "csv".
    """
    if format not in FORMATS:
        raise InputError(f"format must be one of {list(FORMATS)}; got {format!r}.")
    paths = Path(folder) / f"nodes.{format}", Path(folder) / f"edges.{format}"
    write_table(nodes_as_columns(graph), paths[0])
    write_table(edges_as_columns(graph), paths[1])
    return paths


def nodes_as_columns(graph: RareGraph) -> dict[str, Any]:
    """The nodes as columns; see `write_tables`."""
    scales = {}
    for column in graph.table_columns:
        if column["type"] in ("categorical", "text") or column.get("indicator"):
            raise InputError(
                f"graph must have plain numbers as features to be written as a table; {column['name']!r} is "
                "categorical, text or imputed. Keep the table that it was read from."
            )
        if column["type"] == "numeric":
            scales[column["name"]] = (column["mean"], column["scale"])
    columns: dict[str, Any] = {"id": graph.ids}
    for k, name in enumerate(graph.feature_names or [f"feature_{k}" for k in range(graph.num_features)]):
        mean, scale = scales.get(name, (0.0, 1.0))
        columns[name] = column_of(graph.x, k) * scale + mean
    words = {UNKNOWN: None, graph.rare_class: "yes"}
    columns["is_fraud"] = [words.get(y, "no") for y in graph.y.tolist()]
    return columns
