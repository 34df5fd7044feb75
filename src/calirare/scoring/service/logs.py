"""Logs as one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any


class JsonLines(logging.Formatter):
    """Time, level, what happened, and the facts that came with it; of an error the places, not its message.

    >>> record = logging.LogRecord("a", logging.INFO, "f", 1, "request", (), None)
    >>> record.facts, record.created = {"status": 200}, 0.0
    >>> JsonLines().format(record)
    '{"time": "1970-01-01T00:00:00Z", "level": "info", "event": "request", "status": 200}'
    """

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        error = getattr(record, "where", None) or (record.exc_info[1] if record.exc_info else None)
        if isinstance(error, BaseException):
            frames = traceback.extract_tb(error.__traceback__)
            said["where"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(said, ensure_ascii=False)


def log_to_stderr() -> None:
    """Send what the service says to stderr; the library's own words stay out, for they may quote a value."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, least in ((__package__, logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(least)
    logging.getLogger("calirare").addHandler(logging.NullHandler())
    logging.getLogger("calirare").propagate = False
