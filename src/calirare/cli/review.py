"""`calirare review`: the web app in which people decide the cases."""

from __future__ import annotations

import contextlib
import getpass
import logging
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Model, Network, listening, set_for_all

if TYPE_CHECKING:
    from calirare.review.app import DeskServer
    from calirare.review.desk import Desk
    from calirare.scoring.service.access import Access

EXAMPLE = "Example: calirare review model --nodes nodes.csv --cost-miss amount --budget 50"


@set_for_all
@listening(8050, "What reviewers must know to log in")
def review(
    model: Model,
    db: Annotated[
        str | None,
        typer.Option(help="Database of decisions: postgresql://… or sqlite:///…; default: decisions.sqlite in MODEL."),
    ] = None,
    network: Network = "",
    *,
    access: Access,
    reviewer: Annotated[
        str | None, typer.Option(help="Name beside the decisions where nobody logs in; default: your user name.")
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(help="Your table of nodes, so that cases show the whole record; default: what the model read."),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(help="Address of a case in another system, with {id} for the node: https://…/{id}; repeatable."),
    ] = None,
    prices: dict[str, Any],
    budget: Annotated[int | None, typer.Option(help="Most reviews.")] = None,
    order: Annotated[
        str | None, typer.Option(help="Of the queue: value (what a review saves), doubt, probability or urgency.")
    ] = None,
    blind: Annotated[
        bool | None, typer.Option("--blind/--no-blind", help="Show the score of a case only after it was decided.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
    as_json: AsJson = False,
) -> None:
    """Open the review desk on a model folder: queue, cases, decisions, refit. Stops with Ctrl-C."""
    from calirare.review.app import DeskServer, open_desk

    access = replace(access, reviewer=reviewer or _user())
    access.check()
    with console.working("Scoring every node"):
        desk = open_desk(model, db, network, table=nodes, links=link or ())
    _set(desk, prices | {"budget": budget, "order": order, "blind": blind}, access.reviewer)
    server = DeskServer(desk, access)
    # From here on a log that is read later; until here sentences, as of any command.
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a short queue is no news
    raise typer.Exit(_run(server, open_browser, as_json))


def _set(desk: Desk, wanted: dict[str, Any], reviewer: str) -> None:
    """What was said, for all; a desk that cannot take it is closed."""
    try:
        desk.set({name: value for name, value in wanted.items() if value is not None}, reviewer=reviewer)
    except BaseException:
        desk.close()
        raise


def _run(server: DeskServer, open_browser: bool, as_json: bool) -> int:
    """Until Ctrl-C, then 130; until a service manager's SIGTERM, which is a success, then 0."""
    code = 130

    def stop(number: int, frame: object) -> None:
        nonlocal code
        code = 0
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)  # whoever reads the address may stop it at once
    with contextlib.suppress(KeyboardInterrupt):  # before it served, when nothing is under way
        _announce(server, as_json)
        server.run(open_browser)
    return code


def _announce(server: DeskServer, as_json: bool) -> None:
    desk = server.desk
    if as_json:
        console.show_json({"url": server.url, "model": desk.snapshot.version, "decisions": desk.store.name})
    else:
        console.show(f"The review desk is open at {server.url} (decisions in {desk.store.name}). Ctrl-C closes it.")
    console.show_ready(server.access.host, "pages")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for this user id, as in some containers
        return "reviewer"
