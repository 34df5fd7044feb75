"""Call an ASGI application as a server would, without one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)


class Client:
    """Requests of one client, one after the other or `together`."""

    def __init__(self, app, host="127.0.0.1:8060", **headers):
        self.app, self.headers = app, {"host": host, **headers}

    def get(self, path, **headers):
        return asyncio.run(self.ask("GET", path, b"", headers))

    def post(self, path, body, **headers):
        content = body if isinstance(body, bytes) else json.dumps(body, default=str).encode()
        return asyncio.run(self.ask("POST", path, content, {"content-type": "application/json", **headers}))

    async def ask(self, method, path, body, headers):
        path, _, query = path.partition("?")
        said = {
            **self.headers,
            "content-length": str(len(body)),
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "scheme": "http",
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in said.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8060), "state": {},
        }  # fmt: skip
        pieces = [{"type": "http.request", "body": body, "more_body": False}]
        sent = []

        async def receive():
            return pieces.pop(0) if pieces else await asyncio.sleep(3600)

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        start = sent[0]
        headers = {k.decode(): v.decode() for k, v in start["headers"]}
        return Answer(start["status"], headers, b"".join(m.get("body", b"") for m in sent[1:]))
