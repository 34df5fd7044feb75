"""Numbers of edges beside what is usual at the other end, against loops over the edges."""

from __future__ import annotations

import numpy as np
import pytest
from stored_recipes import check_refused

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.edges.planning import plan_edges
from calirare.features.edges.usual import AGAINST_USUAL, compared_columns, usual_of
from calirare.features.recipe import ColumnRecipe


def priced(seed: int = 0, *, by_part: bool = True, directed: bool = True) -> EdgeTable:
    """Buyers 0 to 29 pay for parts 30 to 39; parts have a price, or everybody pays anything; buyer 0 pays twice as much."""
    rng = np.random.default_rng(seed)
    buyer, part = rng.integers(0, 30, 300), rng.integers(30, 40, 300)
    price = np.exp(rng.normal(0, 1.5, 10))[part - 30] if by_part else np.exp(rng.normal(0, 1.5, 300))
    paid = price * np.exp(rng.normal(0, 0.05, 300)) * np.where(buyer == 0, 2.0, 1.0)
    paid[rng.random(300) < 0.1] = np.nan
    return EdgeTable(buyer, part, (EdgeColumn("paid", "number", paid),), directed=directed)


def by_loops(table: EdgeTable, size: float, middle: float, ends: list[tuple[int, int, int]]) -> dict[int, list[float]]:
    """Per node, how far each of its numbers is from the usual at the other end; ends are (row, node, other)."""
    values = np.arcsinh(table.columns[0].values / size)
    apart: dict[int, list[float]] = {}
    for row, node, other in ends:
        others = [values[r] for r, _, o in ends if o == other and r != row and not np.isnan(values[r])]
        if not np.isnan(values[row]):
            apart.setdefault(node, []).append(values[row] - (sum(others) + middle) / (len(others) + 1))
    return apart


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    table = priced(directed=directed)
    plan = plan_edges(table)
    assert plan is not None
    (column,) = plan.columns
    which = "outgoing" if directed else "edges"
    assert column.compared == (which,)  # who sells knows nothing of the price that others ask
    known = table.columns[0].values[~np.isnan(table.columns[0].values)]
    assert column.size == np.median(known) and column.middle == pytest.approx(np.arcsinh(known / column.size).mean())
    pairs = list(zip(range(len(table)), table.source.tolist(), table.target.tolist(), strict=True))
    ends = pairs if directed else [*pairs, *((row, target, source) for row, source, target in pairs)]
    found, apart = (
        dict(compared_columns(table, plan, 40, usual_of(table, plan, 40))),
        by_loops(table, column.size, column.middle, ends),
    )
    mean, size = (found[f"paid{AGAINST_USUAL}{one} of {which}"] for one in ("mean", "size"))
    for node in range(40):
        mine = apart.get(node, [np.nan])
        np.testing.assert_allclose(mean[node], np.mean(mine), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(size[node], np.sqrt(np.mean(np.square(mine))), rtol=1e-5, atol=1e-6)
    assert np.nanargmax(mean[:30]) == 0


def test_some_nodes_with_what_is_usual_at_the_others() -> None:
    table = priced()
    plan = plan_edges(table)
    assert plan is not None
    all_of_them, usual = dict(compared_columns(table, plan, 40, usual_of(table, plan, 40))), usual_of(table, plan, 40)
    mine = table.take(table.source < 3)
    for name, column in compared_columns(mine, plan, 3, usual):
        np.testing.assert_array_equal(column, all_of_them[name][:3])


def test_nothing_is_compared_where_the_other_end_tells_nothing() -> None:
    table = priced(by_part=False)
    plan = plan_edges(table)
    assert plan is not None and plan.columns[0].compared == () and usual_of(table, plan, 40).shape == (40, 0)
    for values in (np.zeros(300), np.full(300, np.nan), np.full(300, 5.0)):
        plan = plan_edges(EdgeTable(table.source, table.target, (EdgeColumn("paid", "number", values),)))
        assert plan is not None and plan.columns[0].compared == ()


def test_the_recipe_keeps_comparisons_and_does_not_ask_the_neighbours_for_theirs() -> None:
    table = priced()
    ends = np.stack([table.source, table.target])
    graph = RareGraph(x=np.zeros((40, 0)), edge_index=ends, y=np.arange(40) % 2, edges=table)
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    mine = [name for name in columns.names if AGAINST_USUAL in name]
    assert mine == [f"paid{AGAINST_USUAL}{one} of outgoing" for one in ("mean", "size")]
    state = recipe.state()
    again = ColumnRecipe.restore(state).apply(graph)
    np.testing.assert_array_equal(again.values, columns.values)
    (column,) = state["edges"]["columns"]
    near = ({"near": [["upwards", 1.0]]}, {"near": [["outgoing"]]}, {"near": [["outgoing", "x"]]}, {"near": 3})
    for damage in (
        {"compared": ["upwards"]}, {"size": 0.0}, {"compared": ["outgoing", "outgoing"]}, {"middle": "x"}, *near
    ):  # fmt: skip
        check_refused(state, "edges", {"columns": [column | damage]})
    plain = {key: value for key, value in column.items() if key not in ("compared", "size", "middle")}
    old = ColumnRecipe.restore(state | {"edges": state["edges"] | {"columns": [plain]}})  # of an earlier version
    assert old.edges is not None and old.edges.num_usual == 0


@pytest.mark.parametrize("factor", [1e30, 1e45, 1e300])
def test_a_recipe_of_huge_numbers_is_read_back(factor: float) -> None:
    table = priced()
    huge = EdgeTable(table.source, table.target, (EdgeColumn("paid", "number", table.columns[0].values * factor),))
    ends = np.stack([table.source, table.target])
    recipe, columns = ColumnRecipe.learn_and_apply(
        RareGraph(x=np.zeros((40, 0)), edge_index=ends, y=np.arange(40) % 2, edges=huge)
    )
    again = ColumnRecipe.restore(recipe.state())
    assert again.edges is not None and again.edges.columns[0].size == recipe.edges.columns[0].size > 1e29
    assert np.isfinite(columns.values).all()


def test_weights_alone_are_not_compared() -> None:
    table = priced()
    ends, known = np.stack([table.source, table.target]), ~np.isnan(table.columns[0].values)
    weight = table.columns[0].values[known]
    graph = RareGraph(x=np.zeros((40, 1)), edge_index=ends[:, known], y=np.arange(40) % 2, edge_weight=weight)
    assert not any(AGAINST_USUAL in name for name in ColumnRecipe.learn(graph).names)
