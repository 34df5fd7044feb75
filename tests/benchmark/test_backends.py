"""Processes and Ray."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from calirare.benchmark.backends import mapping
from calirare.errors import InputError, MissingDependencyError


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"backend": "dask"}, "backend must be one of"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": -3}, "jobs must be"),
        ({"address": "auto"}, "--backend ray"),
    ],
)
def test_mistakes(arguments, says):
    with pytest.raises(InputError, match=says), mapping(**arguments):
        pass


def test_without_ray_the_install_line_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"calirare\[ray\]"), mapping("ray"):
        pass


CLUSTER = """
import json, subprocess, sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
cluster.add_node(num_cpus=1)
done = subprocess.run([sys.executable, "-m", "calirare", *sys.argv[1:], "--backend", "ray", "--address", cluster.address])
cluster.shutdown()
sys.exit(done.returncode)
"""


@pytest.mark.slow
def test_a_ray_cluster_of_two_workers_gives_the_same_tables(tmp_path, tiny):
    words = ["benchmark", "--datasets", "none", "--dataset", str(tiny), "--table", "calibration", "--labels", "10"]
    words += ["--methods", "uncalibrated,mixup,jackknife", "--seeds", "2", "--epochs", "20", "--json"]
    quiet = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    options = {"capture_output": True, "text": True, "timeout": 180, "env": quiet}
    plain = subprocess.run(
        [sys.executable, "-m", "calirare", *words, "--jobs", "1", "--out", str(tmp_path / "a")], **options
    )
    assert plain.returncode == 0, plain.stderr
    ray = subprocess.run([sys.executable, "-c", CLUSTER, *words, "--out", str(tmp_path / "b")], **options)
    assert ray.returncode == 0, ray.stderr
    assert json.loads(ray.stdout[ray.stdout.index("{") :])["computed"] == 6
    for name in ("calibration.csv", "calibration.tex", "statistics.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
