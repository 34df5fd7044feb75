"""polars, where it is installed."""

from __future__ import annotations

from typing import Any

from calirare.errors import MissingDependencyError


def import_polars() -> Any:
    """The polars module, or the line that installs it."""
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError("polars", "tables") from error
    return polars
