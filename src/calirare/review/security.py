"""Who may come in, from where, and what a browser may do with the pages."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, redirect, request, session

from calirare.errors import InputError

SHORTEST_TOKEN = 16
SESSION_HOURS = 12
LARGEST_REQUEST = 1 << 20
_OPEN_PATHS = ("/login", "/assets/desk.css")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}


@dataclass(frozen=True)
class Access:
    """Where the desk listens and who is let in.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0: a free one.
        token: What reviewers must know; None: none, on loopback only.
        reviewer: Name written beside decisions where nobody logs in.
        allowed_hosts: Further names by which browsers may reach the desk, as behind a proxy.

    >>> Access("0.0.0.0", 8050).check()
    Traceback (most recent call last):
    ...
    calirare.errors.InputError: host 0.0.0.0 can be reached from other machines; pass --token (16 characters or more), or stay on 127.0.0.1.
    """

    host: str = "127.0.0.1"
    port: int = 8050
    token: str | None = field(default=None, repr=False)
    reviewer: str = "reviewer"
    allowed_hosts: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse what would let strangers in."""
        if not 0 <= self.port <= 65535:
            raise InputError(f"port must lie in 0…65535; got {self.port}.")
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"host {self.host} can be reached from other machines; "
                f"pass --token ({SHORTEST_TOKEN} characters or more), or stay on 127.0.0.1."
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InputError(f"token must have at least {SHORTEST_TOKEN} characters; got {len(self.token)}.")
        if not self.reviewer.strip() or len(self.reviewer) > 100:
            raise InputError("reviewer must be a name of 1 to 100 characters.")

    def is_known_host(self, host: str) -> bool:
        """Whether a request's Host names this desk. A page of a stranger that points its own name here is refused."""
        name, _ = split_host(host)
        if name in ("localhost", "") or name in (allowed.casefold() for allowed in self.allowed_hosts):
            return name != ""
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            own = {self.host.casefold(), socket.gethostname().casefold(), socket.getfqdn().casefold()}
            return not is_loopback(self.host) and name in own
        # An address cannot be pointed elsewhere by a stranger's name server.
        return address.is_loopback or not is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("db.example")
    (True, True, False, False)
    """
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def split_host(host: str) -> tuple[str, str]:
    """Name and port of a Host header, the name in lower case and without brackets.

    >>> split_host("[::1]:8050"), split_host("Desk.local")
    (('::1', '8050'), ('desk.local', ''))
    """
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "").casefold(), "" if parts.port is None else str(parts.port)
    except ValueError:
        return "", ""


class LoginLimit:
    """Counts failed logins: a few a minute for each address, some more for all together.

    Args:
        per_address: Failures that one address may have in a minute.
        in_all: Failures that all addresses may have together in a minute.
    """

    def __init__(self, per_address: int = 5, in_all: int = 60, seconds: float = 60.0) -> None:
        self.per_address, self.in_all, self.seconds = per_address, in_all, seconds
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all: deque[float] = deque()
        self._lock = threading.Lock()

    def wait(self, address: str) -> float:
        """Seconds until this address may try again; 0 if now."""
        now = time.monotonic()
        with self._lock:
            waits = [
                self._wait(self._all, self.in_all, now),
                self._wait(self._failures.get(address), self.per_address, now),
            ]
            return max(waits)

    def _wait(self, failures: deque[float] | None, most: int, now: float) -> float:
        while failures and now - failures[0] > self.seconds:
            failures.popleft()
        return max(0.0, self.seconds - (now - failures[0])) if failures and len(failures) >= most else 0.0

    def fail(self, address: str) -> None:
        with self._lock:
            self._failures.setdefault(address, deque(maxlen=self.per_address)).append(time.monotonic())
            self._failures.move_to_end(address)
            self._all.append(time.monotonic())
            while len(self._failures) > 10_000:  # a flood of addresses must not fill the memory
                self._failures.popitem(last=False)

    def succeed(self, address: str) -> None:
        with self._lock:
            self._failures.pop(address, None)


def guard(server: Flask, access: Access, script_hashes: Sequence[str]) -> None:
    """Put the checks before every request and the headers behind every answer."""
    server.config.update(
        SECRET_KEY=secrets.token_bytes(32),  # sessions end with the process
        # Browsers share cookies between the ports of a host; two desks must not log each other out.
        SESSION_COOKIE_NAME=f"calirare_desk_{secrets.token_hex(4)}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        PERMANENT_SESSION_LIFETIME=timedelta(hours=SESSION_HOURS),
        MAX_CONTENT_LENGTH=LARGEST_REQUEST,
    )
    policy = content_policy(script_hashes)
    # First of all checks, before those that Dash may add.
    server.before_request_funcs.setdefault(None, []).insert(0, lambda: check_request(access))

    @server.after_request
    def add_headers(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers["Content-Security-Policy"] = policy
        if not request.path.startswith(("/_dash-component-suites/", "/assets/")):
            response.headers["Cache-Control"] = "no-store"
        response.headers.pop("Server", None)
        return response


def content_policy(script_hashes: Sequence[str]) -> str:
    """Scripts from this desk alone, inline ones by their hash; styles inline too, as the table and the plots set them."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' {' '.join(script_hashes)}".strip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    )


def check_request(access: Access) -> Any:
    """None to let a request through, else the answer that turns it away."""
    if not access.is_known_host(request.host):
        return _refuse(421, "This desk does not answer to that host name. Start it with --allow-host to add one.")
    if request.method not in _SAFE_METHODS and not _is_own_origin():
        return _refuse(403, "The request comes from another site.")
    if access.token is not None and request.path not in _OPEN_PATHS and current_reviewer(access) is None:
        if request.method == "GET" and request.accept_mimetypes.accept_html and not request.path.startswith("/_"):
            return redirect("/login")
        return _refuse(401, "Log in first.")
    return None


def _is_own_origin() -> bool:
    origin = request.headers.get("Origin")
    if origin is None:
        # Programs send none; browsers always do with a POST, and say where it comes from.
        return request.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none")
    return (
        urlsplit(origin).scheme in ("http", "https") and urlsplit(origin).netloc.casefold() == request.host.casefold()
    )


def current_reviewer(access: Access) -> str | None:
    """Who is asking; None for someone who must log in first."""
    if access.token is None:
        return access.reviewer
    name, since = session.get("reviewer"), session.get("since")
    if not isinstance(name, str) or not isinstance(since, (int, float)):
        return None
    return name if 0 <= time.time() - since < SESSION_HOURS * 3600 else None


def log_in(access: Access, token: str, name: str) -> bool:
    """Compare the token in constant time; if it is right, remember who it is in a signed cookie."""
    expected = access.token or ""
    if not hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode("utf-8", "replace")):
        return False
    session.clear()
    session.permanent = True
    session["reviewer"], session["since"] = name, time.time()
    return True


def _refuse(code: int, message: str) -> Response:
    return Response(message + "\n", status=code, mimetype="text/plain")
