"""Columns of new and changed nodes, against those of the whole graph."""

from __future__ import annotations

import numpy as np
import pytest
from growth import join, split

import calirare as cr
from calirare.features.recipe import ColumnRecipe
from calirare.scoring.live.base import GrownBase, Standing
from calirare.scoring.live.columns import columns_of
from calirare.scoring.live.update import NodeNames, read_update


@pytest.fixture(scope="module")
def network():
    return cr.make_transactions(200, seed=1, average_degree=6)


@pytest.mark.parametrize(("options", "num_new"), [({}, 12), ({"directed": False}, 5), ({"edge_type": "channel"}, 1)])
def test_columns_are_those_of_the_whole(network, options, num_new):
    before, since = split(network, num_new)
    both = [join(*pair) for pair in zip(before, since, strict=True)]
    after = cr.read_tables(*both, label="is_fraud", rare="yes", **options)
    recipe = ColumnRecipe.learn(after)
    graph = cr.read_tables(*before, schema=after.schema)
    update = read_update(graph, NodeNames(graph), *since)
    found = columns_of(GrownBase(Standing(graph, recipe), update), update.nodes)
    want = recipe.apply(after)
    assert found.names == want.names and len(found.names) > 100
    np.testing.assert_allclose(found.values, want.values[update.nodes], rtol=3e-7, atol=1e-6)
