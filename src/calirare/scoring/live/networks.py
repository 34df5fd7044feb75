"""What a network says of some nodes, from these nodes and two steps around them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from calirare.data.around import InputsAround
from calirare.data.parts.partitions import Part
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.backbones.layerwise import Layers, layers_of, run_layer
from calirare.detectors.networks.influence.model import bounded
from calirare.detectors.words import WordHops, over_neighbours
from calirare.errors import NumericalError
from calirare.features.words import unit_rows, words_of
from calirare.scoring.live.base import GrownBase
from calirare.scoring.live.links import distinct, own_first, places_in


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The edges around some nodes of a grown graph, with their weights."""

    grown: GrownBase

    @cached_property
    def _heavier(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(places of pairs that weigh more than before, ascending, by how much, weights of the pairs that were added)."""
        update, links = self.grown.update, self.grown.structure.links
        weight = update.weight
        assert weight is not None
        at = links.find(*update.pairs)
        known = np.flatnonzero(at >= 0)
        known = known[np.argsort(at[known])]
        keys = update.pairs[0] * np.int64(links.num_nodes) + update.pairs[1]
        fresh = np.flatnonzero(at < 0)
        fresh = fresh[np.argsort(keys[fresh])]
        return at[known], weight[known], weight[fresh]

    def rows(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(where each list begins and the last ends, the neighbours, the weights)."""
        links, graph = self.grown.structure.links, self.grown.standing.graph
        starts, ends = links.rows(nodes)
        if graph.edge_weight is None:
            return starts, ends, np.ones(len(ends), dtype=np.float32)
        positions, (counts, added) = links.positions(nodes), links.more(nodes)
        before = graph.edge_weight[positions]
        heavier, more, fresh = self._heavier
        at, mine = places_in(heavier, positions)
        before[mine] += more[at]
        return starts, ends, np.concatenate([before, fresh[added]])[links.merged_order(nodes, counts)]

    def degree(self, nodes: np.ndarray) -> np.ndarray:
        """Weighted degrees, float64; nodes ascend."""
        before, update = self.grown.standing.weight_sums, self.grown.update
        if before is None:
            return self.grown.structure.links.degrees(nodes).astype(np.float64)
        degree = np.where(nodes < len(before), before[np.minimum(nodes, len(before) - 1)], 0.0)
        at, mine = places_in(nodes, update.pairs[0])
        return degree + np.bincount(at, weights=np.asarray(update.weight)[mine], minlength=len(nodes))

    def part(self, nodes: np.ndarray) -> Part:
        """The nodes with all their edges; nodes ascend."""
        starts, ends, weights = self.rows(nodes)
        columns, halo = own_first(nodes, ends, self.grown.update.num_nodes)
        adjacency = sp.csr_array((weights, columns, starts), shape=(len(nodes), len(nodes) + len(halo)))
        degree = np.concatenate([self.degree(nodes), self.degree(halo)])
        return Part(0, len(nodes), halo, adjacency, degree, self.grown.standing.graph.edge_weight is not None)

    def attributes(self, part: Part, nodes: np.ndarray) -> Any:
        """Attributes of the part's own nodes, then of its halo."""
        rows = [self.grown.attributes(nodes), self.grown.attributes(part.halo)]
        return sp.csr_array(sp.vstack(rows, format="csr")) if sp.issparse(rows[0]) else np.concatenate(rows)


@torch.no_grad()
def network_logits(model: nn.Module, around: Surroundings, nodes: np.ndarray, device: Any) -> np.ndarray:
    """`(n, C)` float64 logits of some nodes, ascending: each layer over what the next one reads."""
    layers = layers_of(model).to(device)
    last = around.part(nodes)
    near = np.union1d(nodes, last.halo)
    first = around.part(near)
    passed = run_layer(layers, 0, first, around.attributes(first, near), device)
    rows = passed[places_in(near, np.concatenate([nodes, last.halo]))[0]]
    return last_logits(layers, last, rows, device).astype(np.float64)


def last_logits(layers: Layers, part: Part, rows: np.ndarray, device: Any) -> np.ndarray:
    """What the second layer says of a part's own nodes; refused where it is no number."""
    logits = run_layer(layers, 1, part, rows, device)
    if not np.isfinite(logits).all():
        raise NumericalError("the model gives NaN or infinite logits; scale the features and the edge weights.")
    return bounded(torch.from_numpy(logits)).numpy()


def tensors_around(around: Surroundings, node: int, device: Any) -> tuple[InputsAround, Any]:
    """The nodes around one, which comes first, as a network reads them; and their attributes."""
    near = np.union1d([node], around.part(np.array([node])).halo).astype(np.int64)
    part = around.part(near)
    order = np.argsort(near != node, kind="stable")
    turned = np.concatenate([order, np.arange(len(near), len(near) + len(part.halo))])
    rows = around.attributes(part, near)[turned]
    x = SparseMatrix(rows, device) if sp.issparse(rows) else torch.from_numpy(rows).to(device)
    return InputsAround(part.adjacency[order][:, turned], part.degree[turned], x), rows


class LocalWords(WordHops):
    """X, AX, A²X, … of some nodes.

    Args:
        around: The grown graph.
        nodes: The nodes, ascending.
        num_words: How many of the last attributes are words.
    """

    def __init__(self, around: Surroundings, nodes: np.ndarray, num_words: int) -> None:
        self.around, self.nodes, self.num_words = around, nodes, num_words

    def _step(self, nodes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
        """(mean over the neighbours of each node, the neighbours, ascending)."""
        starts, ends, weights = self.around.rows(nodes)
        there = distinct(ends, self.around.grown.update.num_nodes)
        matrix = sp.csr_array(
            (weights.astype(np.float64), places_in(there, ends)[0], starts), shape=(len(nodes), len(there))
        )
        return over_neighbours(matrix), there

    def _words(self, nodes: np.ndarray) -> Any:
        words = words_of(self.around.grown.attributes(nodes), self.num_words)
        return unit_rows(sp.csr_array(words)).astype(np.float64)

    def everywhere(self, matrices: list[np.ndarray]) -> np.ndarray:
        """`(n, k)`, of the nodes alone."""
        return super().at(self.nodes, matrices)

    def at(self, places: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
        """Of the nodes at some places among the nodes."""
        return super().at(self.nodes[places], matrices)

    def rows(self, places: np.ndarray, hops: int) -> list[sp.csr_array]:
        """Of the nodes at some places among the nodes."""
        return super().rows(self.nodes[places], hops)
