"""`calirare serve`: scores over HTTP as things happen."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Coverage, Model, listening
from calirare.cli.table_options import Tables, tabled
from calirare.cli.watching import Watching, watched

if TYPE_CHECKING:
    from calirare.scoring.service.access import Access
    from calirare.scoring.service.loading import Loaded
    from calirare.scoring.service.server import Server

EXAMPLE = "Example: calirare serve model nodes.parquet edges.parquet --port 8060"


@tabled
@watched
@listening(8060, "What clients send as `Authorization: Bearer …`")
def serve(
    model: Model,
    tables: Tables,
    *,
    access: Access,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests a second for each client address; 0: no limit.")
    ] = 2_000.0,
    watch: Annotated[
        float, typer.Option(min=0, help="Seconds between looks at MODEL; a refitted one is loaded. 0: on SIGHUP alone.")
    ] = 0.0,
    coverage: Coverage = 0.9,
    watching: Watching,
    as_json: AsJson = False,
) -> None:
    """Answer over HTTP: scores of known and new nodes, reasons, triage, metrics. Stops with Ctrl-C or SIGTERM.

    The page /docs lists every route. The service keeps nothing of what it is asked: it reads the model and the tables, and
    writes logs to stderr, one JSON object a line, without ids and values. SIGHUP or POST /reload reads both again. Each load
    scores every node, and is a run in the series that `calirare monitor` reads.
    """
    from calirare.scoring.service.hang_ups import HangUps

    with HangUps() as hang_ups:  # before anything that takes time
        from calirare.scoring.service.app import Service
        from calirare.scoring.service.loading import Models
        from calirare.scoring.service.logs import log_to_stderr
        from calirare.scoring.service.own_process import ReadApart
        from calirare.scoring.service.server import Server

        with console.working("Scoring every node"):
            note = partial(_take_run, model, watching) if watching.monitor else None
            models = Models(model, tables.read_for, coverage, note, ReadApart())
        server = Server(Service(models, access, rate), access, watch, hang_ups)
        log_to_stderr()
        _say_where(server, as_json)
        server.run()


def _say_where(server: Server, as_json: bool) -> None:
    facts = server.service.models.current.facts()
    if as_json:
        console.show_json({"url": server.url, **facts})
    else:
        console.show(
            f"Serving {facts['nodes']:,} nodes at {server.url} (routes at {server.url}/docs). Ctrl-C stops it."
        )
    console.show_ready(server.access.host, "answers")


def _take_run(model: Path, watching: Watching, loaded: Loaded) -> None:
    """Every node as it stands, as a run. New nodes of a question are not: with their few edges they always look shifted."""
    from calirare.data.tables.shift import compare_with_fit

    live = loaded.live
    shifts = compare_with_fit(live.graph)
    watching.take(model, live.classifier, loaded.unknown, "serve", version=loaded.version, shifts=shifts)
