"""A model made ready in a process of its own, behind those that answer: they only take it over.

In the process that answers, a load would take turns with every request: Python lets one thread run at a time.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from multiprocessing.process import BaseProcess
from pathlib import Path

from calirare.errors import CalirareError, DataError, InputError
from calirare.scoring.live.handover import hand_over, take_over
from calirare.scoring.service.loading import Loaded, Note, ReadHere, ReadTables

_NICE = 10
"""Who answers goes first where there are not cores enough for both."""


class ReadApart(ReadHere):
    """Loads models in another process. What reads the tables, and what is told, must be importable by name."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None

    def __call__(self, model: Path, read_tables: ReadTables, coverage: float, note: Note | None) -> Loaded:
        with tempfile.TemporaryDirectory(prefix="calirare-", ignore_cleanup_errors=True) as scratch:
            asked = (Path(scratch), model, read_tables, coverage, note)
            # A fresh interpreter: a copy of this one would hold locks of threads that it does not have.
            self._process = multiprocessing.get_context("spawn").Process(target=_make_ready, args=asked, daemon=True)
            self._process.start()
            self._process.join()
            return _taken(Path(scratch), self._process.exitcode)

    def close(self) -> None:
        if self._process is not None and self._process.is_alive():
            self._process.terminate()


def _make_ready(scratch: Path, model: Path, read_tables: ReadTables, coverage: float, note: Note | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    if hasattr(os, "nice"):
        os.nice(_NICE)
    logging.getLogger("calirare").addHandler(logging.NullHandler())  # its words may quote a value
    logging.getLogger("calirare").propagate = False
    threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True).start()
    try:
        loaded = ReadHere()(model, read_tables, coverage, note)
        hand_over(loaded.live, scratch)
        (scratch / "version").write_text(loaded.version, encoding="utf-8")
    except CalirareError as error:
        said = {"message": str(error), "of_input": isinstance(error, InputError)}
        (scratch / "error").write_text(json.dumps(said), encoding="utf-8")


def _end_with_parent(scratch: Path) -> None:
    """Leave nothing behind where the server was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(1)


def _taken(scratch: Path, code: int | None) -> Loaded:
    if (scratch / "error").exists():
        said = json.loads((scratch / "error").read_text(encoding="utf-8"))
        raise (InputError if said["of_input"] else DataError)(said["message"])
    if not (scratch / "version").exists():
        raise DataError(f"the model was not made ready: its process ended with {code}; is there memory for two models?")
    return Loaded.of(take_over(scratch), (scratch / "version").read_text(encoding="utf-8"))
