"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from calirare.cli.expand import Command, expand
from calirare.decisions.prices import ARGUMENTS


def folder(text: str) -> Path:
    """A folder as given; an empty word, which a shell makes of a variable that is not set, would mean the current one."""
    if not str(text).strip():
        raise typer.BadParameter("it is empty; name a folder, or give . for the current one.")
    if Path(text).is_file():
        raise typer.BadParameter(f"it must be a folder; {text} is a file.")
    return within(Path(text))


def within(path: Path) -> Path:
    """The path, if the folder that it lies in is there: a typo must not grow a tree of folders."""
    if not path.parent.exists():
        raise typer.BadParameter(f"the folder {path.parent} does not exist. Make it first: mkdir -p {path.parent}")
    return path


def model_folder(path: Path) -> Path:
    """A folder that holds a model: a typo is told before libraries that take seconds are loaded."""
    from calirare.persistence.writing import header_of

    header_of(path)
    return path


def new_file(text: str) -> Path:
    """A file to write, in a folder that is there."""
    return within(Path(text))


def readable(text: str) -> str:
    """A name that a database can hold; a shell passes on bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise typer.BadParameter("it holds bytes that are no text; give it in UTF-8.") from None
    return text


def table_address(text: str) -> Path | str:
    """A file, or the address of a table in a database, which is no path."""
    from calirare.data.tables.sources.addresses import is_address

    return text if is_address(text) else Path(text)


def table_out(text: str) -> Path | str:
    """Where to write a table: as `table_address`, a file in a folder that is there."""
    where = table_address(text)
    return where if isinstance(where, str) else within(where)


def a_folder(words: str) -> Any:
    """The option of a folder to write into."""
    return typer.Option(parser=folder, metavar="FOLDER", help=words)


TableOut = Annotated[
    Path,
    typer.Option(
        parser=table_out,
        metavar="FILE|URL",
        help="Where to: .parquet, .csv, .jsonl, a database's table, URL#TABLE, or - for standard output (-.jsonl).",
    ),
]
Address = Annotated[str | None, typer.Option(help="Of a running Ray cluster; default: a local one.")]
AnyCode = Annotated[bool, typer.Option("--any-code", help="Rows that other code or libraries made count as done.")]
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
Jobs = Annotated[int, typer.Option(help="Processes at a time; -1: all cores.")]
Label = Annotated[str | None, typer.Option(help="Label column; empty cells mean unknown. Needed, but for --labels.")]
Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", callback=model_folder, help="Folder that `calirare fit` wrote.", show_default=False
    ),
]
Network = Annotated[
    str,
    typer.Option(callback=readable, help="Name of the network, where a database holds the decisions of several."),
]
Rare = Annotated[str, typer.Option(help="The label looked for; all others together are the other class.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
SourceColumn = Annotated[str | None, typer.Option("--source", help="Column of one end of the edges; default: guessed.")]
TargetColumn = Annotated[str | None, typer.Option("--target", help="Column of the other end; default: guessed.")]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", help="COLUMN=numeric, categorical, time, text or ignore, where the guess is wrong; repeatable."
    ),
]
WeightColumn = Annotated[str | None, typer.Option("--weight", help="Column of edge weights; default: none.")]


def _price(text: str) -> float | str:
    """A number, or else the name of a column."""
    try:
        return float(text)
    except ValueError:
        return text


def _prices(**said: str) -> dict[str, float | str]:
    return {name: _price(text) for name, text in said.items()}


def _asked_prices(kind: Any, default: Callable[[float], Any], more: str = "") -> dict[str, tuple[Any, Any]]:
    """The options `--cost-miss` … `--review-error`; every price but the last may be a column of the nodes."""
    return {
        name: (
            Annotated[kind, typer.Option(metavar="NUMBER|COLUMN" if "cost" in name else "NUMBER", help=words + more)],
            default(usual),
        )
        for name, (usual, words) in ARGUMENTS.items()
    }


priced_by_column = expand("prices", _asked_prices(str, "{:g}".format), _prices)
"""Gives a command the options `--cost-miss` … `--review-error`, as arguments of `triage`, in place of its parameter `prices`."""

set_for_all = expand(
    "prices",
    _asked_prices(str | None, lambda _: None, " Set for all."),
    lambda **said: {name.removeprefix("cost_"): text for name, text in said.items()},
)
"""The same where what is not said stays as it was, by the names of `calirare.review.settings`."""


on_workers = expand("workers", {"backend": (Backend, "loky"), "jobs": (Jobs, -1), "address": (Address, None)}, dict)
"""Gives a command the options about where its runs are computed, in place of its parameter `workers`."""


def listening(port: int, shows: str) -> Callable[[Command], Command]:
    """Gives a command the options about its address and who may reach it, in place of its parameter `access`.

    Args:
        port: The default.
        shows: How somebody shows the token, for the help.
    """

    def make(allow_host: list[str] | None, **said: Any) -> Any:
        from calirare.scoring.service.access import Access

        access = Access(allowed_hosts=tuple(allow_host or ()), **said)
        access.check()
        return access

    words = {
        "token": f"{shows}, 16 characters or more. In the environment it stays out of `ps`.",
        "allow_host": "Host name by which the server is reached, as behind a proxy; repeatable.",
        "trusted_proxy": "Address of the proxy in front, whose X-Forwarded-For and X-Forwarded-Proto are believed.",
    }
    options = {
        "host": (
            Annotated[str, typer.Option(help="Address to listen on; any but loopback needs --token.")],
            "127.0.0.1",
        ),
        "port": (Annotated[int, typer.Option(help="Port to listen on; 0: a free one.")], port),
        "token": (Annotated[str | None, typer.Option(envvar="CALIRARE_TOKEN", help=words["token"])], None),
        "allow_host": (Annotated[list[str] | None, typer.Option(help=words["allow_host"])], None),
        "trusted_proxy": (Annotated[str | None, typer.Option(help=words["trusted_proxy"])], None),
    }
    return expand("access", options, make)
