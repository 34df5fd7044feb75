"""Tables as strangers bring them go through every command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "strange_tables.py"
NAMES = (
    "payments", "hosts", "patients", "devices", "reviews", "invoices", "calls", "citations", "merchants", "trust",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_them(name, tmp_path):
    results = tmp_path / "results.jsonl"
    subprocess.run([sys.executable, str(PROGRAM), "--only", name, "--results", str(results)], check=True, timeout=600)
    found = json.loads(results.read_text())
    assert found["failures"] == [] and found["leaks missed"] == []
    assert found["parts differ by"] < 1e-6
    assert found["calirare"] > 2 * found["base"]
