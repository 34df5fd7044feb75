"""Rows of tables as they were gathered: all nodes, all edges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.data.tables.libraries import pl

NO_NODES = "nodes must have at least one row; the table has none."


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Every node of all node tables: its columns, the id column among them, and its kind.

    `ids` are the id columns as several tables call them, one per table. Behind the first `described` rows
    stand nodes of which no attributes are wanted, as edges alone name them; None: there are none of these.
    """

    frame: pl.DataFrame
    id: str
    type: np.ndarray | None = None
    type_names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    described: int | None = None

    @property
    def num_described(self) -> int:
        return self.frame.height if self.described is None else self.described

    def kinds_of(self, chosen: np.ndarray) -> Counter[str]:
        """How many of the chosen rows, `(N,)` bool, that are described there are of each kind; "" where there are no kinds."""
        chosen = chosen[: self.num_described]
        if self.type is None:
            return Counter({"": int(chosen.sum())})
        found = np.bincount(self.type[: self.num_described][chosen], minlength=len(self.type_names))
        return Counter(dict(zip(self.type_names, found.tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Every row of all edge tables: both ends, the type, and the other columns.

    `tables` says per table its name and the columns of its ends.
    """

    frame: pl.DataFrame
    source: pl.Series
    target: pl.Series
    tables: tuple[dict[str, str], ...]
    type: np.ndarray | None = None
    type_names: tuple[str, ...] = ()


def same_types(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The frames with one type for columns of one name: as they are where equal, else numbers, else text."""
    kinds: dict[str, set[Any]] = {}
    for frame in frames:
        for name, kind in frame.schema.items():
            kinds.setdefault(name, set()).add(kind)
    common = {}
    for name, found in kinds.items():
        if len(found) > 1:
            whole = all(kind.is_integer() for kind in found)
            common[name] = pl.Int64 if whole else pl.Float64 if all(k.is_numeric() for k in found) else pl.String
    return [
        frame.with_columns([pl.col(name).cast(kind) for name, kind in common.items() if name in frame.columns])
        for frame in frames
    ]
