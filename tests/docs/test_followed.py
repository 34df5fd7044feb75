"""Guides followed literally: every command and every Python block, in their order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MAY_ALARM = ("calirare monitor", "calirare refit")


def steps(page: str) -> list[tuple[str, str]]:
    """(kind, text) of every line of shell and every block of Python."""
    found: list[tuple[str, str]] = []
    for kind, text in BLOCK.findall((GUIDES / page).read_text(encoding="utf-8")):
        found += [(kind, text)] if kind == "python" else [("sh", line) for line in text.splitlines() if line]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("page", ["warehouse.md", "monitoring.md"])
def test_the_guide_can_be_followed(page, tmp_path):
    tools = tmp_path / "bin"
    work = tmp_path / "empty"
    tools.mkdir()
    work.mkdir()
    for name, words in (("calirare", "-m calirare.cli"), ("python", "")):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        script.chmod(0o755)
    settings = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    codes = {}
    for kind, text in steps(page):
        command = ["python", "-c", text] if kind == "python" else ["bash", "-c", text]
        done = subprocess.run(command, cwd=work, env=settings, capture_output=True, text=True, timeout=600)
        allowed = (0, 1) if text.startswith(MAY_ALARM) else (0,)
        assert done.returncode in allowed, (text, done.stdout[-2000:], done.stderr[-2000:])
        codes.setdefault(text, []).append(done.returncode)
    if page == "monitoring.md":
        assert codes["calirare monitor demo/model"] == [0, 1]  # quiet first, then the planted shift


def test_the_guides_have_steps():
    assert len(steps("warehouse.md")) >= 6 and len(steps("monitoring.md")) >= 7
