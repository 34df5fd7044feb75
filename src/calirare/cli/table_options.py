"""Which tables a command reads, and how: the same arguments and options for all of them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calirare.cli.expand import expand
from calirare.cli.options import IdColumn, SourceColumn, TargetColumn, WeightColumn, table_address
from calirare.cli.pipes import received
from calirare.data.tables.sources.addresses import hide_passwords, table_name
from calirare.errors import InputError

if TYPE_CHECKING:
    from calirare.data.graph import RareGraph

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "more_nodes": (
        Annotated[
            list[str] | None,
            typer.Option("--nodes", help="A further table of nodes, a kind of its own: FILE or NAME=FILE; repeatable."),
        ],
        None,
    ),
    "more_edges": (
        Annotated[
            list[str] | None,
            typer.Option("--edges", help="A further table of edges, a type of its own: FILE or NAME=FILE; repeatable."),
        ],
        None,
    ),
    "labels": (
        Annotated[
            Path | None,
            typer.Option(
                parser=table_address,
                metavar="TABLE",
                help="Table of ids and labels; without NODES the nodes are those that EDGES names.",
            ),
        ],
        None,
    ),
    "id_column": (IdColumn, None),
    "source": (SourceColumn, None),
    "target": (TargetColumn, None),
    "weight": (WeightColumn, None),
    "undirected": (Annotated[bool, typer.Option("--undirected", help="The ends of an edge do not differ.")], False),
    "edge_type": (Annotated[str | None, typer.Option(help="Column of the edges that tells their type.")], None),
    "node_type": (Annotated[str | None, typer.Option(help="Column of the nodes that tells their kind.")], None),
    "bipartite": (
        Annotated[bool, typer.Option("--bipartite", help="The ends are of two kinds: customer 5 is not merchant 5.")],
        False,
    ),
    "time": (Annotated[str | None, typer.Option(help="Column of the edges or nodes that says when.")], None),
    "same": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="COLUMN",
                help="Column of the nodes that joins those with the same value: a device, a doctor; repeatable. Default: guessed.",
            ),
        ],
        None,
    ),
    "drop_unknown_edges": (
        Annotated[bool, typer.Option("--drop-unknown-edges", help="Leave out edges to nodes that are not in NODES.")],
        False,
    ),
    "keep_unknown_edges": (
        Annotated[
            bool,
            typer.Option(
                "--keep-unknown-edges", help="Keep them; nodes that are not in NODES are a kind of their own."
            ),
        ],
        False,
    ),
}


@dataclass(frozen=True)
class Tables:
    """The tables of a command line.

    Args:
        nodes: As `read_tables` takes them; None: the nodes come from the edges.
        edges: As `read_tables` takes them; None: there are none.
        options: Further arguments of `read_tables`.
    """

    nodes: Any
    edges: Any
    options: dict[str, Any] = field(default_factory=dict)

    def check_apart(self, out: Path | str) -> None:
        """Refuse to write the result over a table that is read, or among the files of one that is a folder."""
        given = [self.nodes, self.edges, self.options.get("labels")]
        files = [file for one in given for file in (one.values() if isinstance(one, dict) else [one])]
        for file in files:
            if not isinstance(file, Path) or not isinstance(out, Path):
                continue  # an address of a database
            where = out.parent if file.is_dir() else out
            if (file.is_file() or file.is_dir()) and where.exists() and file.samefile(where):
                raise InputError(f"--out must not be one of the tables that are read; {out} is part of {file}.")

    def words(self) -> str:
        """The tables as another command takes them; placeholders where they are not files.

        >>> Tables(Path("my nodes.csv"), Path("edges.csv")).words(), Tables("postgresql://a#b", None).words()
        ("'my nodes.csv' edges.csv", 'NODES EDGES')
        >>> Tables({"users": Path("users.csv"), "shops": Path("shops.csv")}, Path("pays.csv")).words()
        'users.csv pays.csv --nodes shops=shops.csv'
        >>> Tables(None, {"pays": Path("pays.csv"), "calls": Path("calls.csv")}).words()
        '--edges pays=pays.csv --edges calls=calls.csv'
        """
        given = [one if isinstance(one, dict) else {"": one} for one in (self.nodes, self.edges) if one is not None]
        if not all(isinstance(file, Path) and file.stem != "stdin" for one in given for file in one.values()):
            return "NODES EDGES"
        options = [option for option, one in (("--nodes", self.nodes), ("--edges", self.edges)) if one is not None]
        ahead = (
            1 if len(given) == 2 or len(given[0]) == 1 else 0
        )  # a single file before others would be of the other table
        first = [str(file) for one in given for file in list(one.values())[:ahead]]
        rest = [
            (option, *named) for option, one in zip(options, given, strict=True) for named in list(one.items())[ahead:]
        ]
        more = [word for option, name, file in rest for word in (option, f"{name}={file}")]
        return shlex.join([*first, *more])

    def read(self, **said: Any) -> RareGraph:
        """The graph of the tables; see `read_tables`."""
        from calirare.data.tables.reading import read_tables

        mine = self.told_apart(said.get("schema"))
        return read_tables(mine.nodes, mine.edges, **self.options, **said)

    def told_apart(self, schema: dict[str, Any] | None = None) -> Tables:
        """A single file is the edges; it is the nodes where the nodes cannot come from the edges, and no edges are asked for.

        That is at a fit without `--labels`, and for a model that was fitted without edges.
        """
        from calirare.data.tables.gathering.tables import without_edges

        lone = self.nodes is None and self.options.get("labels") is None
        return (
            replace(self, nodes=self.edges, edges=None) if lone and (schema is None or without_edges(schema)) else self
        )

    def read_for(self, classifier: Any) -> RareGraph:
        """The graph of the tables as the model wants them."""
        from calirare.scoring.table import check_reads_tables

        return self.read(schema=check_reads_tables(classifier))

    def read_like(self, schema: dict[str, Any]) -> RareGraph:
        """The graph of the tables, learned again, with each column in the part it had at fit unless said otherwise."""
        from calirare.data.tables.reading import read_tables
        from calirare.data.tables.schema.asked import arguments_of

        said = {name: value for name, value in self.options.items() if value not in (None, False)}
        mine = self.told_apart(schema)
        return read_tables(mine.nodes, mine.edges, **{**arguments_of(schema), **said})


def choose_tables(
    nodes: Path | str | None,
    edges: Path | str | None,
    more_nodes: list[str] | None,
    more_edges: list[str] | None,
    labels: Path | str | None,
    id_column: str | None,
    undirected: bool,
    bipartite: bool,
    **options: Any,
) -> Tables:
    """What the command line says of the tables. A single file is the edges, unless `--edges` names those; see `told_apart`."""
    if nodes is not None and edges is None and not more_edges:
        nodes, edges = None, nodes
    node_files, edge_files = _files(nodes, more_nodes), _files(edges, more_edges)
    if not node_files and not edge_files:
        raise InputError("NODES and EDGES must be given: two tables, or the nodes alone where nothing joins them.")
    said = {
        "id": id_column,
        "labels": None if labels is None else received(labels),
        "directed": False if undirected else None,
        **options,
    }
    said["bipartite"] = bipartite or None
    return Tables(_one_or_all(node_files), _one_or_all(edge_files), said)


def _files(first: Path | str | None, more: list[str] | None) -> dict[str, Path | str]:
    more = list(more or ())
    if first is not None and not Path(first).exists() and Path(str(first).partition("=")[2] or first).exists():
        first, more = None, [str(first), *more]  # NAME=FILE by place
    found = {} if first is None else {table_name(first) or "query": received(first)}
    for text in more:
        name, equals, file = text.partition("=")
        named = bool(equals) and "://" not in name  # an address may hold an equals sign
        path = table_address(file if named else text)
        name = name if named else table_name(path) or "query"
        if name in found:
            raise InputError(
                f"tables must have different names; {name!r} is given twice. Name one: NAME={hide_passwords(str(path))}."
            )
        found[name] = received(path)
    return found


def _one_or_all(files: dict[str, Path | str]) -> Any:
    if len(files) <= 1:
        return next(iter(files.values()), None)
    return files


_FILES: dict[str, tuple[Any, Any]] = {
    name: (
        Annotated[
            Path | None,
            typer.Argument(
                parser=table_address,
                metavar=name.upper(),
                help=f"Table of {name}: .csv, .parquet, .arrow, .jsonl, URL#TABLE in a database, - for standard input.",
                show_default=False,
            ),
        ],
        None,
    )
    for name in ("nodes", "edges")
}


def _choose_any(**said: Any) -> Tables | None:
    return choose_tables(**said) if any(said.values()) else None


tabled = expand("tables", _FILES, choose_tables, late=_OPTIONS)
"""Gives a command the arguments NODES and EDGES and the options about tables, in place of its parameter `tables`."""

perhaps_tabled = expand("tables", _FILES, _choose_any, late=_OPTIONS)
"""The same, where no table at all means those of the fit: `tables` is then None."""


def parse_types(types: list[str] | None) -> dict[str, str]:
    """`COLUMN=TYPE` as pairs."""
    pairs = {}
    for text in types or ():
        column, equals, kind = text.rpartition("=")
        if not equals:
            raise InputError(
                f"--type must look like COLUMN=TYPE, the type being numeric, categorical, time, text or ignore; got {text!r}."
            )
        pairs[column] = kind
    return pairs
