"""The service behind a socket: serve, reload, stop in order."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from typing import Any

from calirare.errors import MissingDependencyError
from calirare.scoring.service.access import Access, bind
from calirare.scoring.service.hang_ups import HangUps

try:
    import uvicorn

    from calirare.scoring.service import patience
    from calirare.scoring.service.app import Service
except ModuleNotFoundError as error:
    raise MissingDependencyError(str(error.name), "serve") from None

STOP_SECONDS = 30
"""Time for running requests to end after a stop was asked for."""


class Server:
    """A service on an address.

    Args:
        service: What to serve.
        access: Where and to whom.
        watch: Seconds between looks at the model folder; a changed model is loaded. 0: only when asked.
        hang_ups: What notices SIGHUP already; None: it is noticed while the server runs.
    """

    def __init__(self, service: Service, access: Access, watch: float = 0.0, hang_ups: HangUps | None = None) -> None:
        self.service, self.access, self.watch = service, access, watch
        self._hang_ups = hang_ups or HangUps()
        self._socket = bind(access.host, access.port)
        self._socket.listen(1_024)  # whoever reads the address may connect at once
        proxy = access.trusted_proxy
        self._server = uvicorn.Server(
            uvicorn.Config(
                service.app,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=proxy is not None,
                forwarded_allow_ips=proxy or "",
                http=patience.PatientProtocol,
                ws="none",
                limit_concurrency=patience.MOST_CONNECTIONS + 100,  # ours comes first
                timeout_keep_alive=60,
                timeout_graceful_shutdown=STOP_SECONDS,
                lifespan="off",
            )
        )

    @property
    def url(self) -> str:
        return self.access.url(self._socket.getsockname()[1])

    def run(self) -> None:
        """Serve until a stop; running requests end first."""
        if threading.current_thread() is threading.main_thread():
            # Before uvicorn listens to it, and again when all is done: it sends itself the signal, and a stop is a success.
            signal.signal(signal.SIGTERM, lambda number, frame: self.stop())
            self._hang_ups.catch()
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(self._serve())
        finally:
            self.service.close()
            self._socket.close()

    async def _serve(self) -> None:
        loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[Any]]()

        def reload() -> None:
            task = loop.create_task(self._reload())
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        # No handler of the loop's own: it would be gone before the last request is.
        self._hang_ups.tell(lambda: loop.call_soon_threadsafe(reload))
        tasks.add(loop.create_task(self._drop_slow()))
        if self.watch:
            tasks.add(loop.create_task(self._watch()))
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._hang_ups.tell(None)
        for task in tasks:
            task.cancel()

    async def _reload(self) -> None:
        with contextlib.suppress(Exception):  # it is logged, and the old model stays
            await self.service.reload()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.watch)
            if await asyncio.to_thread(lambda: self.service.models.is_outdated):
                await self._reload()  # one at a time: each is a run in the series

    async def _drop_slow(self) -> None:
        while True:
            await asyncio.sleep(patience.LOOK_SECONDS)
            patience.drop_slow(self._server.server_state.connections)

    def stop(self) -> None:
        """Ask for an orderly stop, from any thread."""
        self._server.should_exit = True


def _loop_factory() -> Any:
    try:
        import uvloop
    except ModuleNotFoundError:  # not for every system
        return None
    return uvloop.new_event_loop
