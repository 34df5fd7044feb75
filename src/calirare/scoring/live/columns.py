"""The columns of some nodes, their neighbours' among them, from these nodes and two steps around them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from calirare.features.columns import Columns
from calirare.features.propagation import Aggregate, Relation, column_blocks, row_shares, said_of
from calirare.scoring.live.base import GrownBase, places_in
from calirare.scoring.live.links import Links, distinct

_AT_ONCE = 4_096
"""Neighbours whose own neighbours are gathered at a time."""


def columns_of(grown: GrownBase, nodes: np.ndarray) -> Columns:
    """As `recipe.apply` gives them on the whole graph, up to rounding; nodes ascend."""
    recipe = grown.standing.recipe
    first, count, whose = recipe.propagated
    values = np.empty((len(nodes), len(recipe.names)), dtype=np.float32)
    values[:] = recipe.means
    values[:, :count] = grown.take(nodes)
    relations = {relation: grown.links(*relation) for relation in grown.standing.relations}
    lists = {relation: links.rows(nodes) for relation, links in relations.items()}
    ends = np.concatenate([np.empty(0, dtype=np.int64), *(ends for _, ends in lists.values())])
    near = distinct(ends, grown.update.num_nodes)
    middle = recipe.means[first:count]
    around = grown.take(near)[:, first:] if near.size else np.zeros((0, count - first), dtype=np.float32)
    further = _means_of(grown, relations, near, first, middle)
    names = recipe.names[first:count]
    for relation in relations:
        matrix = _matrix(*lists[relation], near)
        wanted = [aggregate for aggregate in recipe.aggregates if aggregate.over == relation]
        for at, aggregates in column_blocks(whose, wanted):
            there = further[relation][:, at] if relation in further else np.zeros((near.size, len(at)))
            called = [names[k] for k in at]
            for found in said_of(matrix, around[:, at], there, middle[at], called, aggregates):
                recipe.put(found, values)
    words = sp.csr_array(grown.attributes(nodes)) if recipe.own.words else None
    return Columns(values, recipe.names, recipe.groups, words, recipe.num_spelled)


def _means_of(
    grown: GrownBase, relations: dict[Relation, Links], near: np.ndarray, first: int, middle: np.ndarray
) -> dict[Relation, np.ndarray]:
    """`(len(near), B)` means over the neighbours' neighbours, for the relations in which two steps are wanted."""
    wanted = [relation for relation in relations if _goes_on(grown.standing.recipe.aggregates, relation)]
    means = {relation: np.zeros((len(near), len(middle))) for relation in wanted}
    for start in range(0, len(near) if wanted else 0, _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        lists = {relation: relations[relation].rows(near[block]) for relation in wanted}
        far = distinct(np.concatenate([ends for _, ends in lists.values()]), grown.update.num_nodes)
        centred = grown.take(far)[:, first:] - middle
        for relation, (starts, ends) in lists.items():
            means[relation][block] = _matrix(starts, ends, far) @ centred
    return means


def _goes_on(aggregates: Iterable[Aggregate], relation: Relation) -> bool:
    return any(aggregate.statistic == "two steps" and aggregate.over == relation for aggregate in aggregates)


def _matrix(starts: np.ndarray, ends: np.ndarray, among: np.ndarray) -> sp.csr_array:
    """Lists of neighbours as rows that sum to one, over nodes that ascend."""
    places, _ = places_in(among, ends)
    shape = (len(starts) - 1, len(among))
    return sp.csr_array((row_shares(starts), places, starts), shape=shape)
