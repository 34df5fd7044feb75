"""The columns of some nodes, their neighbours' among them, from these nodes and two steps around them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from calirare.features.columns import Columns
from calirare.features.propagation import column_blocks, picked, relations_of, said_of
from calirare.features.relations import Relation
from calirare.scoring.live.base import GrownBase
from calirare.scoring.live.links import Links, distinct, places_in

_AT_ONCE = 16_384
"""Neighbours whose own neighbours are gathered together."""


def columns_of(grown: GrownBase, nodes: np.ndarray) -> Columns:
    """The columns that `recipe.apply` gives on the whole graph, up to rounding; nodes ascend."""
    recipe = grown.standing.recipe
    first, count, whose = recipe.propagated
    relations = {relation: grown.links(relation) for relation in grown.standing.relations}
    lists = {relation: links.shares(nodes) for relation, links in relations.items()}
    near = distinct(np.concatenate([nodes, *(ends for _, ends, _ in lists.values())]), grown.update.num_nodes)
    around = grown.take(near, 0, count)
    values = recipe.at_means(len(nodes), len(recipe.names))
    values[:, :count] = around[places_in(near, nodes)[0]]
    recipe.fill(((name, "edges", column) for name, column in grown.alone(nodes)), values)
    recipe.fill(((name, "own", column) for name, column in grown.beside_everyone(nodes)), values)
    further, columns = _means_of(grown, relations, near)
    names, middle = recipe.names[first:count], recipe.means[first:count]
    matrices = {relation: _matrix(*lists[relation], near) for relation in relations}
    for at, aggregates in column_blocks(whose, recipe.aggregates):
        called, centred = [names[k] for k in at], picked(around, [first + k for k in at]) - middle[at]
        for relation in relations_of(aggregates):
            wanted = [aggregate for aggregate in aggregates if aggregate.over == relation]
            two_steps = any(aggregate.statistic == "two steps" for aggregate in wanted)
            there = further[relation][:, np.searchsorted(columns, at)] if two_steps else centred[:, :0]
            for found in said_of(matrices[relation], centred, there, middle[at], called, wanted):
                recipe.put(found, values)
    words = recipe.own.words_in(grown.attributes(nodes)) if recipe.own.num_words else None
    return recipe.columns(values, words)


def _means_of(
    grown: GrownBase, relations: dict[Relation, Links], near: np.ndarray
) -> tuple[dict[Relation, np.ndarray], np.ndarray]:
    """(means, less the population's, over the neighbours' neighbours, of the columns that are wanted that far; these)."""
    recipe = grown.standing.recipe
    first, _, whose = recipe.propagated
    asked = [aggregate for aggregate in recipe.aggregates if aggregate.statistic == "two steps"]
    wanted = {aggregate.whose for aggregate in asked}
    columns = np.array([k for k, mine in enumerate(whose) if mine in wanted], dtype=np.int64)
    others = columns[[whose[k] != "own" for k in columns]]
    own = len(columns) - len(others)
    means = {over: np.empty((len(near), len(columns))) for over in relations_of(asked)}
    for over in grown.standing.own_sums:
        means[over][:, :own] = _own_means(grown, over, relations[over], near)
    for start in range(0, len(near) if others.size else 0, _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        lists = {over: relations[over].shares(near[block]) for over in means}
        far = distinct(np.concatenate([ends for _, ends, _ in lists.values()]), grown.update.num_nodes)
        there = grown.take(far, first + others[0], first + others[-1] + 1)
        centred = there[:, others - others[0]] - recipe.means[first + others]
        for over, rows in lists.items():
            means[over][block, own:] = _matrix(*rows, far) @ centred
    return means, columns


def _own_means(grown: GrownBase, over: Relation, links: Links, nodes: np.ndarray) -> np.ndarray:
    """Means of attributes: from their sums before, with what changed and the neighbours that were added."""
    standing, own = grown.standing, grown.standing.own_columns

    def take(some: np.ndarray) -> np.ndarray:
        return grown.take(some, own[0], own[-1] + 1)[:, own - own[0]]

    total, known = standing.own_sums[over][np.minimum(nodes, links.size - 1)], nodes < links.size
    total[~known] = 0.0
    changed = np.sort(grown.update.nodes[grown.update.nodes < links.size])
    back = standing.relations[over.turned]
    starts, ends = back.rows(changed)
    differ = take(changed).astype(np.float64) - standing.base[changed][:, own]
    at, mine = places_in(nodes, ends)
    differ = differ[np.repeat(np.arange(len(changed)), np.diff(starts))[mine]]
    _add_rows(total, at, differ if back.weights is None else differ * back.weights[back.positions(changed)][mine, None])
    at, mine = places_in(nodes, links.added[0])
    added, places = np.unique(links.added[1, mine], return_inverse=True)
    came = (take(added) - standing.recipe.means[own])[places]
    _add_rows(total, at, came if links.weights is None else came * links.more_weights[mine, None])
    sums = links.sums(nodes)[:, None]
    return np.divide(total, sums, out=np.zeros_like(total), where=sums > 0)


def _add_rows(total: np.ndarray, at: np.ndarray, rows: np.ndarray) -> None:
    """Each row to the one at its place: column by column, because `np.add.at` of rows takes several times as long."""
    for column, values in zip(total.T, rows.T, strict=True):
        column += np.bincount(at, weights=values, minlength=len(total))


def _matrix(starts: np.ndarray, ends: np.ndarray, shares: np.ndarray, among: np.ndarray) -> sp.csr_array:
    """Lists of neighbours and their shares as rows, over nodes that ascend."""
    places, _ = places_in(among, ends)
    shape = (len(starts) - 1, len(among))
    return sp.csr_array((shares, places, starts), shape=shape)
