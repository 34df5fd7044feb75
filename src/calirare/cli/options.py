"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calirare.cli.expand import expand
from calirare.decisions.prices import ARGUMENTS


def folder(text: str) -> Path:
    """A folder as given; an empty word, which a shell makes of a variable that is not set, would mean the current one."""
    if not str(text).strip():
        raise typer.BadParameter("it is empty; name a folder, or give . for the current one.")
    return within(Path(text))


def within(path: Path) -> Path:
    """The path, if the folder that it lies in is there: a typo must not grow a tree of folders."""
    if not path.parent.exists():
        raise typer.BadParameter(f"the folder {path.parent} does not exist. Make it first: mkdir -p {path.parent}")
    return path


def new_file(text: str) -> Path:
    """A file to write, in a folder that is there."""
    return within(Path(text))


def table_address(text: str) -> Path | str:
    """A file, or the address of a table in a database, which is no path."""
    from calirare.data.tables.addresses import is_address

    return text if is_address(text) else Path(text)


def table_out(text: str) -> Path | str:
    """Where to write a table: as `table_address`, a file in a folder that is there."""
    where = table_address(text)
    return where if isinstance(where, str) else within(where)


TableOut = Annotated[
    Path,
    typer.Option(
        parser=table_out,
        metavar="FILE|URL",
        help="Where to: .parquet, .csv, .jsonl, a database's table, URL#TABLE, or - for standard output (-.jsonl).",
    ),
]
Address = Annotated[str | None, typer.Option(help="Of a running Ray cluster; default: a local one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Backend = Annotated[str, typer.Option(help="loky: processes on this machine; ray: a Ray cluster.")]
Budget = Annotated[int | None, typer.Option(help="Most reviews; default: wherever one pays.")]
Coverage = Annotated[float, typer.Option(help="How often the intervals and sets hold the truth.")]
Db = Annotated[
    str | None,
    typer.Option(help="Database of decisions and monitoring: sqlite:///FILE or postgresql://…; default: in MODEL."),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
IdColumn = Annotated[str | None, typer.Option("--id", help="Id column of the nodes; default: guessed.")]
Monitor = Annotated[
    bool, typer.Option("--monitor/--no-monitor", help="Add this run to the series that `calirare monitor` reads.")
]
Model = Annotated[Path, typer.Argument(help="Folder that `calirare fit` wrote.", show_default=False)]
Network = Annotated[str, typer.Option(help="Name of the network, where a database holds the decisions of several.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
SourceColumn = Annotated[str | None, typer.Option("--source", help="Column of one end of the edges; default: guessed.")]
TargetColumn = Annotated[str | None, typer.Option("--target", help="Column of the other end; default: guessed.")]
WeightColumn = Annotated[str | None, typer.Option("--weight", help="Column of edge weights; default: none.")]


def _price(text: str) -> float | str:
    """A number, or else the name of a column."""
    try:
        return float(text)
    except ValueError:
        return text


def _prices(**said: str) -> dict[str, float | str]:
    return {name: _price(text) for name, text in said.items()}


priced_by_column = expand(
    "prices",
    {
        name: (Annotated[str, typer.Option(metavar="NUMBER|COLUMN", help=words)], f"{default:g}")
        for name, (default, words) in ARGUMENTS.items()
    },
    _prices,
)
"""Gives a command the options `--cost-miss` … `--review-error`, each a number or a column of the nodes, as arguments of
`triage`, in place of its parameter `prices`."""
