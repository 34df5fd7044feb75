"""`calirare monitor`: whether the world has moved since the fit, for people and for schedulers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Db, Model, Network
from calirare.cli.watching import opened_series

if TYPE_CHECKING:
    from calirare.evaluation.monitoring.alarms import Watch

EXAMPLE = "Example: calirare monitor model --days 7"
ALARM = 1
"""Exit code where something alarms; mistakes on the command line exit with 2."""
_MOST_RUNS = 10


def monitor(
    model: Model,
    days: Annotated[float, typer.Option(help="Length of the window that is judged.")] = 7.0,
    db: Db = None,
    network: Network = "",
    as_json: AsJson = False,
) -> None:
    """What scoring runs and decisions say about the model in use; exits with 1 on an alarm.

    Every `calirare score` and `calirare triage`, every load of `calirare serve` and every decision at the desk adds to the series.
    """
    from calirare.errors import InputError
    from calirare.estimator.classifier import load
    from calirare.evaluation.monitoring.alarms import watch
    from calirare.persistence.folder import model_version

    if not days > 0:
        raise InputError(f"--days must be a positive number; got {days:g}.")
    with console.working("Reading the series"):
        version = model_version(model)
        with opened_series(model, db, network) as series:
            found = watch(series, version, load(model).calibration_draws(), days=days)
    if as_json:
        console.show_json(found.to_json())
    else:
        show_watch(found, days)
    for one in found.alarms:
        console.fail(f"{one.name}: {one.words}")
    if found.alarms:
        raise typer.Exit(ALARM)


def show_watch(found: Watch, days: float) -> None:
    """Print signals, runs, and what the decisions say by score."""
    rows = [(one.state, one.name, one.words) for one in found.signals]
    console.show_table(f"Model {found.version}, the last {days:g} days", ["state", "signal", "what was found"], rows)
    if found.runs:
        console.show_table(
            f"Scoring runs, the last {min(len(found.runs), _MOST_RUNS)} of {len(found.runs):,}",
            ["time (UTC)", "command", "nodes", "columns shifted", "score index", "alerted", "rare foreseen"],
            [
                (
                    f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}",
                    command,
                    run.nodes,
                    len(run.shifted) if run.columns else "–",
                    f"{run.score_shift[0]:.3f}",
                    f"{run.alerted:.2%}",
                    f"{run.rare[0]:,.1f}",
                )
                for time, command, run in found.runs[-_MOST_RUNS:]
            ],
            right=(2, 3, 4, 5, 6),
        )
    if found.observed is not None:
        console.show_table(
            "Decisions by score",
            ["P(rare)", "nodes", "decided", "said", "came true (90% interval)"],
            [
                (
                    f"{one.lower:.3f} – {one.upper:.3f}",
                    one.nodes,
                    one.decided,
                    f"{one.said:.1%}",
                    f"{one.observed.value:.1%} ({one.observed.lower:.1%} – {one.observed.upper:.1%})",
                )
                for one in found.observed.bins
            ],
            right=(1, 2, 3),
        )
        console.show(found.observed.say())
