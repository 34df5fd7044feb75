"""`calirare benchmark`: the paper's tables, with every method side by side."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.options import AnyCode, AsJson, a_folder, on_workers
from calirare.cli.progress import share_done

if TYPE_CHECKING:
    from calirare.benchmark import Results

PANEL = "Research"
EXAMPLE = "Example: calirare benchmark --table calibration --datasets cora,citeseer --seeds 5 --out results/"
TABLES = ("calibration", "classification")


@on_workers
def benchmark(
    context: typer.Context,
    out: Annotated[Path, a_folder("Folder for rows and tables; a run that was stopped goes on from it.")],
    table: Annotated[
        list[str] | None, typer.Option(help="calibration (Table 2) or classification (Table 3); default: both.")
    ] = None,
    datasets: Annotated[
        str, typer.Option(help="Graphs by name, yours of `datasets add` too, by commas; none: only --dataset.")
    ] = "all",
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="A graph of yours: FILE.npz, or MODULE:FUNCTION that returns one; repeatable."),
    ] = None,
    methods: Annotated[
        str, typer.Option(help="METHOD[:PRIOR][@BACKBONE], by commas; default: those of the table.")
    ] = "all",
    method: Annotated[
        list[str] | None,
        typer.Option(help="A method of yours: MODULE:CLASS or FILE.py:CLASS; repeatable."),
    ] = None,
    labels: Annotated[str, typer.Option(help="Labels per class, by commas.")] = "20,30,40",
    seeds: Annotated[int, typer.Option(help="Runs of every cell.")] = 5,
    protocol: Annotated[str, typer.Option(help="default, or paper: CiteSeer's unlabelled nodes are rare.")] = "default",
    epochs: Annotated[int | None, typer.Option(help="Epochs of every training; default: the paper's.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu",
    any_code: AnyCode = False,
    *,
    workers: dict[str, Any],
    docs: Annotated[Path | None, typer.Option(help="Write the Markdown page here as well.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run every method on every graph and write the tables as Markdown, LaTeX, CSV and HTML.

    Rows are stored as they finish: stopped at any moment and started again, the command goes on where it was.
    """
    from calirare.benchmark import planning, run_grid
    from calirare.benchmark.pages import make_section, write_pages

    sys.path.insert(0, "")  # MODULE:CLASS may lie in the folder the command runs in
    chosen = _check_tables(table)
    entries = {name: planning.choose_entries(name, methods, method or ()) for name in chosen}
    grid = planning.make_grid(
        datasets=planning.choose_datasets(datasets, dataset or (), protocol),
        entries=[entry for found in entries.values() for entry in found],
        own_methods=method or (),
        labels=planning.whole_numbers(labels, "labels"),
        seeds=seeds,
        epochs=epochs,
        device=device,
    )
    with share_done("Benchmark") as step:
        results = run_grid(grid, out, any_code=any_code, progress=step, **workers)
    with console.working("Writing the tables"):
        sections = [make_section(results, name, entries[name]) for name in chosen]
        paths = write_pages(results, out, sections, command_line(context), docs=docs)
    _show(results, paths, as_json)


def _check_tables(names: list[str] | None) -> list[Any]:
    from calirare.errors import InputError

    for name in names or ():
        if name not in TABLES:
            raise InputError(f"--table must be one of {list(TABLES)}; got {name!r}.")
    return [name for name in TABLES if not names or name in names]


def command_line(context: typer.Context) -> str:
    """The command that does this again: the seeds, and the options that differ from their defaults."""
    words = ["calirare", context.command.name or ""]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        usual = value in (None, (), []) or value == parameter.default
        if parameter.name == "as_json" or usual and parameter.name != "seeds":
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [parameter.opts[0]] if one is True else [parameter.opts[0], str(one)]
    return shlex.join(words)


def _show(results: Results, paths: list[Path], as_json: bool) -> None:
    told = ("dataset", "labels_per_class", "seed", "entry")
    failures = [{name: row[name] for name in told} | {"reason": row["failed"]} for row in results.failures]
    if as_json:
        facts = {"rows": len(results.rows), "computed": results.num_computed, "reused": results.num_reused}
        console.show_json({**facts, "failures": failures, "files": paths})
    else:
        console.show(f"{results.num_computed} runs computed, {results.num_reused} were there already.")
        for path in paths:
            console.show(str(path))
    for row in results.failures:
        where = f"{row['dataset']}, {row['labels_per_class']} labels, seed {row['seed']}, {row['entry']}"
        console.fail(f"{where}: {row['failed']}")
    if failures:
        raise typer.Exit(1)
