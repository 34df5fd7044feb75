"""The node's own attributes as columns: as they are, or in a few directions where they are words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import by_column
from calirare.data.graph import RareGraph
from calirare.errors import InputError
from calirare.features.structure import neighbours
from calirare.features.words import directions, learn_directions

WIDE = 128
"""More attributes than this are propagated by their leading directions; if sparse they are words."""
MOST_SPELLED = 1_000
"""Up to so many words are columns too: to trees a single word can say more than all directions."""
_MOST_NUMBERS = 2**26
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class OwnPlan:
    """What is known of the attributes.

    Args:
        feature_names: One name per attribute.
        words: They are words: sparse and many.
        spelled: Whether they are columns as they are; False for words that are too many to be dense.
        basis: `(F, k)` leading directions of wide attributes, else None.
        kinds: Names of the kinds of node, one indicator each.
    """

    feature_names: tuple[str, ...]
    words: bool
    spelled: bool
    basis: np.ndarray | None
    kinds: tuple[str, ...]

    @classmethod
    def learn(cls, graph: RareGraph, seed: int) -> OwnPlan:
        names = unique_names(graph.attribute_names)
        wide = graph.num_features > WIDE
        basis = learn_directions(graph.x, neighbours(graph), seed) if wide and graph.num_nodes > 1 else None
        kinds = () if graph.node_type is None else graph.node_type_names
        words = wide and sp.issparse(graph.x)
        few = graph.num_features <= MOST_SPELLED and graph.num_features * graph.num_nodes <= _MOST_NUMBERS
        return cls(tuple(names), words, few or not words, basis, kinds)

    def check(self, graph: RareGraph) -> None:
        if graph.num_features != len(self.feature_names):
            raise InputError(
                f"the graph must have the {len(self.feature_names)} attributes that the columns were learned from; "
                f"it has {graph.num_features}."
            )

    def plain(self, graph: RareGraph) -> Iterator[tuple[str, np.ndarray]]:
        """The attributes themselves, `(N,)` each; none if they are words and too many."""
        if not self.spelled:
            return
        x = by_column(graph.x)
        for start in range(0, graph.num_features, _AT_ONCE):
            block = x[:, start : start + _AT_ONCE]
            block = block.toarray(order="F") if sp.issparse(block) else block
            yield from zip(self.feature_names[start : start + _AT_ONCE], block.T, strict=True)

    @property
    def spells_words(self) -> bool:
        """Whether some columns are words as they are."""
        return self.words and self.spelled

    def derived(self, graph: RareGraph) -> Iterator[tuple[str, np.ndarray]]:
        """Leading directions and the kind of node."""
        if self.basis is not None:
            what = "words" if self.words else "attributes"
            for k, column in enumerate(directions(graph.x, self.basis).T, 1):
                yield f"{what}, direction {k}", column
        for kind in self.kinds:
            codes = [code for code, name in enumerate(graph.node_type_names) if name == kind]
            is_kind = np.zeros(graph.num_nodes) if graph.node_type is None else np.isin(graph.node_type, codes)
            yield f"kind = {kind}", is_kind.astype(np.float32)


def unique_names(names: Iterable[str], taken: set[str] | None = None) -> Iterator[str]:
    """The names, marked where one was given before.

    >>> list(unique_names(["age", "age", "sex"]))
    ['age', 'age (again)', 'sex']
    """
    taken = set() if taken is None else taken
    for name in names:
        while name in taken:
            name += " (again)"
        taken.add(name)
        yield name


def spell(words: sp.csr_array, places: np.ndarray, values: np.ndarray) -> None:
    """Write words into the columns of `values` at their `(F,)` places, -1 being none; straight from what is stored."""
    values[:, places[places >= 0]] = 0.0
    row, at = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr)), places[words.indices]
    kept = slice(None) if (places >= 0).all() else at >= 0
    values[row[kept], at[kept]] = words.data[kept]
