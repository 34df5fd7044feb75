"""The quick benchmarks one after the other, each in a process of its own, with what they print, and all ratios in a table.

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
    ("leave_one_out_cost.py", "--repeats", "2", "--ratios"),
    ("speed.py", "--repeats", "2", "--ratios"),
    ("detector_cost.py", "--networks", "gcn", "--ratios"),
    ("scale.py", "--nodes", "10000,100000", "--ratios"),
    ("startup.py",),
    ("calibration_targets.py", str(FOLDER.parent / "docs" / "assets" / "runs.parquet")),
)


def main() -> int:
    failed = []
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
        print("\n== all ratios", flush=True)
        show(str(ratios))
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    raise SystemExit(main())
