"""Connections that slow or idle strangers cannot hold shut.

uvicorn waits for a request as long as a byte comes now and then, takes a head of any size, and at its limit of connections
turns everybody away. Here a request has some seconds to arrive and its head an end, and at the limit the connection that
has kept us waiting longest makes room: the desk's rules (`calirare.review.serving`), for the loop of the service.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from calirare.scoring.service.access import first_to_go

MOST_CONNECTIONS = 800
"""Below the usual limit of 1,024 open files."""
REQUEST_SECONDS = 30.0
"""Time for a request to arrive whole. The largest, of 4 MB, needs 140 kB/s."""
ANSWER_SECONDS = 300.0
"""Time for an answer to be made and taken."""
LOOK_SECONDS = 2.0
"""Time between two looks at who is too slow."""
LARGEST_HEAD = 64 << 10
_IDLE, _HEAD, _BODY, _ANSWER = range(4)


class PatientProtocol(HttpToolsProtocol):
    """A connection that knows since when it keeps us waiting."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.began, self._phase, self._head_size, self._dropped = time.monotonic(), _HEAD, 0, False
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            _drop_one(one for one in self.connections if isinstance(one, PatientProtocol))

    def data_received(self, data: bytes) -> None:
        if self._phase == _IDLE:
            self.began, self._phase, self._head_size = time.monotonic(), _HEAD, 0
        if self._phase == _HEAD:
            self._head_size += len(data)
        super().data_received(data)
        if self._phase == _HEAD and self._head_size > LARGEST_HEAD:
            self.drop()

    def on_headers_complete(self) -> None:
        self._phase, self._head_size = _BODY, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._phase = _IDLE if self.cycle.response_complete else _ANSWER

    def on_response_complete(self) -> None:
        if self._phase == _ANSWER and not self.pipeline:
            self.began, self._phase = time.monotonic(), _IDLE
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """Whether nothing is being done for it: it is idle, or its request is not there yet."""
        return self._phase != _ANSWER and not self._dropped

    def is_too_slow(self, now: float) -> bool:
        """Whether its request, or its taking of an answer, lasts too long; for idle ones uvicorn has a limit."""
        if self._phase == _IDLE:  # answered, but uvicorn does not close what has not taken all of it
            return self.transport.get_write_buffer_size() > 0 and now - self.began > ANSWER_SECONDS
        return now - self.began > (ANSWER_SECONDS if self._phase == _ANSWER else REQUEST_SECONDS)

    def drop(self) -> None:
        """Close it at once."""
        self._dropped = True
        self.transport.abort()


def drop_slow(connections: Iterable[object]) -> None:
    """Close every connection that takes too long."""
    now = time.monotonic()
    for one in list(connections):
        if isinstance(one, PatientProtocol) and one.is_too_slow(now):
            one.drop()


def _drop_one(connections: Iterable[PatientProtocol]) -> None:
    """Close the connection that has waited longest, of the address that holds most of them."""
    waiting = [one for one in connections if one.waits]
    dropped = first_to_go(waiting, lambda one: (one.client or ("",))[0], lambda one: one.began)
    if dropped is not None:
        dropped.drop()
