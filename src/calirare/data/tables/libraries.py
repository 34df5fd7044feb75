"""The libraries of tables, where they are installed."""

from __future__ import annotations

from typing import Any

from calirare.errors import optional


def import_polars() -> Any:
    """The polars module, or the line that installs it."""
    return optional("polars", "tables")


def import_arrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet, or the line that installs them."""
    return optional("pyarrow", "tables"), optional("pyarrow.parquet", "tables")
