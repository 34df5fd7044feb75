"""How many neighbours a node has by category, against sets of them by plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from slow_columns import slow_edge_columns

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.edges.by_category import MOST_COUNTED, NEIGHBOURS_WITH, category_columns
from calirare.features.edges.planning import plan_edges
from calirare.features.recipe import ColumnRecipe


def prescriptions(num_drugs: int, *, directed: bool = True) -> EdgeTable:
    """Rows of patients 0 to 19 and doctors 15 to 29, some rows of a node with itself, some without a drug."""
    rng = np.random.default_rng(num_drugs)
    patient, doctor = rng.integers(0, 20, 400), rng.integers(15, 30, 400)
    drug = np.minimum(rng.geometric(0.3, 400), num_drugs).astype(np.int32) - 1
    drug[rng.random(400) < 0.1] = -1
    names = tuple(f"drug {k}" for k in range(num_drugs))
    return EdgeTable(patient, doctor, (EdgeColumn("drug", "category", drug, names),), directed=directed)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("num_drugs", [2, 12])
def test_counts_are_those_of_loops(num_drugs: int, directed: bool) -> None:
    table = prescriptions(num_drugs, directed=directed)
    plan = plan_edges(table)
    assert plan is not None
    found = dict(category_columns(table, plan, 25))  # nodes from 25 on are named, not told of
    want = slow_edge_columns(table, plan, 25)
    assert set(found) == {name for name in want if NEIGHBOURS_WITH in name}
    assert len(found) == min(num_drugs, MOST_COUNTED) * (2 if directed else 1)
    for name, column in found.items():
        assert column.tolist() == want[name].tolist() and column.any()


def test_they_are_columns_that_neighbours_are_not_asked_about() -> None:
    table = prescriptions(3)
    ends = np.stack([table.source, table.target])
    graph = RareGraph(x=np.zeros((30, 0)), edge_index=ends, y=np.arange(30) % 2, edges=table)
    names = ColumnRecipe.learn(graph).names
    mine = [name for name in names if NEIGHBOURS_WITH in name]
    assert len(mine) == 6 and not any(" over " in name for name in mine)
