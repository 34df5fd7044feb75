"""Strangers who hold sockets open by the hundred."""

from __future__ import annotations

import shutil
import threading
import time

import pytest
from drippers import Drippers, ask

from calirare.review.app import DeskServer, open_desk
from calirare.scoring.service.access import Access
from calirare.scoring.service.app import Service
from calirare.scoring.service.loading import Models
from calirare.scoring.service.server import Server

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(model, tmp_path):
    server = DeskServer(open_desk(shutil.copytree(model, tmp_path / "model")), Access(port=0))
    server.start()
    yield server
    server.close()


@pytest.fixture
def service(model, network):
    server = Server(Service(Models(model, lambda classifier: network), Access(port=0)), Access(port=0))
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()


@pytest.mark.parametrize(
    ("kind", "path", "many"), [("desk", "/export/decisions.csv", 520), ("service", "/version", 1_040)]
)
def test_dripping_sockets_for_half_a_minute(kind, path, many, request, count):
    """More of them than either takes connections."""
    server = request.getfixturevalue(kind)
    crowd = Drippers(server, many)
    try:
        start, answers = time.monotonic(), []
        while time.monotonic() - start < 30:
            answers.append(ask(server, path))
            time.sleep(0.1)
    finally:
        crowd.stop()
    seconds = sorted(seconds for _, seconds in answers)
    late = seconds[int(0.95 * len(seconds))]
    count(
        f"{many} dripping sockets ({kind}): {len(answers)} requests answered, 95% within {late:.3f} s, "
        f"{crowd.closed:,} drippers closed"
    )
    assert {status for status, _ in answers} == {200} and len(answers) > 50
    assert late < 1.0, seconds[-5:]
