"""`calirare figures`: the paper's figures as PNG, PDF and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Jobs, Seed, a_folder
from calirare.cli.progress import share_done

PANEL = "Research"
EXAMPLE = "Example: calirare figures --figure reliability --out figures/"


def figures(
    out: Annotated[Path, a_folder("Folder for the figures and the numbers they were drawn from.")],
    figure: Annotated[
        list[str] | None,
        typer.Option(help="reliability, reliability_rare, network, sensitivity or label_curve; default: all."),
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder of `calirare benchmark`; label_curve reads it.")] = Path(
        "results"
    ),
    dataset: Annotated[
        str, typer.Option(help="Graph of the reliability diagrams: a name, of `datasets add` too, or FILE.npz.")
    ] = "citeseer",
    labels: Annotated[int, typer.Option(help="Labels per class.")] = 20,
    seeds: Annotated[int, typer.Option(help="Runs behind every point of the sensitivity study.")] = 5,
    seed: Seed = 0,
    formats: Annotated[str, typer.Option(help="png, pdf and svg, by commas.")] = "png,pdf,svg",
    backend: Annotated[str, typer.Option(help="Of the sensitivity study: loky or ray.")] = "loky",
    jobs: Jobs = -1,
    as_json: AsJson = False,
) -> None:
    """Draw the figures; the numbers of each lie beside it as CSV."""
    from calirare.benchmark.figures import Request, draw
    from calirare.benchmark.planning import split_words

    wanted = _choose(figure or [], results)
    paths: list[Path] = []
    for name in wanted:
        with share_done(f"Drawing {name}") as step:
            request = Request(
                folder=out,
                results=results,
                dataset=dataset,
                labels_per_class=labels,
                seeds=seeds,
                seed=seed,
                backend=backend,
                jobs=jobs,
                progress=step,
            )
            paths += draw(name, request, split_words(formats))
    if as_json:
        console.show_json({"files": paths})
        return
    for path in paths:
        console.show(str(path))
    if not figure and "label_curve" not in wanted:
        console.show(f"label_curve was left out: {results} holds no rows. Run: calirare benchmark --out {results}")


def _choose(named: list[str], results: Path) -> list[str]:
    """The figures that were named; else all that can be drawn."""
    from calirare.benchmark.figures import FIGURES
    from calirare.errors import InputError, nearest

    for name in named:
        if name not in FIGURES:
            raise InputError(f"--figure must be one of {list(FIGURES)}; got {name!r}: {nearest(name, FIGURES)}")
    wanted = [name for name in FIGURES if not named or name in named]
    if not named and not (results / "runs.parquet").exists():
        wanted.remove("label_curve")
    return wanted
