"""Tables of a later time against those of the fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calirare as cr
from calirare.features.edges.windows import extents
from calirare.features.recipe import ColumnRecipe

WEEK = 7 * 86_400.0
LAST = "time in days, last of edges"


@pytest.fixture(scope="module")
def network():
    return cr.make_transactions(150, seed=2, average_degree=6)


def later(graph, weeks):
    """The same edges so many weeks later."""
    columns = tuple(
        replace(column, values=column.values + weeks * WEEK) if column.kind == "time" else column
        for column in graph.edges.columns
    )
    return replace(graph, edges=replace(graph.edges, columns=columns))


def last(recipe, graph):
    """Of the nodes that have edges."""
    joined = np.unique([graph.edges.source, graph.edges.target])
    return recipe.apply(graph).values[joined, recipe.places[LAST]]


@pytest.mark.parametrize("weeks", [1, 300])
def test_a_window_as_long_as_that_of_the_fit_has_its_columns(network, weeks):
    recipe, want = ColumnRecipe.learn_and_apply(network)
    found = recipe.apply(later(network, weeks))
    np.testing.assert_allclose(found.values, want.values, rtol=1e-6, atol=1e-5)


def test_a_short_window_after_the_fit_counts_from_its_start(network):
    recipe = ColumnRecipe.learn(network)
    (start, end), time = extents(network.edges)["time"], next(c for c in network.edges.columns if c.kind == "time")
    early = replace(network, edges=network.edges.take(np.flatnonzero(time.values < start + (end - start) / 4)))
    moved = last(recipe, later(early, 300))
    np.testing.assert_allclose(moved, last(recipe, early), atol=1e-5)
    assert moved.max() < 0.3 * (end - start) / 86_400 < last(recipe, network).max()


def test_tables_that_have_grown_count_from_the_start_of_the_fit(network):
    recipe = ColumnRecipe.learn(network)
    grown = replace(network, edges=network.edges.joined(later(network, 300).edges))
    np.testing.assert_allclose(last(recipe, grown), last(recipe, network) + 7 * 300, rtol=1e-5)


def test_models_of_earlier_versions_say_what_they_said(network):
    state = ColumnRecipe.learn(network).state()
    for column in state["edges"]["columns"]:
        del column["span"]
    recipe = ColumnRecipe.restore(state)
    np.testing.assert_allclose(last(recipe, later(network, 300)), last(recipe, network) + 7 * 300, rtol=1e-5)
