"""How long a person waits before anything happens: `import calirare`, `calirare --version`, `calirare --help`.

python benchmarks/startup.py
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

STARTS = {
    "python, nothing else": ["-c", "pass"],
    "import calirare": ["-c", "import calirare"],
    "calirare --version": ["-m", "calirare", "--version"],
    "calirare --help": ["-m", "calirare", "--help"],
    "calirare fit --help": ["-m", "calirare", "fit", "--help"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in STARTS}
    for _ in range(repeats + 1):  # in turn, so that a busy moment hits all alike
        for name, words in STARTS.items():
            started, before = time.perf_counter(), _cpu_seconds()
            subprocess.run([sys.executable, *words], check=True, capture_output=True)
            seconds[name].append((time.perf_counter() - started, _cpu_seconds() - before))
    for name, found in seconds.items():
        warm = np.array(found[1:])  # the first start reads the files from disk
        wall, cpu = np.median(warm, axis=0)
        print(f"{name:22} {wall:6.3f} s, of them {cpu:6.3f} s of one core; quickest {warm[:, 0].min():6.3f} s")


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
