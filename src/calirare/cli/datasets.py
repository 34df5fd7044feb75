"""`calirare datasets`: the benchmark graphs in the cache folder, and graphs of your own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Label, Rare, Types
from calirare.cli.table_options import Tables, parse_types, tabled
from calirare.cli.voice import voiced

PANEL = "Research"
commands = typer.Typer(no_args_is_help=True, help="List, fetch and verify the benchmark graphs; add your own.")

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAMES", help="Graphs by name; all of them if none is named.")
]


@commands.command("list", epilog="Example: calirare datasets list")
@voiced
def list_(as_json: AsJson = False) -> None:
    """What the graphs hold, which of them are in the cache folder, and the files of your own."""
    from calirare.data.catalogue.benchmarks import benchmark_path, list_benchmarks
    from calirare.data.catalogue.own import list_own

    own = list_own()
    rows = [
        {
            "name": entry.name,
            "nodes": entry.num_nodes,
            "edges": entry.num_directed_edges // 2,
            "features": entry.num_features,
            "classes": len(entry.class_counts),
            "rare_class": entry.rare_class,
            "rare_share": entry.rare_share,
            "licence": entry.licence,
            "source": entry.source,
            "cached": benchmark_path(entry.name).exists(),
        }
        for entry in list_benchmarks()
    ]
    if as_json:
        console.show_json({"folder": benchmark_path("cora").parent, "datasets": rows, "own": own})
        return
    shown = ("name", "nodes", "edges", "features", "rare_share", "licence", "cached")
    said = [
        {**row, "rare_share": f"{row['rare_share']:.2%}", "cached": "yes" if row["cached"] else "no"} for row in rows
    ]
    console.show_table(
        f"Benchmark graphs in {benchmark_path('cora').parent}",
        [name.replace("_", " ") for name in shown],
        [[row[name] for name in shown] for row in said],
        right=(1, 2, 3, 4),
    )
    for name, path in own.items():
        console.show(f"Your own: {name}, {path}")


@commands.command(epilog="Example: calirare datasets fetch cora pubmed")
@voiced
def fetch(
    names: Names = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch and convert again what is already there.")] = False,
    mirror: Annotated[
        str | None, typer.Option(help="Address that serves the upstream files as MIRROR/NAME/FILE.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download, check against sha256, convert and store."""
    from calirare.data.catalogue.benchmarks import fetch_benchmark

    paths = {}
    for name in _chosen(names):
        with console.working(f"Fetching {name}"):
            paths[name] = fetch_benchmark(name, mirror=mirror, force=force)
        if not as_json:
            console.show(f"{name}: {paths[name]}")
    if as_json:
        console.show_json(paths)


@commands.command(epilog="Example: calirare datasets add mine nodes.csv edges.csv --label is_fraud --rare yes")
@tabled
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    tables: Tables,
    rare: Rare,
    label: Label = None,
    types: Types = None,
    force: Annotated[bool, typer.Option("--force", help="Take the place of one of the same name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Keep a graph of your own, read from your tables, for leaderboard, benchmark and figures by its name."""
    from calirare.data.catalogue.own import add_own

    with console.working("Reading the tables"):
        graph = tables.read(label=label, rare=rare, types=parse_types(types))
    path = add_own(name, graph, replaces=force)
    if as_json:
        console.show_json({"name": name, "path": path, "nodes": graph.num_nodes, "labels": int(graph.known.size)})
    else:
        console.show(f"{name}: {path}")


@commands.command(epilog="Example: calirare datasets verify cora")
@voiced
def verify(names: Names = None, as_json: AsJson = False) -> None:
    """Compare the stored graphs with the published statistics and with the sha256 of their arrays.

    Exits with 1 if one of them differs.
    """
    from calirare.data.catalogue.benchmarks import verify_benchmark

    found = []
    for name in _chosen(names):
        with console.working(f"Reading {name}"):
            found.append(verify_benchmark(name))
    if as_json:
        console.show_json([asdict(one) | {"passed": one.passed} for one in found])
    else:
        console.show_table(
            "Stored graphs against what was published",
            ["name", "what", "expected", "found", ""],
            [
                (one.name, check.what, check.expected, check.found, "ok" if check.passed else "DIFFERS")
                for one in found
                for check in one.checks
            ],
        )
        console.show_table(
            "Arrays, byte for byte",
            ["name", "sha256", "", "graph"],
            [
                (
                    one.name,
                    one.content_sha256,
                    "as pinned" if one.content_matches else "differs from the pinned one",
                    "ok" if one.passed else "REFUSED",
                )
                for one in found
            ],
        )
    if not all(one.passed for one in found):
        raise typer.Exit(1)


def _chosen(names: list[str] | None) -> list[str]:
    from calirare.data.catalogue.benchmarks import list_benchmarks
    from calirare.data.catalogue.entries import find_benchmark

    return [find_benchmark(name).name for name in names] if names else [entry.name for entry in list_benchmarks()]
