"""`calirare leaderboard`."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from calirare.benchmark.competitors import competitors
from calirare.cli.main import app
from calirare.data.catalogue.own import add_own
from calirare.data.synthetic import make_transactions

run = CliRunner().invoke


def test_one_command_runs_and_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "calirare.benchmark.leaderboard.page.write_pictures", lambda *_: []
    )  # drawn by the page's tests
    for name, seed in (("one", 0), ("two", 1)):
        add_own(name, make_transactions(num_nodes=200, rare_share=0.2, seed=seed), tmp_path)
    words = ["leaderboard", "--out", str(tmp_path / "out"), "--graph", "one", "--graph", "two", "--protocol", "tenth"]
    words += ["--competitor", "our linear", "--seeds", "1", "--jobs", "1", "--json"]
    answer = run(app, words, env={"CALIRARE_DATA": str(tmp_path)})
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert found["run"]["num_computed"] == 2 and found["run"]["num_left"] == 0
    page = (tmp_path / "out" / "leaderboard.md").read_text()
    assert "calirare leaderboard" in page and "our linear" in page
    again = run(app, [*words, "--minutes", "0"], env={"CALIRARE_DATA": str(tmp_path)})
    assert again.exit_code == 0 and json.loads(again.stdout)["run"] is None
    unknown = run(app, [*words, "--competitor", "forest, recipe, sigmoid?"], env={"CALIRARE_DATA": str(tmp_path)})
    assert "did you mean 'forest, recipe, sigmoid'" in unknown.stderr and all(
        one in unknown.stderr for one in competitors()
    )
    refused = run(app, ["leaderboard", "--out", str(tmp_path / "none"), "--minutes", "0"])
    assert refused.exit_code == 2
