"""The socket in front of the desk, which slow or idle strangers cannot hold shut.

Waitress reads all requests in one loop and gives whole ones to its threads, so a slow client holds no thread. It holds a
connection, though, for as long as it sends a byte now and then, and Waitress stops accepting at a number of connections.
Here a request has some seconds to arrive, and at the limit the connection that has kept us waiting longest makes room.
"""

from __future__ import annotations

import select
import socket
import time
from typing import Any

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from calirare.scoring.service.access import first_to_go

THREADS = 16
MOST_CONNECTIONS = 400
REQUEST_SECONDS = 20.0
"""Time for a request to arrive whole. A megabyte, the largest, needs 50 kB/s."""
ANSWER_SECONDS = 300.0
"""Time for an answer to be taken."""
IDLE_SECONDS = 60
LOOK_SECONDS = 2
"""Time between two looks at who is too slow."""


class _Channel(HTTPChannel):
    """A connection that knows since when it keeps us waiting."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.began = time.time()
        self.answering_since: float | None = None
        self.has_asked = False
        super().__init__(*args, **options)

    def received(self, data: bytes) -> bool:
        if self.request is None:
            self.began = time.time()
        taken = bool(super().received(data))
        self.has_asked = self.has_asked or bool(self.requests)
        return taken

    @property
    def waits(self) -> bool:
        """Whether nothing is being done for it: it is idle, or its request is not there yet."""
        return not self.requests and not self.total_outbufs_len

    @property
    def waiting_since(self) -> float:
        return float(self.began if self.request is not None or not self.has_asked else self.last_activity)

    def is_too_slow(self, now: float) -> bool:
        """Whether its request, or its taking of an answer, lasts too long."""
        if self.total_outbufs_len:
            self.answering_since = self.answering_since or now
            return now - self.answering_since > ANSWER_SECONDS
        self.answering_since = None
        incomplete = self.request is not None or not self.has_asked
        return self.waits and incomplete and now - self.began > REQUEST_SECONDS


class PatientServer(TcpWSGIServer):
    """Waitress, with room for whoever comes next."""

    channel_class = _Channel

    def handle_accept(self) -> None:
        super().handle_accept()
        # One connection comes, at most one goes, and never one whose request is being answered.
        if len(self.active_channels) > MOST_CONNECTIONS:
            self._drop_one()

    def maintenance(self, now: float) -> None:
        super().maintenance(now)
        for channel in list(self.active_channels.values()):
            if channel.is_too_slow(now):
                channel.will_close = True

    def _drop_one(self) -> None:
        """Close the connection that has waited longest, of the address that holds most of them."""
        waiting = [one for one in self.active_channels.values() if one.waits and not one.will_close]
        dropped = first_to_go(waiting, lambda one: str(one.addr[0]), lambda one: one.waiting_since)
        if dropped is not None:
            dropped.will_close = True


def make_server(application: Any, bound: socket.socket, largest_request: int, trusted_proxy: str | None) -> Any:
    """A server on a bound socket; `run` serves until `close`."""
    proxy: dict[str, Any] = {}
    if trusted_proxy is not None:
        headers = {"x-forwarded-for", "x-forwarded-proto"}
        proxy = {"trusted_proxy": trusted_proxy, "trusted_proxy_count": 1, "trusted_proxy_headers": headers}
    settings = Adjustments(
        sockets=[bound],
        threads=THREADS,
        ident=None,
        max_request_body_size=largest_request,
        max_request_header_size=64 << 10,
        connection_limit=2 * MOST_CONNECTIONS,  # ours comes first
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=LOOK_SECONDS,
        asyncore_use_poll=hasattr(select, "poll"),  # select stops at 1024 files
        clear_untrusted_proxy_headers=True,
        **proxy,
    )
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(settings.threads)
    address = (bound.family, bound.type, bound.proto, bound.getsockname())
    return PatientServer(
        application, {}, True, bound, dispatcher=dispatcher, adj=settings, bind_socket=False, sockinfo=address
    )
