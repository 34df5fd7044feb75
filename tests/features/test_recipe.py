"""A recipe gives the same columns again: on the same graph, after storing, and whatever the order of nodes and edges."""

import json
import logging
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from edge_cases import typed_graph
from hypothesis import strategies as st
from properties import anything, few_or_many, run_property

from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.errors import InputError, ModelFormatError
from calirare.features.propagation import MOST_COLUMNS
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


def many_towns(nodes=400, towns=100):
    """A directed graph whose attribute has many categories, the first the most common."""
    generator = np.random.default_rng(0)
    town = np.minimum(generator.geometric(0.04, nodes) - 1, towns - 1)
    x = np.column_stack([generator.normal(size=nodes), np.eye(towns)[town]])
    source, target = generator.integers(0, nodes, (2, 1_500))
    names = ("balance", *(f"town = {k}" for k in range(towns)))
    edges = EdgeTable(source, target, directed=True)
    ends = np.stack([np.append(source, target), np.append(target, source)])
    return RareGraph(x=x, edge_index=ends, y=generator.integers(0, 2, nodes), edges=edges, feature_names=names)


GRAPHS = {
    "many towns": many_towns(),
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


def permuted(graph, nodes, edges):
    """The same graph with its nodes and edges in another order."""
    place = np.argsort(nodes)
    table = graph.edges
    if table is not None:
        table = table.take(edges)
        table = replace(table, source=place[table.source], target=place[table.target])
    return replace(
        graph,
        x=graph.x[nodes],
        edge_index=place[graph.edge_index],
        y=graph.y[nodes],
        edges=table,
        node_type=None if graph.node_type is None else graph.node_type[nodes],
    )


@pytest.mark.parametrize("name", ["typed", "undirected", "plain", "narrow and sparse"])
def test_the_order_of_nodes_and_edges_does_not_matter(name):
    graph = GRAPHS[name]
    generator = np.random.default_rng(5)
    nodes = generator.permutation(graph.num_nodes)
    edges = generator.permutation(0 if graph.edges is None else len(graph.edges))
    other = permuted(graph, nodes, edges)
    recipe, expected = ColumnRecipe.learn_and_apply(graph)
    learned, found = ColumnRecipe.learn_and_apply(other)
    assert found.names == expected.names
    for columns in (found, recipe.apply(other)):
        np.testing.assert_allclose(columns.values, expected.values[nodes], rtol=1e-5, atol=1e-5)


def test_labels_are_not_read():
    graph = GRAPHS["typed"]
    other = graph.with_labels(np.full(graph.num_nodes, -1))
    np.testing.assert_array_equal(
        ColumnRecipe.learn(other).apply(other).values, ColumnRecipe.learn(graph).apply(graph).values
    )


def test_the_node_s_own_columns_stay_as_they_are_and_come_first():
    graph = GRAPHS["typed"]
    _, columns = ColumnRecipe.learn_and_apply(graph)
    assert columns.names[:4] == ("balance", "age", "kind = person", "kind = shop")
    np.testing.assert_array_equal(columns.values[:, :2], graph.x)
    assert set(columns.groups) == {"own", "structure", "edges", "neighbours"}
    assert "value, sum of incoming, mean over outgoing neighbours" in columns.names


def test_a_missing_edge_column_gets_its_means_and_a_word(caplog):
    graph = GRAPHS["typed"]
    recipe, learned = ColumnRecipe.learn_and_apply(graph)
    lacking = replace(graph, edges=replace(graph.edges, columns=graph.edges.columns[1:]))
    with caplog.at_level(logging.WARNING):
        columns = recipe.apply(lacking)
    assert len(caplog.records) == 1 and "value" in caplog.text and "means at fit" in caplog.text
    for k, (name, group) in enumerate(columns):
        if group == "edges" and name.startswith("value"):
            assert (columns.values[:, k] == np.float32(recipe.means[k])).all()
        elif group != "neighbours" or not name.startswith("value"):
            np.testing.assert_array_equal(columns.values[:, k], learned.values[:, k])


def test_no_edge_table_at_all_is_filled(caplog):
    recipe = ColumnRecipe.learn(GRAPHS["typed"])
    columns = recipe.apply(replace(GRAPHS["typed"], edges=None, node_type=None, node_type_names=()))
    assert np.isfinite(columns.values).all() and len(caplog.records) == 1


def test_another_number_of_attributes_is_refused():
    recipe = ColumnRecipe.learn(plain_graph(width=3))
    with pytest.raises(InputError, match="3 attributes.*it has 4"):
        recipe.apply(plain_graph(width=4))


def test_columns_that_do_not_vary_or_repeat_are_left_out():
    x = np.ones((40, 3))
    x[:, 1:] = np.random.default_rng(0).normal(size=(40, 1))
    graph = replace(plain_graph(), x=x, feature_names=("one", "two", "two"))
    names = ColumnRecipe.learn(graph).names
    assert "one" not in names and "two" in names and "two (again)" not in names


def test_words_are_columns_where_they_vary_and_differ_from_those_before():
    rng, size = np.random.default_rng(0), 1_100  # more rows than are written at once
    x = (rng.random((size, 200)) < 0.2).astype(np.float32) * rng.integers(1, 4, 200).astype(np.float32)
    x[:, 3], x[:, 7], x[:, 11], x[:, 12] = 0.0, 2.0, x[:, 10], 2 * x[:, 10]
    stored = sp.csr_array(x + 9.0)  # every number is stored, zeros too
    stored.data = x.ravel()
    kept = [k for k in range(200) if k not in (3, 7, 11)]
    names = [*(f"w{k}" for k in range(199)), "degree"]
    graph = RareGraph(stored, rng.integers(0, size, (2, 90)), np.arange(size) % 2, feature_names=tuple(names))
    recipe, learned = ColumnRecipe.learn_and_apply(graph)
    for columns in (learned, recipe.apply(graph)):
        assert columns.num_spelled == len(kept)
        assert columns.names[: len(kept)] == tuple(names[k] for k in kept) and "degree (again)" in columns.names
        np.testing.assert_array_equal(columns.values[:, : len(kept)], x[:, kept])
    np.testing.assert_allclose(recipe.means[: len(kept)], x[:, kept].mean(axis=0), rtol=1e-6)


def test_of_many_categories_the_common_ones_are_asked_of_neighbours():
    graph = many_towns()
    names = ColumnRecipe.learn(graph).names
    counts = dict(zip(graph.feature_names, graph.x.sum(axis=0), strict=True))
    heard = {name for name in graph.feature_names if f"{name}, mean over neighbours two steps away" in names}
    assert heard == {name for name in graph.feature_names if f"{name}, mean over incoming neighbours" in names}
    assert "balance" in heard and 20 < len(heard) < 60 and len(names) <= MOST_COLUMNS
    left = [counts[name] for name in graph.feature_names[1:] if name not in heard]
    assert min(counts[name] for name in heard - {"balance"}) >= max(left)


def test_an_attribute_may_be_called_like_a_derived_column():
    graph = replace(plain_graph(), feature_names=("degree", "clustering", "kind = shop"))
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    assert {"degree", "degree (again)", "clustering (again)"} <= set(columns.names)
    np.testing.assert_array_equal(recipe.apply(graph).values, columns.values)


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_tiny_graphs_have_columns(nodes):
    graph = RareGraph(x=np.zeros((nodes, 0)), edge_index=np.zeros((2, 0), int), y=np.zeros(nodes, int))
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    assert columns.values.shape == (nodes, 1) and np.isfinite(recipe.apply(graph).values).all()
    one_edge = replace(graph, edges=EdgeTable(np.array([0]), np.array([nodes - 1])))
    np.testing.assert_array_equal(*(ColumnRecipe.learn(one_edge).apply(one_edge).values for _ in range(2)))


def test_words_keep_their_directions_on_new_graphs():
    graph = words_graph()
    recipe, columns = ColumnRecipe.learn_and_apply(graph, seed=1)
    assert columns.words.shape == graph.x.shape and "words, direction 1, mean over neighbours" in columns.names
    some = RareGraph(x=graph.x[:10], edge_index=np.array([[0], [1]]), y=graph.y[:10])
    k = columns.names.index("words, direction 3")
    np.testing.assert_allclose(recipe.apply(some).values[:, k], columns.values[:10, k], rtol=1e-5, atol=1e-7)
    other = ColumnRecipe.learn(graph, seed=1)
    np.testing.assert_array_equal(other.own.basis, recipe.own.basis)
    assert not any("direction" in name and "spread" in name for name in columns.names)


def test_what_is_no_recipe_is_refused_in_one_line():
    state = ColumnRecipe.learn(GRAPHS["typed"]).state()
    own, edges = state["own"], state["edges"]
    column = edges["columns"][0]
    broken = [
        None,
        [],
        {},
        state | {"names": state["names"][:-1]},
        state | {"names": ["a"] * len(state["names"])},
        state | {"groups": ["elsewhere"] * len(state["groups"])},
        state | {"groups": state["groups"][::-1]},
        state | {"means": state["means"] * np.nan},
        state | {"means": "x"},
        state | {"parts": [{"relation": "friends"}]},
        state | {"parts": [state["parts"][0] | {"statistic": "median"}]},
        state | {"parts": [state["parts"][0] | {"type": "wire", "weight": "value"}]},
        state | {"parts": 3},
        state | {"own": own | {"num_words": 1}},
        state | {"own": own | {"num_words": len(own["feature_names"]) + 1}},
        state | {"own": own | {"basis": np.zeros((1, 4))}},
        state | {"own": own | {"basis": [[1.0], [1.0, 2.0]]}},
        state | {"own": own | {"feature_names": [1, 2]}},
        state | {"edges": edges | {"directed": 1}},
        state | {"edges": edges | {"columns": [column, column]}},
        state | {"edges": edges | {"columns": [column | {"kind": "pickle"}]}},
        state | {"edges": edges | {"columns": [column | {"origin": float("inf")}]}},
    ]
    for one in broken:
        with pytest.raises(ModelFormatError, match="^the stored columns .*Save the model again.$"):
            ColumnRecipe.restore(one)


def places(state, path=()):
    """Every place in nested mappings and lists."""
    yield path
    for key, value in (
        state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list | tuple) else ()
    ):
        yield from places(value, (*path, key))


def put(state, path, value):
    if not path:
        return value
    if isinstance(state, dict):
        return state | {path[0]: put(state[path[0]], path[1:], value)}
    return [put(one, path[1:], value) if k == path[0] else one for k, one in enumerate(state)]


@few_or_many(15, 3000)
def test_anything_in_a_stored_recipe_is_refused_or_works(examples):
    graph = typed_graph(num_edges=40)
    state = ColumnRecipe.learn(graph).state()
    everywhere = list(places(state))

    def check(path, value):
        try:
            recipe = ColumnRecipe.restore(put(state, path, value))
        except ModelFormatError as error:
            assert "\n" not in str(error)
            return
        try:
            columns = recipe.apply(graph)
        except InputError:
            return
        assert np.isfinite(columns.values).all()

    run_property(examples, check, path=st.sampled_from(everywhere), value=anything)
