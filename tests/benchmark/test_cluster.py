"""The benchmark on a Ray cluster."""

from __future__ import annotations

import json

import pytest
from ray_cluster import run_program


@pytest.mark.slow
def test_a_ray_cluster_of_two_workers_gives_the_same_tables(tmp_path, tiny):
    words = ["benchmark", "--datasets", "none", "--dataset", str(tiny), "--table", "calibration", "--labels", "10"]
    words += ["--methods", "uncalibrated,mixup,jackknife", "--seeds", "2", "--epochs", "20", "--json"]
    run_program([*words, "--jobs", "1", "--out", str(tmp_path / "a")], on_cluster=False)
    printed = run_program([*words, "--out", str(tmp_path / "b")], on_cluster=True)
    assert json.loads(printed[printed.index("{") :])["computed"] == 6
    for name in ("calibration.csv", "calibration.tex", "statistics.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
