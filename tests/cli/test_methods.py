"""`calirare methods`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app

run = CliRunner().invoke
ROOT = Path(__file__).resolve().parents[2]


def test_every_method_is_listed_with_its_labels():
    listed = json.loads(run(app, ["methods", "--json"]).stdout)
    assert [row["method"] for row in listed] == list(cr.methods())
    assert [(row["trains on"], row["calibrates on"]) for row in listed] == [
        method.label_budget for method in cr.methods().values()
    ]
    shown = run(app, ["methods"], env={"COLUMNS": "160"}).stdout
    assert all(name in shown for name in cr.methods())


def test_the_readme_holds_this_very_table():
    table = run(app, ["methods", "--markdown"]).stdout.strip()
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")
