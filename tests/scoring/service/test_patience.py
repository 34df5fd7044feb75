"""Slow strangers in front of the service, and what it does for others meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from types import SimpleNamespace

import pytest
from drippers import Drippers, address_of, ask

from calirare.scoring.service import patience
from calirare.scoring.service.access import Access
from calirare.scoring.service.app import Service
from calirare.scoring.service.server import Server


@pytest.fixture
def server(models, monkeypatch):
    monkeypatch.setattr(patience, "LOOK_SECONDS", 0.05)
    server = Server(Service(models, Access(port=0)), Access(port=0))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server._server.started:
        time.sleep(0.01)
    yield server
    server.stop()
    thread.join(30)


def closed(line):
    """Whether the other side closes the connection within some seconds."""
    line.settimeout(10)
    try:
        return line.recv(1 << 16) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_more_dripping_sockets_than_connections_stop_nobody(server, monkeypatch):
    monkeypatch.setattr(patience, "MOST_CONNECTIONS", 40)
    crowd = Drippers(server, 60)
    try:
        answers = [ask(server, "/health") for _ in range(10)]
        assert len(server._server.server_state.connections) <= 42
    finally:
        crowd.stop()
    assert [status for status, _ in answers] == [200] * 10
    assert max(seconds for _, seconds in answers) < 5


@pytest.mark.parametrize(
    "begun",
    [
        b"",  # silent
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n",  # a head without an end
        b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n{",  # a body
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",  # after its answer, the start of nothing
    ],
)
def test_a_request_has_some_seconds_to_arrive(server, monkeypatch, begun):
    monkeypatch.setattr(patience, "REQUEST_SECONDS", 0.2)
    with socket.create_connection(address_of(server), timeout=10) as line:
        line.sendall(begun)
        if begun.endswith(b"\r\n\r\n"):
            assert b"200 OK" in line.recv(1 << 16)
            line.sendall(b"\r\n")
        assert closed(line)
    assert ask(server, "/health")[0] == 200


def test_a_head_has_an_end(server):
    with socket.create_connection(address_of(server), timeout=10) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with contextlib.suppress(OSError):  # reset or broken pipe, unless the system has room for all of it
            for _ in range(2_000):
                line.sendall(b"X: " + b"y" * 1_000 + b"\r\n")
        assert closed(line)
    assert ask(server, "/health")[0] == 200


def test_an_answer_that_is_not_taken_is_not_kept(server, models, monkeypatch):
    monkeypatch.setattr(patience, "ANSWER_SECONDS", 0.3)
    body = json.dumps({"ids": models.current.live.graph.ids[:100].tolist() * 100}).encode()
    head = f"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    server._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)  # else the system takes it all
    with socket.socket() as line:
        line.connect(address_of(server))
        line.sendall(head.encode() + body)
        held = server._server.server_state.connections
        for states in ("begun", "ended"):  # it asks, reads nothing, and is let go
            assert any(bool(held) == (states == "begun") or time.sleep(0.02) for _ in range(1_000))
    assert ask(server, "/health")[0] == 200


def test_a_connection_that_is_used_stays_open(server, monkeypatch):
    """Idle between two requests is not slow."""
    monkeypatch.setattr(patience, "REQUEST_SECONDS", 0.1)
    line = http.client.HTTPConnection(*address_of(server), timeout=10)
    used = None
    for _ in range(2):
        line.request("GET", "/health")
        answer = line.getresponse()
        assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
        time.sleep(0.3)
        assert used is None or line.sock is used
        used = line.sock
    assert used is not None
    line.close()


def test_who_makes_room(monkeypatch):
    """The one that waited longest, of the address that holds most; never one that is being answered."""

    class Line(patience.PatientProtocol):
        def __init__(self, address, began, phase):
            self.client, self.began, self._phase, self._dropped = (address, 1), began, phase, False
            self.transport = SimpleNamespace(get_write_buffer_size=lambda: 0)

        def drop(self):
            self._dropped = True

    oldest, answering = Line("a", 0.0, patience._HEAD), Line("b", 0.0, patience._ANSWER)
    crowd = [Line("b", 5.0, patience._HEAD), Line("b", 4.0, patience._BODY), Line("b", 6.0, patience._IDLE)]
    order = []
    for _ in range(6):
        patience._drop_one([oldest, answering, *crowd])
        order += [one for one in (oldest, answering, *crowd) if one._dropped and one not in order]
    assert order == [crowd[1], crowd[0], oldest, crowd[2]] and not answering._dropped
    assert answering.is_too_slow(patience.ANSWER_SECONDS + 1) and not answering.is_too_slow(patience.ANSWER_SECONDS - 1)
    assert not crowd[2].is_too_slow(1e9)
