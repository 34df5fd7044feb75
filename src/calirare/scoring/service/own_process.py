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
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from calirare.errors import CalirareError, DataError, InputError
from calirare.scoring.live.handover import hand_over, take_over
from calirare.scoring.service.loading import Loaded, Note, ReadHere, ReadTables
from calirare.scoring.service.logs import log_to_stderr

logger = logging.getLogger(__name__)
_NICE = 10
"""Processes that answer go first where there are not enough cores for both."""


class ReadApart(ReadHere):
    """Loads models in another process. What reads the tables, and what is told, must be importable by name."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._closed = False

    def __call__(self, model: Path, read_tables: ReadTables, coverage: float, note: Note | None) -> Loaded:
        try:
            with tempfile.TemporaryDirectory(prefix="calirare-", ignore_cleanup_errors=True) as scratch:
                version = self._run(Path(scratch), model, read_tables, coverage, note)
                return Loaded.of(take_over(Path(scratch)), version)
        except CalirareError:
            raise
        except OSError as error:
            raise DataError(_no_room(error)) from error

    def _run(self, *asked: Any) -> str:
        """The version of the model that lies in the folder, ready."""
        # A fresh interpreter: a copy of this one would hold locks of threads that it does not have.
        context = multiprocessing.get_context("spawn")
        hears, says = context.Pipe(duplex=False)
        with hears:
            self._process = context.Process(target=_make_ready, args=(says, *asked), daemon=True)
            with says, _deaf_to_hang_ups():
                self._process.start()
            if self._closed:
                self.close()
            try:
                said = json.loads(hears.recv_bytes())
            except EOFError:
                said = None
            self._process.join()
        if said is None:
            code = self._process.exitcode
            raise DataError(
                f"the model was not made ready: its process ended with {code}; is there memory for two models?"
            )
        if "error" in said:
            raise (InputError if said["of_input"] else DataError)(said["error"])
        return str(said["version"])

    def close(self) -> None:
        self._closed = True
        if self._process is not None and self._process.is_alive():
            self._process.terminate()


@contextmanager
def _deaf_to_hang_ups() -> Iterator[None]:
    """A terminal that goes sends SIGHUP to whatever runs in it. What is started in here never gets it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _make_ready(
    says: Connection, scratch: Path, model: Path, read_tables: ReadTables, coverage: float, note: Note | None
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    if hasattr(os, "nice"):
        os.nice(_NICE)
    log_to_stderr()
    threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True).start()
    said: dict[str, Any]
    try:
        loaded = ReadHere()(model, read_tables, coverage, note)
        hand_over(loaded.live, scratch)
        said = {"version": loaded.version}
    except Exception as error:
        said = {"error": _told(error), "of_input": isinstance(error, InputError)}
    says.send_bytes(json.dumps(said).encode())


def _told(error: Exception) -> str:
    if isinstance(error, CalirareError):
        return str(error)
    logger.error("error", extra={"facts": {"kind": type(error).__name__}, "where": error})
    if isinstance(error, OSError):
        return _no_room(error)
    return f"the model was not made ready: {type(error).__name__}; the log says where."


def _no_room(error: OSError) -> str:
    return f"the model was not made ready: {error.strerror or type(error).__name__}; is there room for temporary files (TMPDIR)?"


def _end_with_parent(scratch: Path) -> None:
    """Leave nothing behind where the server was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(1)
