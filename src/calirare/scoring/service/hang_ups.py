"""SIGHUP asks a service to read its model again, from its first moment to its last: by default it would end the process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any, Self


class HangUps:
    """Notices SIGHUP; what comes before anybody listens is kept. After a `with`, SIGHUP does nothing.

    >>> hang_ups, heard = HangUps(), []
    >>> hang_ups.notice()
    >>> hang_ups.tell(lambda: heard.append("reload"))
    >>> hang_ups.notice()
    >>> heard
    ['reload', 'reload']
    """

    def __init__(self) -> None:
        self._listener: Callable[[], object] | None = None
        self._kept = False

    def __enter__(self) -> Self:
        self.catch()
        return self

    def __exit__(self, *error: object) -> None:
        _handle(signal.SIG_IGN)  # not even where the interpreter, on its way out, gives up its handlers

    def catch(self) -> None:
        """Notice it from now on, where this system has it and this is the thread that signals come to."""
        _handle(self.notice)

    def notice(self, *said: Any) -> None:
        """SIGHUP came."""
        if self._listener is None:
            self._kept = True
        else:
            self._listener()

    def tell(self, listener: Callable[[], object] | None) -> None:
        """Call this for each, and at once if one was kept; None: nobody listens any more."""
        self._listener = listener
        if listener is not None and self._kept:
            self._kept = False
            listener()


def _handle(handler: Any) -> None:
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, handler)
