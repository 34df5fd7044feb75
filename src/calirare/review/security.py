"""Who may come in, from where, and what a browser may do with the pages."""

from __future__ import annotations

import hmac
import ipaddress
import json
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

from flask import Flask, Response, current_app, redirect, request, session
from flask.sessions import SecureCookieSessionInterface

from calirare.errors import InputError

SHORTEST_TOKEN = 16
SESSION_HOURS = 12
LARGEST_REQUEST = 1 << 20
_FEWEST_DIFFERENT = 8
_MOST_SESSIONS = 10_000
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
        trusted_proxy: Address of the proxy in front, whose word on clients and TLS is believed; None: nobody's.

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
    trusted_proxy: str | None = None

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
        if self.token is not None and len(set(self.token)) < _FEWEST_DIFFERENT:
            raise InputError(f"token must have at least {_FEWEST_DIFFERENT} different characters; make a random one.")
        if self.trusted_proxy is not None:
            _check_address(self.trusted_proxy)
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


def _check_address(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise InputError(
            f"trusted_proxy must be the address of the proxy, as the desk sees it; got {text!r}."
        ) from None


class LoginLimit:
    """Counts failed logins of each name from each address, and says when they were too many for a minute.

    Nobody is locked out: whoever has the token always gets in, so a stranger behind the same proxy cannot keep a reviewer
    away. What keeps strangers out is the token's length. At a thousand guesses a second, more than this server answers,
    half of all tokens of 16 random letters and digits take 10¹⁷ years. The limit tells people and the log.

    Args:
        most: Failures in a minute after which the answer is "too many".

    Note:
        Flask-Limiter counts requests, not failures, and cannot let the right ones pass.
    """

    def __init__(self, most: int = 5, seconds: float = 60.0) -> None:
        self.most, self.seconds = most, seconds
        self._failures: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def fail(self, address: str, name: str) -> float:
        """Count a failure; seconds until the next counts as one of few again, 0 if it still does."""
        now, key = time.monotonic(), (address, name)
        with self._lock:
            failures = self._failures.setdefault(key, deque(maxlen=self.most + 1))
            self._failures.move_to_end(key)
            while len(self._failures) > 10_000:  # a flood of addresses must not fill the memory
                self._failures.popitem(last=False)
            while failures and now - failures[0] > self.seconds:
                failures.popleft()
            failures.append(now)
            return max(0.0, self.seconds - (now - failures[0])) if len(failures) > self.most else 0.0

    def succeed(self, address: str, name: str) -> None:
        with self._lock:
            self._failures.pop((address, name), None)


class Sessions:
    """Who is logged in. A cookie alone is not enough: it must name a session that is here, and logging out ends it."""

    def __init__(self) -> None:
        self._since: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def start(self) -> str:
        """The secret name of a new session."""
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._since[name] = time.time()
            while len(self._since) > _MOST_SESSIONS:
                self._since.popitem(last=False)
        return name

    def holds(self, name: Any) -> bool:
        """Whether a session of this name is going on."""
        since = self._since.get(name) if isinstance(name, str) else None
        return since is not None and 0 <= time.time() - since < SESSION_HOURS * 3600

    def end(self, name: Any) -> None:
        with self._lock:
            self._since.pop(name, None)


class _CookieByTransport(SecureCookieSessionInterface):
    """Marks the cookie Secure where the request came over TLS, which a desk that serves both cannot know beforehand."""

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure


def guard(server: Flask, access: Access, script_hashes: Sequence[str]) -> None:
    """Put the checks before every request and the headers behind every answer.

    Note:
        Flask's TRUSTED_HOSTS compares names alone: it cannot allow every address while it refuses strangers' names, which
        is what stops DNS rebinding here. Flask-Talisman sets the headers but for `Cache-Control` and answers plain HTTP
        with a redirect to TLS, which a desk on loopback does not speak. So both stay out.
    """
    server.config.update(
        SECRET_KEY=secrets.token_bytes(32),  # sessions end with the process
        # Browsers share cookies between the ports of a host; two desks must not log each other out.
        SESSION_COOKIE_NAME=f"calirare_desk_{secrets.token_hex(4)}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        PERMANENT_SESSION_LIFETIME=timedelta(hours=SESSION_HOURS),
        MAX_CONTENT_LENGTH=LARGEST_REQUEST,
    )
    server.session_interface = _CookieByTransport()
    server.extensions["calirare_sessions"] = Sessions()
    policy = content_policy(script_hashes)
    # First of all checks, before those that Dash may add.
    server.before_request_funcs.setdefault(None, []).insert(0, lambda: check_request(access))

    @server.after_request
    def add_headers(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers["Content-Security-Policy"] = policy
        if request.is_secure:
            response.headers["Strict-Transport-Security"] = "max-age=31536000"
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
    if request.method == "POST" and request.is_json and not is_plain_json(request.get_data()):
        return _refuse(400, "The request must carry valid JSON: whole characters, finite numbers, no deep nesting.")
    return None


def is_plain_json(body: bytes) -> bool:
    """Whether a body is JSON that any program can read: no NaN, no halves of characters, not nested beyond reason.

    >>> is_plain_json(b'{"a": 1.5}'), is_plain_json(b"[NaN]"), is_plain_json(b"[" * 10**5)
    (True, False, False)
    """

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        found = json.loads(body, parse_constant=refuse)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # text that is no text is a ValueError too
        return False
    return True


def _is_own_origin() -> bool:
    origin = request.headers.get("Origin")
    if origin is None:
        # Programs send none; browsers always do with a POST, and say where it comes from.
        return request.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none")
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.casefold() == request.host.casefold()


def current_reviewer(access: Access) -> str | None:
    """Who is asking; None for someone who must log in first."""
    if access.token is None:
        return access.reviewer
    name = session.get("reviewer")
    return name if isinstance(name, str) and _sessions().holds(session.get("session")) else None


def log_in(access: Access, token: str, name: str) -> bool:
    """Compare the token in constant time; if it is right, remember who it is in a signed cookie."""
    if not is_token(access, token):
        return False
    log_out()
    session.permanent = True
    session["reviewer"], session["session"] = name, _sessions().start()
    return True


def is_token(access: Access, token: str) -> bool:
    """Whether this is the token, in a time that tells nothing about it."""
    return hmac.compare_digest(token.encode("utf-8", "replace"), (access.token or "").encode("utf-8", "replace"))


def log_out() -> None:
    """End the session: the cookie is worth nothing from here on, wherever a copy of it lies."""
    _sessions().end(session.get("session"))
    session.clear()


def _sessions() -> Sessions:
    found: Sessions = current_app.extensions["calirare_sessions"]
    return found


def _refuse(code: int, message: str) -> Response:
    if request.path.startswith("/api/"):  # whoever calls it reads JSON
        return Response(json.dumps({"ok": False, "error": message}), status=code, mimetype="application/json")
    return Response(message + "\n", status=code, mimetype="text/plain")
