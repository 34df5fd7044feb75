"""Columns of equal length by name, that become a data frame of the user's library on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.errors import optional

if TYPE_CHECKING:
    import polars as pl


class NamedColumns(dict[str, np.ndarray]):
    """A table as a mapping from names to arrays.

    >>> table = NamedColumns(id=np.array(["a", "b"]), probability=np.array([0.1, 0.9]))
    >>> table.to_pandas().shape, table.to_polars().columns
    ((2, 2), ['id', 'probability'])
    """

    def to_polars(self) -> pl.DataFrame:
        """As a polars frame."""
        return self._frame(optional("polars", "tables"))

    def to_pandas(self) -> Any:
        """As a pandas frame."""
        return self._frame(optional("pandas", None))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row after the other, as plain values by name.

        >>> list(NamedColumns(id=np.array([1, 2]), p=np.array([0.5, 0.25])).rows())
        [{'id': 1, 'p': 0.5}, {'id': 2, 'p': 0.25}]
        """
        for values in zip(*(column.tolist() for column in self.values()), strict=True):
            yield dict(zip(self, values, strict=True))

    def _frame(self, library: Any) -> Any:
        """Text as a list, which each library types by itself; numbers stay arrays."""
        return library.DataFrame(
            {name: column.tolist() if column.dtype.kind in "OU" else column for name, column in self.items()}
        )
