"""What every request passes: host, token, rate, size; and what is written of it: never an id, a value or an address."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from calirare.scoring.service.access import Access, is_own_origin, is_plain_json, is_token
from calirare.scoring.service.counts import Counts
from calirare.scoring.service.rate import RateLimit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGEST_BODY = 4 << 20
"""Most bytes of a body: some ten thousand rows."""
_HEARD = 16
"""Bytes that are received, and dropped, before the client is told, in multiples of the largest body."""
OPEN = ("/health",)
"""Paths for probes, which know no token."""
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
]
logger = logging.getLogger(f"{__package__}.requests")


@dataclass(frozen=True)
class Route:
    """A pattern, as the router names it."""

    path: str


NODES = "/nodes/"
NODE_ROUTE = Route(NODES + "{id:any}")


@dataclass(frozen=True)
class Refusal:
    """Why a request is turned away."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Gate:
    """The checks around an ASGI application.

    Args:
        app: The application.
        access: Who is let in.
        rate: Requests a second for each client address; 0: no limit.
        counts: Where answers are counted.
        known: JSON of a known node by its id, or None. The route that is asked most is answered here, at half the price.
    """

    def __init__(
        self, app: Any, access: Access, rate: float, counts: Counts, known: Callable[[str], bytes | None]
    ) -> None:
        self.app, self.access, self.counts, self.known = app, access, counts, known
        self.limit = RateLimit(rate)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # as probes ask; the server leaves the body out
            scope = {**scope, "method": "GET"}
        began, status = time.perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        try:
            body, refusal = b"", self._refuse(scope)
            if refusal is _TOO_LARGE:
                await _drop(receive)
            elif refusal is None and scope["method"] == "POST":
                body, refusal = await _read(receive)
                refusal = refusal or _refuse_kind(scope, body)
            if refusal is not None:
                await _say(answer, refusal)
            elif (found := self._known(scope)) is not None:
                await _send(answer, 200, found)
            else:
                await self.app(scope, _again(body, receive) if scope["method"] == "POST" else receive, answer)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _known(self, scope: MutableMapping[str, Any]) -> bytes | None:
        path = scope["path"]
        if scope["method"] != "GET" or not path.startswith(NODES) or path.endswith("/explain"):
            return None
        found = self.known(path[len(NODES) :])
        if found is not None:
            scope["route"] = NODE_ROUTE
        return found

    def _refuse(self, scope: MutableMapping[str, Any]) -> Refusal | None:
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        host = headers.get(b"host", "")
        if not self.access.is_known_host(host):
            return Refusal(
                421, "This service does not answer to that host name; start it with --allow-host to add one."
            )
        wait = self.limit.wait((scope.get("client") or ("",))[0])
        if wait:
            return Refusal(429, "Too many requests.", ((b"retry-after", str(int(wait) + 1).encode()),))
        if self.access.token is not None and scope["path"] not in OPEN:
            if not is_token(self.access, sent_token(headers.get(b"authorization", ""))):
                return _NO_TOKEN
        if scope["method"] != "POST":
            return None
        if not is_own_origin(headers.get(b"origin"), headers.get(b"sec-fetch-site"), host):
            return Refusal(403, "The request comes from another site.")
        length = headers.get(b"content-length", "0")
        if length.isdecimal() and int(length[:20]) > LARGEST_BODY:
            return _TOO_LARGE
        return None

    def _note(self, scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none").replace(":any}", "}")  # the pattern: a path holds ids
        self.counts.answered(route, status, seconds)
        if status >= 500 or logger.isEnabledFor(logging.INFO):
            level = logging.ERROR if status >= 500 else logging.INFO
            facts = {"method": scope["method"], "route": route, "status": status, "ms": round(1e3 * seconds, 2)}
            logger.log(level, "request", extra={"facts": facts})


_NO_TOKEN = Refusal(
    401,
    "Send the token: 'Authorization: Bearer …'; in a browser any name, and the token as the password.",
    # Two headers: Chromium does not ask where the first word of one is not Basic.
    ((b"www-authenticate", b"Bearer"), (b"www-authenticate", b'Basic realm="calirare", charset="UTF-8"')),
)
_TOO_LARGE = Refusal(413, f"A request may hold {LARGEST_BODY >> 20} MB; send fewer rows at a time.")


def sent_token(header: str) -> str:
    """The token of a header Authorization: what programs send, or the password that a browser asked for.

    >>> sent_token("Bearer abc"), sent_token("Basic YWRhOmFiYw=="), sent_token("Basic %"), sent_token("")
    ('abc', 'abc', '', '')
    """
    kind, _, said = header.partition(" ")
    if kind.lower() == "bearer":
        return said.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(said.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _refuse_kind(scope: MutableMapping[str, Any], body: bytes) -> Refusal | None:
    """Other kinds are not read as JSON further on, and the message there would not say why."""
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    if not body or kind.partition(b";")[0].strip().lower() == b"application/json":
        return None
    return Refusal(415, "The body is read as JSON; send 'Content-Type: application/json' with it.")


async def _drop(receive: Receive, more: bool = True) -> None:
    """Let a body pass by: most clients listen only when all is sent. One that goes on and on is cut off."""
    left = _HEARD * LARGEST_BODY
    while more and left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        more = message.get("more_body", False)


async def _read(receive: Receive) -> tuple[bytes, Refusal | None]:
    """The body, at most as large as allowed, if it is JSON that any program can read."""
    pieces, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"", Refusal(400, "The request ended before its body.")
        pieces.append(message.get("body", b""))
        size, more = size + len(pieces[-1]), message.get("more_body", False)
        if size > LARGEST_BODY:
            await _drop(receive, more)
            return b"", _TOO_LARGE
    body = b"".join(pieces)
    if body and not is_plain_json(body):
        return b"", Refusal(400, "The body must be JSON: whole characters, finite numbers, no deep nesting.")
    return body, None


def _again(body: bytes, receive: Receive) -> Receive:
    """Hand on a body that was read."""
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read


async def _say(send: Send, refusal: Refusal) -> None:
    await _send(
        send, refusal.status, json.dumps({"error": refusal.message}, ensure_ascii=False).encode(), refusal.headers
    )


async def _send(send: Send, status: int, body: bytes, more: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
