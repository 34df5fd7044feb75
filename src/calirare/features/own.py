"""The node's own attributes as columns: as they are, or in a few directions where they are words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.graph import RareGraph
from calirare.errors import InputError
from calirare.features.structure import neighbours
from calirare.features.words import directions, learn_directions

WIDE = 128
"""More attributes than this are propagated by their leading directions; if sparse they are words."""
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class OwnPlan:
    """What is known of the attributes.

    Args:
        feature_names: One name per attribute.
        words: They are words: sparse, and too many to be dense.
        basis: `(F, k)` leading directions of wide attributes, else None.
        kinds: Names of the kinds of node, one indicator each.
    """

    feature_names: tuple[str, ...]
    words: bool
    basis: np.ndarray | None
    kinds: tuple[str, ...]

    @classmethod
    def learn(cls, graph: RareGraph, seed: int) -> OwnPlan:
        names = unique_names(graph.feature_names or [f"attribute {k}" for k in range(graph.num_features)])
        wide = graph.num_features > WIDE
        basis = learn_directions(graph.x, neighbours(graph), seed) if wide and graph.num_nodes > 1 else None
        kinds = () if graph.node_type is None else graph.node_type_names
        return cls(tuple(names), wide and sp.issparse(graph.x), basis, kinds)

    def check(self, graph: RareGraph) -> None:
        if graph.num_features != len(self.feature_names):
            raise InputError(
                f"the graph must have the {len(self.feature_names)} attributes that the columns were learned from; "
                f"it has {graph.num_features}."
            )

    def plain(self, graph: RareGraph) -> Iterator[tuple[str, np.ndarray]]:
        """The attributes themselves, `(N,)` each; none if they are words."""
        if self.words:
            return
        for start in range(0, graph.num_features, _AT_ONCE):
            block: Any = graph.x[:, start : start + _AT_ONCE]
            block = block.toarray() if sp.issparse(block) else block
            yield from zip(self.feature_names[start : start + _AT_ONCE], block.T, strict=True)

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
