"""The service: routes over a loaded model.

FastAPI, because the routes' types are the checks of what comes in and the OpenAPI document of what goes out, which Flask
would need written twice; uvicorn, because one loop holds thousands of connections and answers known nodes without a
thread, while the one thread that scores new nodes is busy. The desk stays with Dash, which stands on Flask.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar

from calirare import __version__
from calirare.errors import CalirareError, InputError, MissingDependencyError

try:
    from fastapi import FastAPI, Path, Query, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.convertors import PathConvertor, register_url_convertor
    from starlette.exceptions import HTTPException

    from calirare.scoring.service.answers import Decisions, Facts, Reasons, Score, Scores, Status, answers_with
    from calirare.scoring.service.bodies import ToDecide, ToExplain, ToScore
    from calirare.scoring.service.counts import Counts
    from calirare.scoring.service.gate import Gate
except ModuleNotFoundError as error:
    raise MissingDependencyError(str(error.name), "serve") from None

from calirare.data.named_columns import NamedColumns
from calirare.decisions.costs import PRICES, Costs
from calirare.decisions.wording import no_score
from calirare.scoring.service.access import Access
from calirare.scoring.service.examples import example_bodies
from calirare.scoring.service.loading import Loaded, Models
from calirare.scoring.service.page import openapi_page

logger = logging.getLogger(__name__)
MOST_WAITING = 256
"""Questions about new nodes that may wait for the thread that answers them."""
T = TypeVar("T")
Known = Annotated[str, Path(description="Of a node of the tables.")]
Top = Annotated[int, Query(ge=1, le=1_000, description="How many columns to name; the others are one sum.")]
_NO_ROUTE = {
    "Not Found": "there is no such route; GET /docs lists them.",
    "Method Not Allowed": "the route is asked in another way; GET /docs says how.",
}
_NO_KEY = "this route knows no such key; GET /docs shows those that it knows."


class Service:
    """A model behind an ASGI application.

    Args:
        models: The model in use.
        access: Who is let in.
        rate: Requests a second for each client; 0: no limit.
    """

    def __init__(self, models: Models, access: Access, rate: float = 0.0) -> None:
        access.check()
        self.models, self.counts = models, Counts()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="calirare-scoring")  # networks are not for two at once
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="calirare-reload")
        self._waiting = 0
        self._one_reload = asyncio.Lock()
        self._next_reload: asyncio.Task[Loaded] | None = None
        self._note_model(models.current)
        self.api = FastAPI(
            title="calirare",
            description="Scores of the nodes of a network, known and new, with the reasons and what to do.",
            version=__version__,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
        )
        _add_facts(self)
        _add_scores(self)
        _add_errors(self.api)
        self._make_document = self.api.openapi
        self.api.openapi = self.document  # type: ignore[method-assign]
        self.app = Gate(self.api, access, rate, self.counts, self.known)

    def document(self) -> dict[str, Any]:
        """The OpenAPI document, with bodies that the model in use understands as they are."""
        document = self._make_document()  # made when first asked for, then kept
        for name, body in example_bodies(self.models.current.live.graph.schema or {}).items():
            document["components"]["schemas"][name]["examples"] = [body]
        return document

    def known(self, node: str) -> bytes | None:
        """The score of a known node as JSON; None where there is none."""
        found = self.models.current.known(node)
        return None if found is None else json.dumps(found, ensure_ascii=False).encode()

    async def work(self, question: Callable[[Loaded], T]) -> T:
        """Answer in the scoring thread, from the model that is in use now."""
        if self._waiting >= MOST_WAITING:
            raise HTTPException(503, "too many questions are waiting; try again.", {"Retry-After": "1"})
        self._waiting += 1
        try:
            loaded = self.models.current
            return await asyncio.get_running_loop().run_in_executor(self._thread, question, loaded)
        finally:
            self._waiting -= 1

    async def reload(self) -> Loaded:
        """Load the model again beside the old one; all who ask while one is being loaded share the next."""
        if self._next_reload is None or self._next_reload.done():
            self._next_reload = asyncio.get_running_loop().create_task(self._reload())
            self._next_reload.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._next_reload)

    async def _reload(self) -> Loaded:
        async with self._one_reload:
            self._next_reload = None
            try:
                loaded = await asyncio.get_running_loop().run_in_executor(self._reading, self.models.reload)
            except Exception as error:
                self.counts.reloads.labels("failed").inc()
                where = None if isinstance(error, CalirareError) else error  # ours says enough by its name
                logger.error("reload failed", extra={"facts": {"why": type(error).__name__}, "where": where})
                raise
        self.counts.reloads.labels("done").inc()
        self._note_model(loaded)
        logger.info("reloaded", extra={"facts": {"model": loaded.version}})
        return loaded

    def _note_model(self, loaded: Loaded) -> None:
        self.counts.note_model(loaded.version, loaded.live.graph.num_nodes, loaded.since)

    def close(self) -> None:
        """Let running work end; a reload is broken off."""
        self.models.close()
        self._thread.shutdown()
        self._reading.shutdown()


def _add_facts(service: Service) -> None:
    api = service.api

    @api.get("/health", responses=answers_with(Status))
    async def health() -> Response:
        """Whether the service answers; needs no token."""
        return JSONResponse({"status": "ok"})

    @api.get("/version", responses=answers_with(Facts))
    async def version() -> Response:
        """Versions of the program and the model, and what is loaded."""
        return JSONResponse({"calirare": __version__, **service.models.current.facts()})

    @api.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counts and times for Prometheus."""
        return Response(service.counts.text(), media_type="text/plain; version=0.0.4")

    @api.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(openapi_page(api.openapi()), media_type="text/html")

    @api.post("/reload", responses=answers_with(Facts))
    async def reload() -> Response:
        """Read the model folder and the tables again; requests go on meanwhile."""
        return JSONResponse({"calirare": __version__, **(await service.reload()).facts()})


class _AnyId(PathConvertor):
    """An id in a path, which may hold slashes and line ends; Starlette's `path` takes no line ends."""

    regex = "(?s:.*)"


def _add_scores(service: Service) -> None:
    api = service.api
    register_url_convertor("any", _AnyId())

    def no_such_node(node: str, ask: str) -> HTTPException:
        kind = service.models.current.live.kind_without_score(node)
        return HTTPException(404, no_score(kind) if kind else f"there is no such node; new ones go to {ask}.")

    @api.get("/nodes/{id:any}/explain", responses=answers_with(Reasons))
    async def explain_known(id: Known, top: Top = 10) -> Response:
        """Why a known node has its probability: columns with signed shares of its logit."""
        if service.models.current.known(id) is None:
            raise no_such_node(id, "POST /explain")
        return JSONResponse(await service.work(lambda loaded: loaded.explain(id, [], [], top)))

    @api.get("/nodes/{id:any}", responses=answers_with(Score))
    async def node(id: Known) -> Response:
        """The score of a known node, as `calirare score` writes it."""
        # Those that have a score are answered before the router (`Gate.known`); here come the others.
        raise no_such_node(id, "POST /score")

    @api.post("/score", responses=answers_with(Scores))
    async def score(body: ToScore) -> Response:
        """Scores of new and changed nodes, equal to a full scoring with these rows; nothing is kept of them."""
        table = await service.work(lambda loaded: loaded.score(body.nodes, body.edges, body.ids))
        service.counts.scored.inc(len(table["id"]))
        return JSONResponse({"scores": list(NamedColumns(table).rows())})

    @api.post("/explain", responses=answers_with(Reasons))
    async def explain(body: ToExplain) -> Response:
        """Why a node has its probability, new rows counted in."""
        return JSONResponse(
            await service.work(lambda loaded: loaded.explain(body.id, body.nodes, body.edges, body.top))
        )

    @api.post("/triage", responses=answers_with(Decisions))
    async def triage(body: ToDecide) -> Response:
        """Alert, review or clear each case at the least expected cost, at its own prices where it has some."""
        import numpy as np

        ids = [case.id for case in body.cases]
        prices = {name: np.array(body.prices(f"cost_{name}")) for name in PRICES}
        costs = Costs(**prices, review_error=body.review_error)
        table = await service.work(lambda loaded: loaded.decide(body.nodes, body.edges, ids, costs, body.budget))
        return JSONResponse({"decisions": list(NamedColumns(table).rows())})


def _add_errors(api: FastAPI) -> None:
    @api.exception_handler(CalirareError)
    async def ours(request: Request, error: CalirareError) -> Response:
        return JSONResponse({"error": str(error)}, 400 if isinstance(error, InputError) else 503)

    @api.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        said = _NO_ROUTE.get(str(error.detail), str(error.detail))
        return JSONResponse({"error": said}, error.status_code, headers=dict(error.headers or {}))

    @api.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        loc = [part for part in first["loc"] if part != "body"]
        if loc[:1] in (["nodes"], ["edges"]):
            del loc[1:2]  # whether rows or tables of rows were sent
        where = ".".join(map(str, loc))
        what = _NO_KEY if first["type"] == "extra_forbidden" else first["msg"]
        said = f"{where}: {what}" if where else "send a JSON object; GET /docs has one for each route."
        return JSONResponse({"error": " ".join(said.split())}, 422)  # a name that was sent may hold line ends

    @api.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        number = secrets.token_hex(4)
        # The traceback names files and lines; the message of the error could hold a value, so it stays out.
        logger.error("error", extra={"facts": {"number": number, "kind": type(error).__name__}, "where": error})
        return JSONResponse({"error": f"Something went wrong here. The log has it under {number}."}, 500)
