"""`calirare refit`: fit a model folder again, with guard rails and a way back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Model, Network
from calirare.cli.progress import share_done
from calirare.cli.table_options import Tables, perhaps_tabled
from calirare.errors import InputError

if TYPE_CHECKING:
    from calirare.review.renewal import NewTables, Renewal

EXAMPLE = "Example: calirare refit model nodes.csv edges.csv"
KEPT = 1
"""Exit code where the new model is worse and the old one stays; mistakes on the command line exit with 2."""


@perhaps_tabled
def refit(
    model: Model,
    tables: Tables | None = None,
    decisions: Annotated[
        str | None,
        typer.Option(
            help="Reviewers' decisions: a model folder, an SQLite file or a database URL; default: MODEL's own."
        ),
    ] = None,
    network: Network = "",
    force: Annotated[bool, typer.Option("--force", help="Let the new model in even if it is worse.")] = False,
    back: Annotated[bool, typer.Option("--back", help="Fit nothing: go back to the model before this one.")] = False,
    to: Annotated[str | None, typer.Option(help="Fit nothing: go to this version.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit again with new tables, new decisions or both, and let the new model in where it is not worse.

    Both models are judged on the same labels, each by what it says without that label. The old model is kept under
    MODEL/versions. Exits with 1 where the new model is worse and the old one stays.
    """
    from calirare.persistence.folder import model_version
    from calirare.review.versions import list_versions, make_current, version_before

    before = model_version(model)
    if back or to is not None:
        if tables is not None or (back and to is not None):
            raise InputError("--back and --to fit nothing; give one of them, and no tables.")
        make_current(model, version_before(model) if to is None else to)
        facts: dict[str, Any] = {"installed": True, "before": before, "version": model_version(model)}
        words = f"Model {facts['version']} is in use again, in place of {before}."
    else:
        done = _fit_again(model, tables, decisions, network, force)
        facts, words = _facts(done), _words(done)
    kept = list_versions(model)
    if as_json:
        console.show_json({"model": model, **facts, "versions": [vars(one) for one in kept]})
    else:
        rows = [
            (one.version, one.data or "", f"{one.time:%Y-%m-%d %H:%M} UTC", "in use" if one.is_current else "")
            for one in kept
        ]
        console.show_table("Models", ["version", "data", "made", ""], rows)
        console.show(words)
    if not facts["installed"]:
        raise typer.Exit(KEPT)


def _fit_again(model: Path, tables: Tables | None, decisions: str | None, network: str, force: bool) -> Renewal:
    from calirare.review.renewal import renew

    with console.working("Reading model and tables"), console.each_once():
        new = None if tables is None else _read(model, tables)
    with share_done("Fitting", lines=False) as step:
        return renew(model, tables=new, decisions=decisions, network=network, force=force, progress=step)


def _read(model: Path, tables: Tables) -> NewTables:
    from calirare.estimator.classifier import load
    from calirare.review.renewal import NewTables
    from calirare.scoring.table import check_reads_tables

    schema = check_reads_tables(load(model))
    return NewTables(tables.read_like(schema), tables.read(schema=schema))


def _facts(done: Renewal) -> dict[str, Any]:
    gain = done.likelihood
    plain = {name: value for name, value in vars(done).items() if name != "likelihood"}
    return {**plain, "gain": gain.gain, "error": gain.error, "compared": gain.num_labels}


def _words(done: Renewal) -> str:
    if done.installed and done.version == done.before:
        return f"Nothing is new: these tables and decisions give the model that is in use, {done.version}."
    labels = (
        f"fitted on {done.labels_after:,}, {done.decisions:,} of them decisions; the old one on {done.labels_before:,}"
    )
    verdict = f"The new model is {done.likelihood.say()} ({labels})."
    if done.installed:
        return f"{verdict} It is in use: {done.version}. Back with `--back`."
    return f"{verdict} The old one stays: {done.version}. --force lets the new one in."
