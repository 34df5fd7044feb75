"""The refit in the background: one at a time, with progress, stopped between two epochs when the desk closes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from calirare.detectors.base import Progress
from calirare.errors import CalirareError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Status:
    """Where the job stands.

    Args:
        state: `"idle"`, `"running"`, `"done"` or `"failed"`.
        doing: What it is at, or why it failed.
        share: How far it is, 0 to 1.
        by: Who started it.
        number: Grows with every job, so that a page knows whether it has seen this one's end.
    """

    state: str = "idle"
    doing: str = ""
    share: float = 0.0
    by: str = ""
    number: int = 0


class StoppedError(CalirareError):
    """The desk closes; the job leaves everything as it was."""


class Job:
    """Runs one piece of work at a time in a thread.

    Args:
        work: Called with a function to report progress to.
    """

    def __init__(self, work: Callable[[Progress], Any]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._status = Status()

    @property
    def status(self) -> Status:
        return self._status

    def start(self, by: str) -> bool:
        """Start, unless it runs already; says whether it did."""
        with self._lock:
            if self._status.state == "running" or self._stopping.is_set():
                return False
            self._status = Status("running", "Starting", 0.0, by, self._status.number + 1)
            self._thread = threading.Thread(target=self._run, name="refit")
            self._thread.start()
            return True

    def stop(self) -> None:
        """Ask it to stop and wait until it has."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._work(self._report)
        except StoppedError:
            self._finish("failed", "Stopped: the desk was closed.")
        except CalirareError as error:
            self._finish("failed", str(error))
        except OSError as error:
            logger.exception("the refit failed")
            self._finish(
                "failed", f"The new model could not be written: {error.strerror or error}. The old one is unchanged."
            )
        except Exception:
            logger.exception("the refit failed")
            self._finish("failed", "The refit failed; the log of the desk says why. The model is unchanged.")
        else:
            self._finish("done", "Done")

    def _report(self, share: float, doing: str) -> None:
        if self._stopping.is_set():
            raise StoppedError("stopped")
        self._status = replace(self._status, doing=doing, share=share)

    def _finish(self, state: str, doing: str) -> None:
        self._status = replace(self._status, state=state, doing=doing, share=1.0)
