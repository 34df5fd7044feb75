"""Files that claim more than there is, read under a cap of two gigabytes: one line, exit code 2, no abort."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from bombs import KINDS, bomb

from calirare.persistence.writing import header_checksum

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as on Linux")]

CAPPED = """
import resource, sys
import calirare.estimator.classifier, calirare.scoring.table, lightgbm, polars, pyarrow.parquet, pyarrow.feather
from calirare.cli import run
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30),) * 2)
sys.argv = ["calirare", *sys.argv[1:]]
run()
"""
ZEROS = 3 * 2**30


def npz(path, shape):
    """Three gigabytes of zeros in three megabytes, under a header that claims this shape."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "|u1", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as stream:
            stream.write(head.getvalue())
            for _ in range(ZEROS >> 24):
                stream.write(bytes(1 << 24))
    return path


def one_long_id(path):
    rows = [f"{'x' * 500_000 if k == 7 else k},{k},{k % 2}" for k in range(5_000)]
    path.write_text("id,x,y\n" + "\n".join(rows) + "\n")
    return path


def wide(path):
    names = [f"c{k}" for k in range(20_000)]
    rows = "\n".join(f"{k},{k % 2}," + ",".join(["1.5"] * 20_000) for k in range(20))
    path.write_text(f"id,y,{','.join(names)}\n{rows}\n")
    return path


def run_capped(*words):
    """(what it said, megabytes at its peak, some 600 of them the libraries' own)."""
    command = [sys.executable, "-c", CAPPED, *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    said = [line for line in told.splitlines() if line.startswith("Error: ")]
    assert process.returncode == 2 and len(said) == 1 and "Traceback" not in told, told[-800:]
    return said[0], usage.ru_maxrss >> 10


@pytest.mark.parametrize("kind", [*KINDS, "one-long-id.csv", "wide.csv"])
def test_tables(tmp_path, kind, count):
    make = {"one-long-id.csv": one_long_id, "wide.csv": wide}.get(kind)
    path = make(tmp_path / kind) if make else bomb(tmp_path, kind, 60_000_000)
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    words = ["fit", path, tmp_path / "edges.csv", "--label", "y", "--rare", "1", "--out", tmp_path / "model"]
    said, megabytes = run_capped(*words)
    assert not (tmp_path / "model").exists()
    count(f"{kind}, {path.stat().st_size >> 10:,} kB: refused, {megabytes:,} MB at its peak. {said[:90]}…")


@pytest.mark.parametrize("shape", [(ZEROS,), (4,), (2**50,)])
def test_graph_of_a_model(tmp_path, model, shape, count):
    """The header names the file with its true sha256: somebody who can write the folder made it."""
    folder = shutil.copytree(model, tmp_path / "model")
    path = npz(folder / "graph-large.npz", shape)
    header = json.loads((folder / "model.json").read_text())
    header["graph"] = {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    (folder / "model.json").write_text(json.dumps(header | {"checksum": header_checksum(header)}))
    said, megabytes = run_capped("report", folder, "--out", tmp_path / "report.html")
    assert megabytes < 1_500
    count(
        f"npz of {path.stat().st_size >> 10:,} kB that claims {shape}: refused, {megabytes:,} MB at its peak. {said[:90]}…"
    )
