"""Labels that meet at a node of another kind: of the files that call one domain, four of five are malicious."""

from __future__ import annotations

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph

_CHANCE = 3.0
"""Standard deviations above chance from which rare labels at a shared neighbour are told."""


def are_known(count: int, has: bool) -> str:
    """The verb that goes with a number of nodes: they have `is_fraud = yes`, or are known to be `fraud`.

    >>> are_known(1, has=False), are_known(2, has=True)
    ('is known', 'have')
    """
    return ("has" if has else "is known") if count == 1 else ("have" if has else "are known")


class SharedLabels:
    """For each node, the neighbour of a kind without labels where rare labels exceed chance most.

    Args:
        graph: The graph.
        label: `(N,)` the labels that the model has read, `UNKNOWN` elsewhere.
        rare_class: The rare one.

    >>> graph = RareGraph(  # three files call a domain; two of them are known to be rare, ten others not to be
    ...     x=np.eye(14), edge_index=np.array([[0, 1, 2], [13, 13, 13]]), y=np.array([1, 1, -1, *[0] * 10, -1]),
    ...     node_type=np.array([0] * 13 + [1]), node_type_names=("file", "domain"),
    ...     node_ids=np.array([*"abcdefghijklm", "x.org"]),
    ... )
    >>> SharedLabels(graph, graph.y, 1).say(2, "malicious", has=False)
    '2 of 2 other labelled nodes at domain x.org are known malicious'
    """

    def __init__(self, graph: RareGraph, label: np.ndarray, rare_class: int) -> None:
        self._graph = graph
        size, known, rare = graph.num_nodes, label != UNKNOWN, label == rare_class
        self.at = np.full(size, -1)
        self.labelled, self.rare = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        if graph.node_type is None or not known.any():
            return
        of_labelled = np.isin(graph.node_type, np.unique(graph.node_type[known]))
        node, at = graph.edge_index
        counts = [np.bincount(node, weights=flags[at], minlength=size) for flags in (known, rare)]
        chosen = ~of_labelled[at]
        node, at = node[chosen], at[chosen]
        others, found = (count[at] - flags[node] for count, flags in zip(counts, (known, rare), strict=True))
        share = rare.sum() / known.sum()
        above = (found - share * others) / np.sqrt(np.maximum(share * (1 - share) * others, 1e-12))
        told = (found > 0) & (above > _CHANCE)
        order = np.argsort(above[told], kind="stable")  # of a node's neighbours the last one written stays
        node = node[told][order]
        self.at[node] = at[told][order]
        self.labelled[node], self.rare[node] = others[told][order], found[told][order]

    def say(self, node: int, rare: str, has: bool) -> str:
        """`4 of 5 other labelled nodes at domain x.org are known malicious`; "" where there is no such neighbour.

        Args:
            node: The node.
            rare: The name of the rare class.
            has: Whether nodes have it (`is_fraud = yes`), not are it (`fraud`).
        """
        at, labelled, found = int(self.at[node]), int(self.labelled[node]), int(self.rare[node])
        if at < 0:
            return ""
        who = "the only other labelled node" if labelled == 1 else f"{found} of {labelled:,} other labelled nodes"
        return f"{who} at {name_with_kind(self._graph, at)} {are_known(found, has)} {rare}"


def name_with_kind(graph: RareGraph, node: int) -> str:
    """What to call a node of a graph of several kinds: `domain x.org`."""
    kind, name = graph.node_type_names[int(graph.node_type[node])], str(graph.ids[node])  # type: ignore[index]
    return name if name.startswith(f"{kind} ") else f"{kind} {name}"
