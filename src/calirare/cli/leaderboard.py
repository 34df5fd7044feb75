"""`calirare leaderboard`: every competitor on every graph and protocol, and the page that says who is first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.benchmark import command_line
from calirare.cli.expand import expand
from calirare.cli.options import AnyCode, AsJson, a_folder, on_workers
from calirare.cli.progress import share_done

PANEL = "Research"
EXAMPLE = "Example: calirare leaderboard --out leaderboard/ --protocol tenth --graph cora --graph reddit --seeds 3"
_CELLS: dict[str, tuple[Any, Any]] = {
    "graph": (
        Annotated[
            list[str] | None, typer.Option(help="A graph by name; repeatable; default: all, and those you added.")
        ],
        None,
    ),
    "protocol": (
        Annotated[
            list[str] | None,
            typer.Option(
                help="How labels come about, in full; repeatable; default: all but the paper's, some shortened."
            ),
        ],
        None,
    ),
    "competitor": (
        Annotated[
            list[str] | None,
            typer.Option(
                help="A competitor by name; repeatable; default: with a tenth labelled all but the slow, else the core."
            ),
        ],
        None,
    ),
    "everything": (
        Annotated[
            bool,
            typer.Option("--all", help="Every protocol in full: all numbers of labels, slow competitors, the paper's."),
        ],
        False,
    ),
    "everybody": (Annotated[bool, typer.Option("--everybody", help="Every competitor in every protocol.")], False),
    "any_code": (AnyCode, False),
    "seeds": (Annotated[int, typer.Option(help="Draws of labels for every cell.")], 3),
}


def _choose_cells(
    graph: list[str] | None, protocol: list[str] | None, competitor: list[str] | None, **said: Any
) -> dict[str, Any]:
    """As arguments of `calirare.benchmark.leaderboard.run.run`."""
    return {"graphs": graph or (), "protocols": protocol or (), "names": competitor or (), **said}


@on_workers
@expand("cells", _CELLS, _choose_cells)
def leaderboard(
    context: typer.Context,
    out: Annotated[Path, a_folder("Folder for graphs and rows; a stopped run goes on from it.")],
    *,
    cells: dict[str, Any],
    minutes: Annotated[
        float | None, typer.Option(help="Start nothing after so many; 0: only write the page.", min=0)
    ] = None,
    workers: dict[str, Any],
    docs: Annotated[Path | None, typer.Option(help="Where the page goes; default: leaderboard.md in FOLDER.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask every competitor what it makes of the same labels, and write who finds most and whom to believe.

    By default what an hour on two cores computes; --all does the rest. Rows are stored as they finish: stopped at any moment and started again, the command goes on where it was.
    """
    from calirare.benchmark.leaderboard.graphs import prepare
    from calirare.benchmark.leaderboard.page import write_page
    from calirare.benchmark.leaderboard.run import run

    found = None
    if minutes is None or minutes > 0:
        with console.working("Preparing the graphs"):
            prepare(out / "graphs", cells["graphs"])

        def announce(seconds: float) -> None:
            console.note(_how_long(seconds, workers["jobs"] if workers["backend"] == "loky" else None))

        with share_done("Leaderboard") as step:
            most = math.inf if minutes is None else minutes
            found = run(out / "graphs", out, minutes=most, announce=announce, progress=step, **cells, **workers)
        for words in found.failures:
            console.note(f"failed: {words}")
    with console.working("Writing the page"):
        paths = write_page(out, docs or out / "leaderboard.md", command_line(context))
    if as_json:
        console.show_json({"run": None if found is None else vars(found), "files": paths})
        return
    if found is not None:
        console.show(f"{found.num_computed} runs computed, {found.num_before} were there, {found.num_left} are left.")
        if found.failures:
            console.show(f"{len(found.failures)} runs failed; the same command tries them again.")
    for path in paths:
        console.show(str(path))


def _how_long(seconds: float, jobs: int | None) -> str:
    """
    >>> _how_long(6_900.0, 2)
    'About 6,900 processor seconds by earlier runs: 58 min on 2 cores like those.'
    """
    import joblib

    told = f"About {seconds:,.0f} processor seconds by earlier runs"
    if jobs is None or seconds < 60:
        return f"{told}."
    cores = joblib.effective_n_jobs(jobs)
    return f"{told}: {max(1.0, seconds / 60 / cores):,.0f} min on {cores} core{'s' * (cores > 1)} like those."
