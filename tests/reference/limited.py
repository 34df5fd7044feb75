"""Run the program in a process of its own: under a limit on file sizes, or to be interrupted or killed."""

from __future__ import annotations

import os
import subprocess
import sys

_LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit fails, as on a full disk, and kills nobody
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from calirare.cli import run
sys.argv = ["calirare", *sys.argv[2:]]
run()
"""

_READY = """
import signal, sys
from calirare.cli import run
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have ignored it
sys.argv = ["calirare", *sys.argv[1:]]
print("ready", flush=True)
run()
"""


def run_limited(largest_file, *words):
    """The program where no file can grow beyond so many bytes; the finished process, its output as text.

    Its coverage is not measured: what measures it could not write its own file either. Nor is bytecode kept: Python would
    leave the beginning of a file, over which every later import stumbles.
    """
    command = [sys.executable, "-c", _LIMITED, str(largest_file), *map(str, words)]
    settings = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    settings["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=settings)


def start(*words, code=_READY):
    """The program, running, after it has said that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process
