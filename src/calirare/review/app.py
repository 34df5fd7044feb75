"""The web app, put together and served."""

from __future__ import annotations

import logging
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calirare.errors import CalirareError, DataError, InputError, MissingDependencyError

try:
    from dash import Dash, set_props
    from flask import Flask

    from calirare.review.serving import make_server
except ModuleNotFoundError as error:
    raise MissingDependencyError(str(error.name), "review") from None

from calirare.persistence.folder import model_version
from calirare.review.api import add_routes
from calirare.review.desk import Desk
from calirare.review.pages import case_page, model_page, monitoring_page, quality_page, queue_page, shell
from calirare.review.security import LARGEST_REQUEST, guard
from calirare.review.store.database import database_url
from calirare.review.store.decisions import DecisionStore
from calirare.scoring.service.access import Access, bind

logger = logging.getLogger(__name__)

_INDEX = """<!DOCTYPE html>
<html lang="en">
  <head>
    {%metas%}
    <title>{%title%}</title>
    {%css%}
    <link rel="preload" as="script" href="/_dash-component-suites/dash_ag_grid/async-community.js">
  </head>
  <body>
    {%app_entry%}
    <footer>{%config%}{%scripts%}{%renderer%}</footer>
  </body>
</html>"""


def open_desk(
    model: str | Path, db: str | None = None, network: str = "", *, table: Any = None, links: Sequence[str] = ()
) -> Desk:
    """A desk for a model folder; decisions go to `db`, else to a file beside the model. For the rest see `Desk`."""
    model_version(model)  # refuses what is no model before a database is made in its place
    where = model if db is None else db
    _refuse_memory(where)
    store = DecisionStore.open(where, network=network)
    try:
        return Desk(model, store, table, links)
    except BaseException:
        store.close()
        raise


def _refuse_memory(where: str | Path) -> None:
    url = database_url(where)
    file = url.database or ""
    if url.get_backend_name() == "sqlite" and (file in ("", ":memory:") or file.startswith("file:") or url.query):
        raise InputError("the desk keeps its decisions in a file; give --db sqlite:///FILE, or postgresql://….")


def make_app(desk: Desk, access: Access) -> Dash:
    """The Dash app with its checks, routes, pages and callbacks. `app.server` is the WSGI application."""
    access.check()
    server: Any = Flask("calirare.review", static_folder=None)
    app = Dash(
        __name__,
        server=server,
        assets_folder=str(Path(__file__).with_name("assets")),
        serve_locally=True,
        title="calirare review desk",
        update_title="",
        index_string=_INDEX,
        suppress_callback_exceptions=True,  # parts of the case page come and go
        add_log_handler=False,
        on_error=_say_error,
        **_without_extras(),
    )
    app.enable_dev_tools(debug=False)
    app.layout = lambda: shell.layout(desk, access)
    shell.add_callbacks(app, desk, access)
    queue_page.add_callbacks(app, desk)
    case_page.add_callbacks(app, desk, access)
    quality_page.add_callbacks(app, desk)
    monitoring_page.add_callbacks(app, desk)
    model_page.add_callbacks(app, desk, access)
    add_routes(server, desk, access)
    guard(server, access, app.csp_hashes())
    return app


def _without_extras() -> dict[str, Any]:
    """Switch off what newer versions of Dash can open beside the pages, whatever the environment says."""
    import inspect

    known = inspect.signature(Dash.__init__).parameters
    return {name: False for name in ("enable_mcp", "websocket_callbacks") if name in known}


def _say_error(error: Exception) -> None:
    """Tell the reviewer what went wrong in a callback: our words, never a traceback."""
    if isinstance(error, DataError):
        logger.error("%s", error)
        text = "The decision database did not answer. Try again."
    elif isinstance(error, CalirareError):
        text = str(error)
    else:
        logger.error("a page could not be filled", exc_info=error)
        text = "Something went wrong here; the desk's log has it."
    set_props("message", {"data": {"text": text[:500], "kind": "bad"}})


class DeskServer:
    """The desk behind a socket.

    Args:
        desk: What to serve.
        access: Where and to whom.

    Raises:
        InputError: The address is not free, or would let strangers in.
    """

    def __init__(self, desk: Desk, access: Access) -> None:
        self.desk, self.access = desk, access
        app = make_app(desk, access)
        self._socket = bind(access.host, access.port)
        desk.warm_up()
        self._server = make_server(app.server, self._socket, LARGEST_REQUEST, access.trusted_proxy)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address to open."""
        return self.access.url(self._socket.getsockname()[1])

    def run(self, open_browser: bool = False) -> None:
        """Serve until interrupted."""
        if open_browser:
            threading.Timer(0.5, webbrowser.open, [self.url]).start()
        try:
            self._server.run()
        finally:
            self.close()

    def start(self) -> None:
        """Serve in the background, for tests."""
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and close the desk; a running refit is stopped without a trace."""
        self._server.close()
        self._server.task_dispatcher.shutdown()
        self.desk.close()
