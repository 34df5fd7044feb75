"""A recipe gives the same columns again: on the same graph, after storing, and whatever the order of nodes and edges."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from edge_cases import typed_graph

from calirare.data.graph import RareGraph
from calirare.features.recipe import ColumnRecipe


def words_graph(seed=0, nodes=60, width=400):
    generator = np.random.default_rng(seed)
    x = sp.random_array((nodes, width), density=0.05, rng=generator, format="csr")
    edge_index = generator.integers(0, nodes, (2, 150))
    return RareGraph(x=x, edge_index=edge_index, y=generator.integers(0, 2, nodes))


def plain_graph(seed=0, nodes=40, width=3):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(nodes, width))
    return RareGraph(x=x, edge_index=generator.integers(0, nodes, (2, 80)), y=generator.integers(0, 2, nodes))


GRAPHS = {
    "typed": typed_graph(),
    "undirected": replace(typed_graph(), edges=replace(typed_graph().edges, directed=False)),
    "words": words_graph(),
    "plain": plain_graph(),
    "wide and dense": plain_graph(nodes=300, width=300),
    "narrow and sparse": replace(plain_graph(), x=sp.csr_array(plain_graph().x)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_learned_columns_are_applied_again_and_survive_storing(name):
    graph = GRAPHS[name]
    recipe, learned = ColumnRecipe.learn_and_apply(graph)
    state = recipe.state()
    through_json = json.loads(json.dumps(state, default=lambda array: array.tolist()))
    for one in (recipe, ColumnRecipe.restore(state), ColumnRecipe.restore(through_json), ColumnRecipe.learn(graph)):
        again = one.apply(graph)
        assert again.names == learned.names and again.groups == learned.groups
        np.testing.assert_array_equal(again.values, learned.values)
    assert learned.values.dtype == np.float32 and np.isfinite(learned.values).all()
    assert (learned.values.min(axis=0) < learned.values.max(axis=0)).all()
    assert (learned.words is not None) == (name == "words")
