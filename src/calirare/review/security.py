"""Who may come in, from where, and what a browser may do with the pages."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from flask import Flask, Response, current_app, redirect, request, session
from flask.sessions import SecureCookieSessionInterface

from calirare.scoring.service.access import Access, is_own_origin, is_plain_json

SESSION_HOURS = 12
LARGEST_REQUEST = 1 << 20
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


class LoginLimit:
    """Counts failed logins of each name from each address, and says when they were too many for a while.

    Nobody is locked out: whoever has the token always gets in, so a stranger behind the same proxy cannot keep a reviewer
    away. What keeps strangers out is the token's length. At a thousand guesses a second, more than this server answers,
    half of all tokens of 16 random letters and digits take 10¹⁷ years. The limit tells people and the log.

    Args:
        most: Failures after which the answer is "too many".
        seconds: How long a failure counts.

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
    own = is_own_origin(request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site"), request.host)
    if request.method not in _SAFE_METHODS and not own:
        return _refuse(403, "The request comes from another site.")
    if access.token is not None and request.path not in _OPEN_PATHS and not current_reviewer(access):
        if request.method == "GET" and request.accept_mimetypes.accept_html and not request.path.startswith("/_"):
            return redirect("/login")
        return _refuse(401, "Log in first.")
    if request.method == "POST" and request.is_json and not is_plain_json(request.get_data()):
        return _refuse(400, "The request must carry valid JSON: whole characters, finite numbers, no deep nesting.")
    return None


def current_reviewer(access: Access) -> str:
    """Who is asking; "" for someone who must log in first."""
    if access.token is None:
        return access.reviewer
    name = session.get("reviewer")
    return name if isinstance(name, str) and _sessions().holds(session.get("session")) else ""


def log_in(name: str) -> None:
    """Remember in a signed cookie who has shown the token."""
    log_out()
    session.permanent = True
    session["reviewer"], session["session"] = name, _sessions().start()


def log_out() -> None:
    """End the session: the cookie is worth nothing from here on, wherever a copy of it lies."""
    _sessions().end(session.get("session"))
    session.clear()


def _sessions() -> Sessions:
    return current_app.extensions["calirare_sessions"]


def _refuse(code: int, message: str) -> Response:
    if request.path.startswith("/api/"):  # whoever calls it reads JSON
        return Response(json.dumps({"ok": False, "error": message}), status=code, mimetype="application/json")
    return Response(message + "\n", status=code, mimetype="text/plain")
