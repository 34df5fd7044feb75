"""Who may reach a server of ours, and from where: the rules that the desk and the scoring service share."""

from __future__ import annotations

import hmac
import ipaddress
import json
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from calirare.errors import InputError

T = TypeVar("T")
SHORTEST_TOKEN = 16
LONGEST_NAME = 100
"""Most characters of a reviewer's name."""
_FEWEST_DIFFERENT = 8


@dataclass(frozen=True)
class Access:
    """Where a server listens and who is let in.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0: a free one.
        token: What reviewers must know; None: none, on loopback only.
        reviewer: Name written beside decisions where nobody logs in.
        allowed_hosts: Further names by which browsers may reach it, as behind a proxy.
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
        if not self.reviewer.strip() or len(self.reviewer) > LONGEST_NAME:
            raise InputError(f"reviewer must be a name of 1 to {LONGEST_NAME} characters.")

    def url(self, port: int) -> str:
        """The address to open, at the port that was bound.

        >>> Access("::1").url(8050)
        'http://[::1]:8050'
        """
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"

    def is_known_host(self, host: str) -> bool:
        """Whether a request's Host names this server. A page of a stranger that points its own name here is refused."""
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
            f"trusted_proxy must be the address of the proxy, as this server sees it; got {text!r}."
        ) from None


def is_token(access: Access, token: str) -> bool:
    """Whether this is the token, in a time that tells nothing about it."""
    return hmac.compare_digest(token.encode("utf-8", "replace"), (access.token or "").encode("utf-8", "replace"))


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


def is_own_origin(origin: str | None, fetch_site: str | None, host: str) -> bool:
    """Whether a request comes from our own pages or from a program, by its headers Origin, Sec-Fetch-Site and Host.

    >>> is_own_origin("http://evil.example", None, "localhost:8050"), is_own_origin(None, None, "localhost:8050")
    (False, True)
    """
    if origin is None:
        # Programs send none; browsers always do with a POST, and say where it comes from.
        return (fetch_site or "none") in ("same-origin", "none")
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.casefold() == host.casefold()


def first_to_go(waiting: Sequence[T], address: Callable[[T], str], since: Callable[[T], float]) -> T | None:
    """The connection that makes room for the next: of the address that holds most of those waiting, the oldest.

    >>> first_to_go([("a", 1.0), ("b", 3.0), ("b", 2.0)], address=lambda one: one[0], since=lambda one: one[1])
    ('b', 2.0)
    """
    held = Counter(map(address, waiting))
    return min(waiting, key=lambda one: (-held[address(one)], since(one)), default=None)


def bind(host: str, port: int) -> socket.socket:
    """A socket at this address, IPv4 where the name has both."""
    try:
        found = sorted(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), key=lambda one: one[0] != socket.AF_INET
        )
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot listen on {host}:{port} ({reason}); choose another --port or --host.") from error
    return bound
