"""A run that is killed, again and again, gives the bytes of one that is not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

WORDS = (
    "--datasets none --table calibration --methods uncalibrated,temperature,mixup,calirare,cross_fit,jackknife".split()
)


def start(folder, tiny):
    command = [sys.executable, "-m", "calirare", "benchmark", *WORDS, "--dataset", str(tiny), "--labels", "10"]
    command += ["--seeds", "4", "--epochs", "60", "--jobs", "2", "--out", "results"]
    with (folder / "log").open("w") as log:
        return subprocess.Popen(command, cwd=folder, start_new_session=True, stdout=log, stderr=log)


def finish(folder, tiny):
    assert start(folder, tiny).wait(300) == 0, (folder / "log").read_text()


def tables(folder):
    """Every page by name; costs are seconds and memory, which no two runs share."""
    found = {path.name: path.read_bytes() for path in (folder / "results").glob("*.*")}
    return {name: content for name, content in found.items() if name not in ("costs.csv", "runs.parquet")}


def count(folder):
    return len(list((folder / "results" / "rows").glob("*.jsonl")))


@pytest.mark.slow
def test_three_kills_change_no_byte(tmp_path, tiny):
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    for folder in (undisturbed, disturbed):
        folder.mkdir()
    finish(undisturbed, tiny)
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    kept = []
    for _ in range(3):
        before = count(disturbed)
        process = start(disturbed, tiny)
        wanted = before + chance.randint(1, 4)
        while count(disturbed) < wanted and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.3)
        assert process.poll() is None, f"the run ended before it could be killed (seed {seed})"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
        kept.append(count(disturbed))
    assert not tables(disturbed)
    finish(disturbed, tiny)
    assert 0 < kept[0] < kept[1] < kept[2] <= count(undisturbed) == count(disturbed), f"seed {seed}"
    assert tables(disturbed) == tables(undisturbed), f"seed {seed}"
    assert {"results.md", "index.html", "calibration.tex", "calibration.csv"} <= tables(disturbed).keys()


@pytest.mark.slow
def test_ctrl_c_ends_it_with_130_and_it_goes_on(tmp_path, tiny):
    process = start(tmp_path, tiny)
    while count(tmp_path) < 2 and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    assert process.wait(60) == 130, (tmp_path / "log").read_text()
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said and "Error" not in said, said
    kept = count(tmp_path)
    assert kept >= 2 and not list((tmp_path / "results").rglob(".*")) and not tables(tmp_path)
    finish(tmp_path, tiny)
    assert count(tmp_path) > kept and "results.md" in tables(tmp_path)
