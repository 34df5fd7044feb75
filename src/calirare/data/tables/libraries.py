"""The libraries of tables, where they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calirare.errors import optional

__all__ = ["import_arrow", "pl"]


def import_arrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet, or the line that installs them."""
    return optional("pyarrow", "tables"), optional("pyarrow.parquet", "tables")


class _Polars:
    """Polars, loaded when it is first used: to import calirare takes none of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(optional("polars", "tables"), name)


if TYPE_CHECKING:
    import polars as pl
else:
    pl = _Polars()
