"""`calirare report`."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.persistence.folder import model_version

run = CliRunner().invoke


def test_a_page_from_the_model_folder_alone(model, tmp_path):
    out = tmp_path / "report.html"
    answer = run(
        app, ["report", str(model), "--out", str(out), "--budget", "10", "--rows", "12", "--title", "Q3 <check>"]
    )
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == str(out)
    text = out.read_text()
    assert "<title>Q3 &lt;check&gt;</title>" in text
    assert model_version(model) in text
    assert text.count('<td class="id">') == 12


def test_json(model, tmp_path):
    out = tmp_path / "report.html"
    found = json.loads(run(app, ["report", str(model), "--out", str(out), "--json"]).stdout)
    assert found == {"report": str(out), "bytes": out.stat().st_size}


def test_mistakes_cost_no_time(model, tmp_path):
    answer = run(app, ["report", str(model), "--out", str(tmp_path / "report.docx")])
    assert answer.exit_code == 2 and "must end in .html" in answer.stderr
    answer = run(app, ["report", str(tmp_path)])
    assert answer.exit_code == 2 and "is not a calirare model: it has no model.json" in answer.stderr
    answer = run(app, ["report", str(tmp_path / "nowhere")])
    assert answer.exit_code == 2 and "nowhere does not exist. Give the folder" in answer.stderr
