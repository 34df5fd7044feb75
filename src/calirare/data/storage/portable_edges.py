"""The edge table inside a portable graph file.

`edges_ends` `(2, E)`; `edges_numbers` `(k, E)` float64, the numbers, times and texts; `edges_codes` `(c, E)` int32, the
categories; `edges_type` `(E,)` where edges are typed; `edges_columns`, JSON: `directed`, `type_names` and the columns
in order, each with `name`, `kind` and `categories`.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from calirare.data.edge_table import EdgeColumn, EdgeTable


def edges_to_arrays(table: EdgeTable) -> dict[str, np.ndarray]:
    """The parts of an edge table under the names of the portable format."""
    columns = [
        {"name": column.name, "kind": column.kind, "categories": list(column.categories)} for column in table.columns
    ]
    said = {"directed": table.directed, "type_names": list(table.type_names), "columns": columns}
    numbers = [column.values for column in table.columns if column.kind != "category"]
    codes = [column.values for column in table.columns if column.kind == "category"]
    arrays = {
        "edges_ends": np.stack([table.source, table.target]),
        "edges_numbers": np.array(numbers, dtype=np.float64).reshape(len(numbers), len(table)),
        "edges_codes": np.array(codes, dtype=np.int32).reshape(len(codes), len(table)),
        "edges_columns": np.frombuffer(json.dumps(said).encode(), dtype=np.uint8),
    }
    return arrays if table.type is None else arrays | {"edges_type": table.type}


def edges_from_arrays(arrays: dict[str, np.ndarray]) -> EdgeTable:
    """The edge table stored under these names; what is wrong raises one of the errors that `read_graph` turns into its own."""
    said: Any = json.loads(arrays["edges_columns"].astype(np.uint8).tobytes().decode())
    numbers, codes = iter(arrays["edges_numbers"]), iter(arrays["edges_codes"])
    columns = []
    for one in said["columns"]:
        values = next(codes if one["kind"] == "category" else numbers, None)
        if values is None:
            raise ValueError(f"edge column {one['name']!r} has no values")
        categories = tuple(str(name) for name in one["categories"])
        columns.append(EdgeColumn(str(one["name"]), one["kind"], values, categories))
    source, target = arrays["edges_ends"]
    type_names = tuple(str(name) for name in said["type_names"])
    return EdgeTable(source, target, tuple(columns), bool(said["directed"]), arrays.get("edges_type"), type_names)
