"""The columns of some nodes, their neighbours' among them, from these nodes and two steps around them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from calirare.features.columns import Columns
from calirare.features.propagation import Relation, column_blocks, picked, relations_of, row_shares, said_of
from calirare.scoring.live.base import GrownBase
from calirare.scoring.live.links import Links, distinct, places_in

_AT_ONCE = 16_384
"""Neighbours whose own neighbours are gathered at a time."""


def columns_of(grown: GrownBase, nodes: np.ndarray) -> Columns:
    """As `recipe.apply` gives them on the whole graph, up to rounding; nodes ascend."""
    recipe = grown.standing.recipe
    first, count, whose = recipe.propagated
    relations = {relation: grown.links(*relation) for relation in grown.standing.relations}
    lists = {relation: links.rows(nodes) for relation, links in relations.items()}
    near = distinct(np.concatenate([nodes, *(ends for _, ends in lists.values())]), grown.update.num_nodes)
    around = grown.take(near, 0, count)
    values = np.empty((len(nodes), len(recipe.names)), dtype=np.float32)
    values[:] = recipe.means
    values[:, :count] = around[places_in(near, nodes)[0]]
    further, columns = _means_of(grown, relations, near)
    names, middle = recipe.names[first:count], recipe.means[first:count]
    for relation in relations:
        matrix = _matrix(*lists[relation], near)
        wanted = [aggregate for aggregate in recipe.aggregates if aggregate.over == relation]
        for at, aggregates in column_blocks(whose, wanted):
            called, mine = [names[k] for k in at], [first + k for k in at]
            two_steps = any(aggregate.statistic == "two steps" for aggregate in aggregates)
            there = further[relation][:, np.searchsorted(columns, at)] if two_steps else around[:, :0]
            for found in said_of(matrix, picked(around, mine), there, middle[at], called, aggregates):
                recipe.put(found, values)
    words = sp.csr_array(grown.attributes(nodes)) if recipe.own.words else None
    return Columns(values, recipe.names, recipe.groups, words, recipe.num_spelled)


def _means_of(
    grown: GrownBase, relations: dict[Relation, Links], near: np.ndarray
) -> tuple[dict[Relation, np.ndarray], np.ndarray]:
    """(means, less the population's, over the neighbours' neighbours, of the columns that are wanted that far; these)."""
    recipe = grown.standing.recipe
    first, _, whose = recipe.propagated
    asked = [aggregate for aggregate in recipe.aggregates if aggregate.statistic == "two steps"]
    wanted = {aggregate.whose for aggregate in asked}
    columns = np.array([k for k, mine in enumerate(whose) if mine in wanted], dtype=np.int64)
    middle = recipe.means[first + columns]
    means = {relation: np.empty((len(near), len(columns))) for relation in relations_of(asked)}
    for start in range(0, len(near) if asked else 0, _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        lists = {relation: relations[relation].rows(near[block]) for relation in means}
        far = distinct(np.concatenate([ends for _, ends in lists.values()]), grown.update.num_nodes)
        there = grown.take(far, first + columns[0], first + columns[-1] + 1)
        centred = there[:, columns - columns[0]] - middle
        for relation, (starts, ends) in lists.items():
            means[relation][block] = _matrix(starts, ends, far) @ centred
    return means, columns


def _matrix(starts: np.ndarray, ends: np.ndarray, among: np.ndarray) -> sp.csr_array:
    """Lists of neighbours as rows that sum to one, over nodes that ascend."""
    places, _ = places_in(among, ends)
    shape = (len(starts) - 1, len(among))
    return sp.csr_array((row_shares(starts), places, starts), shape=shape)
