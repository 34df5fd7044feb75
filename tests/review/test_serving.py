"""Slow strangers in front of the desk, and what it does for others meanwhile."""

from __future__ import annotations

import http.client
import socket
import time

import pytest
from drippers import Drippers, address_of, ask

from calirare.review import serving
from calirare.review.app import DeskServer, open_desk
from calirare.scoring.service.access import Access


@pytest.fixture
def server(model, monkeypatch):
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0)
    server = DeskServer(open_desk(model), Access(port=0))
    server.start()
    yield server
    server.close()


def test_more_dripping_sockets_than_connections_stop_nobody(server, monkeypatch):
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 40)
    crowd = Drippers(server, 60)
    try:
        answers = [ask(server) for _ in range(10)]
    finally:
        crowd.stop()
    assert [status for status, _ in answers] == [200] * 10
    assert max(seconds for _, seconds in answers) < 5


def test_a_request_has_some_seconds_to_arrive(server, monkeypatch):
    monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.3)
    line = socket.create_connection(address_of(server), timeout=15)
    begun, silent = time.monotonic(), socket.create_connection(address_of(server), timeout=15)
    line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    closed_at = None
    while time.monotonic() - begun < 12 and closed_at is None:
        try:
            line.sendall(b"X: y\r\n")
            line.settimeout(0.1)
            closed_at = time.monotonic() if line.recv(10) == b"" else None
        except TimeoutError:
            pass
        except OSError:
            closed_at = time.monotonic()
    assert closed_at is not None
    assert silent.recv(10) == b""  # one that never asked, too
    line.close()
    silent.close()
    assert ask(server)[0] == 200


def test_a_connection_that_is_used_stays_open(server):
    """Idle between two requests is not slow."""
    line = http.client.HTTPConnection(*address_of(server), timeout=10)
    for _ in range(2):
        line.request("GET", "/export/decisions.csv")
        answer = line.getresponse()
        assert (answer.status, answer.read()[:2]) == (200, b"id")
        used = line.sock
        server._server.maintenance(time.time() + serving.REQUEST_SECONDS + 1)
        assert not any(channel.will_close for channel in server._server.active_channels.values())
    assert line.sock is used and used is not None
    line.close()


def test_a_trusted_proxy_is_believed_and_nobody_else(model):
    for proxy, expected in ((None, "127.0.0.1"), ("127.0.0.1", "203.0.113.9"), ("10.0.0.1", "127.0.0.1")):
        server = DeskServer(open_desk(model), Access(port=0, token="a token that is long enough", trusted_proxy=proxy))
        server.start()
        try:
            line = http.client.HTTPConnection(*address_of(server), timeout=10)
            headers = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
            body = "token=a+token+that+is+long+enough&reviewer=ada"
            line.request("POST", "/login", body, headers | {"Content-Type": "application/x-www-form-urlencoded"})
            answer = line.getresponse()
            assert answer.status == 303
            assert ("Secure" in answer.headers["Set-Cookie"]) == (expected == "203.0.113.9")
            assert ("Strict-Transport-Security" in answer.headers) == (expected == "203.0.113.9")
            line.close()
        finally:
            server.close()
