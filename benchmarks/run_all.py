"""The quick benchmarks one after the other, each in a process of its own, with what they print, and all ratios in a table.

Sized to end within a quarter of an hour on two free cores; every part says how long it took. `detector_cost.py` goes
through all seven graphs, so that the others can leave the large ones out.

The slow ones have lines of their own in their docstrings: `leave_one_out_accuracy.py` (real retraining), `scale.py` up to
a million nodes, `review_desk.py` (a minute of load), and `calirare benchmark` (the paper's tables).

    python benchmarks/run_all.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ratios import show

FOLDER = Path(__file__).parent
PARTS = (
    ("leave_one_out_exactness.py",),
    ("leave_one_out_cost.py", "--repeats", "1", "--ratios"),
    ("speed.py", "--datasets", "cora,citeseer,pubmed", "--repeats", "1", "--ratios"),
    ("detector_cost.py", "--networks", "gcn", "--ratios"),
    ("scale.py", "--nodes", "10000,100000", "--ratios"),
    ("startup.py",),
    ("calibration_targets.py", str(FOLDER.parent / "docs" / "assets" / "runs.parquet")),
)


def main() -> int:
    failed, started = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        ratios = Path(folder) / "ratios.jsonl"
        ratios.touch()
        for name, *arguments in PARTS:
            words = [*arguments, str(ratios)] if arguments[-1:] == ["--ratios"] else arguments
            print(f"\n== {' '.join([name, *arguments])}", flush=True)
            began = time.perf_counter()
            if subprocess.run([sys.executable, str(FOLDER / name), *words], check=False).returncode:
                failed.append(name)
            print(f"-- {time.perf_counter() - began:.0f} s", flush=True)
        print(f"\n== all ratios, after {(time.perf_counter() - started) / 60:.1f} minutes", flush=True)
        show(str(ratios))
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    raise SystemExit(main())
