"""The quick benchmarks one after the other, each in a process of its own, with what they print.

The slow ones have lines of their own in their docstrings: `leave_one_out_accuracy.py` (real retraining), `scale.py` up to
a million nodes, `review_desk.py` (a minute of load), and `calirare benchmark` (the paper's tables).

    python benchmarks/run_all.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
PARTS = (
    ("leave_one_out_exactness.py",),
    ("leave_one_out_cost.py", "--repeats", "2"),
    ("speed.py", "--repeats", "2"),
    ("scale.py", "--nodes", "10000,100000", "--epochs", "50"),
    ("individual_measures.py", "--seeds", "2"),
    ("calibration_targets.py", str(FOLDER.parent / "docs" / "assets" / "runs.parquet")),
)


def main() -> int:
    failed = []
    for name, *arguments in PARTS:
        print(f"\n== {' '.join([name, *arguments])}", flush=True)
        began = time.perf_counter()
        if subprocess.run([sys.executable, str(FOLDER / name), *arguments], check=False).returncode:
            failed.append(name)
        print(f"-- {time.perf_counter() - began:.0f} s", flush=True)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    raise SystemExit(main())
