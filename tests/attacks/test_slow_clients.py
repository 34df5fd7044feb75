"""Strangers who hold sockets open by the hundred."""

from __future__ import annotations

import shutil
import time

import pytest
from drippers import Drippers, ask

from calirare.review.app import DeskServer, open_desk
from calirare.scoring.service.access import Access

pytestmark = pytest.mark.slow


def test_520_dripping_sockets_for_half_a_minute(model, tmp_path, count):
    server = DeskServer(open_desk(shutil.copytree(model, tmp_path / "model")), Access(port=0))
    server.start()
    crowd = Drippers(server, 520)
    try:
        start, answers = time.monotonic(), []
        while time.monotonic() - start < 30:
            answers.append(ask(server))
            time.sleep(0.1)
    finally:
        crowd.stop()
        server.close()
    seconds = sorted(seconds for _, seconds in answers)
    late = seconds[int(0.95 * len(seconds))]
    count(
        f"520 dripping sockets: {len(answers)} requests answered, 95% within {late:.3f} s, {crowd.closed} drippers closed"
    )
    assert {status for status, _ in answers} == {200} and len(answers) > 50
    assert late < 1.0, seconds[-5:]
