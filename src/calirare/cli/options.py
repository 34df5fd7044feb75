"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Nodes = Annotated[Path, typer.Argument(help="Table of nodes: .csv or .parquet.", show_default=False)]
Edges = Annotated[Path, typer.Argument(help="Table of edges: .csv or .parquet.", show_default=False)]
Model = Annotated[Path, typer.Argument(help="Folder that `calirare fit` wrote.", show_default=False)]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
