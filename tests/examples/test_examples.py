"""Every example runs from start to end, small, and leaves the picture it promises."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("few_sentences", "quick_networks", "same_code")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = {
    "01_quick_start": ["--nodes", "300", "--detector", "linear"],
    "02_your_tables": ["--nodes", "300", "--detector", "linear"],
    "03_compare_calibrators": ["--nodes", "400", "--epochs", "4", "--methods", "uncalibrated", "platt", "jackknife"],
    "04_calibrate_your_model": ["--nodes", "400", "--epochs", "10"],
    "05_triage_with_costs": ["--nodes", "300", "--detector", "linear"],
    "06_review_loop": ["--nodes", "400", "--rounds", "2", "--reviews", "10"],
    "07_new_method": ["--epochs", "5", "--seeds", "1"],
    "08_the_paper": ["--epochs", "3", "--seeds", "1", "--methods", "uncalibrated,jackknife"],
    "09_as_of": ["--nodes", "300", "--detector", "linear"],
}
NEEDS_GRAPHS = {"08_the_paper"}
SLOW = {"04_calibrate_your_model", "06_review_loop", "08_the_paper"}


def test_none_is_forgotten():
    assert sorted(SMALL) == sorted(path.stem for path in EXAMPLES.glob("[0-9]*.py"))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.datasets] * (name in NEEDS_GRAPHS) + [pytest.mark.slow] * (name in SLOW))
        for name in SMALL
    ],
)
def test_it_runs_and_draws(name, tmp_path, monkeypatch, capsys, request):
    if name in NEEDS_GRAPHS:
        monkeypatch.setenv("CALIRARE_DATA", str(request.getfixturevalue("data_folder")))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--out", str(tmp_path), *SMALL[name]])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    picture = tmp_path / f"{name}.png"
    assert printed[-1] == str(picture)
    assert picture.stat().st_size > 10_000
    if name == "07_new_method":
        page = (tmp_path / name / "results.md").read_text()
        assert "### my_graph, 20 labels per class" in page and "| shrunk_logits | train | val |" in page
        assert (tmp_path / name / "index.html").exists() and (tmp_path / name / "calibration.tex").exists()
