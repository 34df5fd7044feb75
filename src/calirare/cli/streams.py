"""Standard input, output and error as shells hand them over: closed, full, or read by a program that has had enough."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any


def prepare() -> None:
    """Make the three streams usable and let a service manager's stop end the program as orderly as Ctrl-C."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # Closed (`>&-`). Left so, the next file opened, a model say, would get the number, and the words of any
            # library would be written into it.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))
    # A path in another encoding, or a terminal without ours, is no reason to fail.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    for name, code in (("SIGTERM", 143), ("SIGHUP", 129)):
        found = getattr(signal, name, None)
        if found is not None and signal.getsignal(found) == signal.SIG_DFL:  # `nohup` ignores one of them
            signal.signal(found, signal.SIG_IGN if _is_left_alone(name) else _exit_with(code))


def _is_left_alone(name: str) -> bool:
    """SIGHUP means something else to a service, which listens to it as soon as its command is read."""
    return name == "SIGHUP" and next((word for word in sys.argv[1:] if not word.startswith("-")), "") == "serve"


def _exit_with(code: int) -> Any:
    def leave(*_: Any) -> None:
        sys.exit(code)  # blocks are left in order, so that working folders go

    return leave


def let_go() -> None:
    """Say no more: a reader has gone, and Python would complain again when it flushes at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
