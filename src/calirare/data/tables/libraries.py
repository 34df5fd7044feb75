"""The libraries of tables, where they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calirare.errors import optional

__all__ = ["import_arrow", "import_polars", "pl"]


def import_polars() -> Any:
    """The polars module, or the line that installs it."""
    return optional("polars", "tables")


def import_arrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet, or the line that installs them."""
    return optional("pyarrow", "tables"), optional("pyarrow.parquet", "tables")


class _Polars:
    """Polars, loaded when it is first used: to import calirare takes none of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_polars(), name)


if TYPE_CHECKING:
    import polars as pl
else:
    pl = _Polars()
