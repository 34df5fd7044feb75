"""Cells without a value: gaps that are filled in, and what a kind of node does not have, as a shop has no age."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class EmptyCells:
    """How many cells are empty.

    Args:
        rows: How many rows there are of each kind of node.
        columns: Per column, how many of them have no value there.
    """

    rows: Counter[str] = field(default_factory=Counter)
    columns: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: EmptyCells) -> None:
        """Count the empty cells of more rows."""
        self.rows.update(other.rows)
        for name, empty in other.columns.items():
            self.columns.setdefault(name, Counter()).update(empty)

    def counts(self) -> dict[str, dict[str, int]]:
        """`imputed`: gaps per column; `lacking`: empty cells of kinds that never have a value there, where others do.

        >>> found = EmptyCells(Counter(person=3, shop=2), {"age": Counter(person=1, shop=2), "height": Counter(shop=2)})
        >>> found.counts()
        {'imputed': {'age': 1}, 'lacking': {'age': 2, 'height': 2}}
        """
        imputed, lacking = {}, {}
        for name, empty in self.columns.items():
            lack = sum(count for kind, count in empty.items() if count == self.rows[kind])
            lack = 0 if lack == self.rows.total() else lack  # nobody has a value, which is no matter of kinds
            imputed[name], lacking[name] = empty.total() - lack, lack
        return {"imputed": _some(imputed), "lacking": _some(lacking)}


def _some(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
