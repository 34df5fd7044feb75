"""polars, where it is installed."""

from __future__ import annotations

from typing import Any

from calirare.errors import optional


def import_polars() -> Any:
    """The polars module, or the line that installs it."""
    return optional("polars", "tables")
