"""Parquet and Arrow files as Arrow tables, never larger in memory than there is room for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calirare.data.tables.libraries import import_arrow
from calirare.data.tables.sources.arrow_claims import claimed_bytes
from calirare.data.tables.sources.limits import check_bytes, check_parquet, unpacked_bytes
from calirare.errors import optional


def read_feather(path: Path) -> Any:
    """A file in Arrow's own format."""
    feather = optional("pyarrow.feather", "tables")
    check_bytes(2 * claimed_bytes(path), str(path))
    table = feather.read_table(path, memory_map=False)
    check_bytes(2 * unpacked_bytes(table), str(path))
    return table


def read_parquet(path: Path) -> Any:
    """Read a file row group by row group, text through a dictionary, so that its size is known before it is unpacked.

    One dictionary per row group: for ids, which seldom repeat, one of the whole file takes several times as long.
    """
    pa, parquet = import_arrow()
    with parquet.ParquetFile(path) as file:
        check_parquet(path, file.metadata)
        text = [field.name for field in file.schema_arrow if _is_text(field.type)]
    with parquet.ParquetFile(path, read_dictionary=text) as file:
        groups, needed = [_repeat(file.schema_arrow.empty_table(), text)], 0
        for k in range(file.num_row_groups):
            group = file.read_row_group(k)
            needed += unpacked_bytes(group)
            check_bytes(2 * needed, str(path))
            groups.append(_repeat(group, text))
    return pa.concat_tables(groups)


def without_wide_decimals(table: Any) -> Any:
    """Decimals of more than 38 digits, which end polars in a panic, as floats; whole ones, which may be ids, as text.

    >>> import pyarrow as pa
    >>> from decimal import Decimal
    >>> wide = pa.table({"id": pa.array([Decimal(7)], pa.decimal256(50)), "sum": pa.array([Decimal("1.5")], pa.decimal256(50, 1))})
    >>> without_wide_decimals(wide).to_pylist()
    [{'id': '7', 'sum': 1.5}]
    """
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_decimal256(field.type):
            into = pa.float64() if field.type.scale > 0 else pa.large_string()
            table = table.set_column(place, field.name, table.column(place).cast(into))
    return table


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _repeat(table: Any, text: list[str]) -> Any:
    """The columns of text in full."""
    import pyarrow as pa

    for place, name in enumerate(table.column_names):
        if name in text:
            table = table.set_column(place, name, table.column(place).cast(pa.large_string()))
    return table
