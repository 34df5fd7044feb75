"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from calirare.decisions.costs import Costs


def folder(text: str) -> Path:
    """A folder as given; an empty word, which a shell makes of a variable that is not set, would mean the current one."""
    if not str(text).strip():
        raise typer.BadParameter("it is empty; name a folder, or give . for the current one.")
    return Path(text)


Address = Annotated[str | None, typer.Option(help="Of a running Ray cluster; default: a local one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Backend = Annotated[str, typer.Option(help="loky: processes on this machine; ray: a Ray cluster.")]
Budget = Annotated[int | None, typer.Option(help="Most reviews; default: wherever one pays.")]
Coverage = Annotated[float, typer.Option(help="How often the intervals and sets hold the truth.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Edges = Annotated[Path, typer.Argument(help="Table of edges: .csv, .parquet or .arrow.", show_default=False)]
IdColumn = Annotated[str | None, typer.Option("--id", help="Id column of the nodes; default: guessed.")]
Model = Annotated[Path, typer.Argument(help="Folder that `calirare fit` wrote.", show_default=False)]
Nodes = Annotated[Path, typer.Argument(help="Table of nodes: .csv, .parquet or .arrow.", show_default=False)]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
SourceColumn = Annotated[str | None, typer.Option("--source", help="Column of one end of the edges; default: guessed.")]
TargetColumn = Annotated[str | None, typer.Option("--target", help="Column of the other end; default: guessed.")]
WeightColumn = Annotated[str | None, typer.Option("--weight", help="Column of edge weights; default: none.")]

DEFAULT_COSTS = Costs()
_PRICED = {
    "cost_miss": "Cost of a rare node that is cleared.",
    "cost_alarm": "Cost of an alert on a node that is not rare.",
    "cost_review": "Cost of a review at one node.",
    "review_error": "Share of reviews that end in the wrong call.",
}


def priced(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options `--cost-miss`, `--cost-alarm`, `--cost-review` and `--review-error`.

    They take the place of its parameter `costs`; their defaults are those of `Costs`.
    """
    prices = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=DEFAULT_COSTS.arguments()[name],
            annotation=Annotated[float, typer.Option(help=words)],
        )
        for name, words in _PRICED.items()
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        said = {name.removeprefix("cost_"): given.pop(name) for name in _PRICED}
        command(**given, costs=Costs(**said))

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
    ]
    at = [parameter.name for parameter in own].index("costs")
    asked = [*own[:at], *prices, *own[at + 1 :]]
    run.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in asked}
    return run
