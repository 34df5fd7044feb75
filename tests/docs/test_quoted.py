"""Numbers that pages quote from a command are what it prints, but for what another machine changes in them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from calirare.metrics import METRICS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def words_of(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def printed(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=600, check=True)
    return done.stdout


def test_the_table_of_the_first_page_is_that_of_the_demo(tmp_path):
    found = json.loads(printed("-m", "calirare", "demo", "--out", str(tmp_path), "--json"))
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^Can the probabilities be trusted.*?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names = {metric.title: name for name, metric in METRICS.items()}
    rows = [row for row in table.splitlines()[1:] if row]
    assert len(rows) == 5
    for row in rows:
        title, *numbers = re.split(r"  +", row)
        name = names.get(title, "distance_from_truth")
        ours, plain = (float(number) for number in numbers if "–" not in number)
        assert ours == pytest.approx(found["calibrated"][name][0], rel=0.1, abs=0.002), title
        assert plain == pytest.approx(found["uncalibrated"][name][0], rel=0.1, abs=0.002), title


def test_the_caption_of_the_review_loop_is_what_the_example_prints(tmp_path):
    lines = printed(str(ROOT / "examples" / "06_review_loop.py"), "--out", str(tmp_path)).splitlines()
    runs = [[float(number) for number in re.findall(r"\d+\.\d+|\d+$", line)] for line in lines if "reviews:" in line]
    before, triage, chance = runs[0], runs[len(runs) // 2 - 1], runs[-1]
    words = words_of("guides/review-team.md")
    said = re.search(
        r"asks for find (\d+) frauds, reviews at random (\d+)\..*?average precision (\S+) before them, (\S+) and (\S+) "
        r"after, NLL (\S+) before, (\S+) and (\S+) after",
        words,
    )
    assert said is not None
    quoted = [float(number) for number in said.groups()]
    assert quoted[:2] == pytest.approx([triage[2], chance[2]], abs=3)
    assert quoted[2:5] == pytest.approx([before[1], triage[1], chance[1]], abs=0.02)
    assert quoted[5:] == pytest.approx([before[0], triage[0], chance[0]], abs=0.005)
