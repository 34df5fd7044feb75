"""The program on a Ray cluster of two workers on this machine."""

from __future__ import annotations

import os
import subprocess
import sys

SETTINGS = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "120",  # test machines are busy
}

_CLUSTER = """
import subprocess, sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
cluster.add_node(num_cpus=1)
done = subprocess.run([sys.executable, "-m", "calirare", *sys.argv[1:], "--backend", "ray", "--address", cluster.address])
cluster.shutdown()
sys.exit(done.returncode)
"""


def run_program(words: list[str], *, on_cluster: bool) -> str:
    """What `calirare …` prints, run in a process of its own."""
    start = ["-c", _CLUSTER] if on_cluster else ["-m", "calirare"]
    done = subprocess.run(
        [sys.executable, *start, *words],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **SETTINGS},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
