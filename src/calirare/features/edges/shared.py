"""Whether others have the same values: addresses from which several users log in, texts that others have posted too.

Of each edge with a value, how many other nodes use that value (`calirare.data.cell_users`). A node is told the share of its
edges whose value others have, few or many, as far as nodes differ in it beyond chance, and the mean logarithm of their number, of many that of none: the
address of a company would drown those of households.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from calirare.data.cell_users import others_of
from calirare.data.edge_table import EdgeTable
from calirare.features.edges.directions import at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups, means_of
from calirare.features.edges.plan import EdgePlan, SharedCells
from calirare.features.edges.telling import telling_parts

FEW = 10
"""Others up to which these are few: a household, a ring; an address of a company or a common phrase has more."""
OTHERS_HAVE = "others have"
FEW_WITH_SAME = f"log number of up to {FEW} others with the same "
_BOUNDS = {
    OTHERS_HAVE: (1, np.inf),
    f"1 to {FEW} {OTHERS_HAVE}": (1, FEW),
    f"2 to {FEW} {OTHERS_HAVE}": (2, FEW),
    f"more than {FEW} {OTHERS_HAVE}": (FEW + 1, np.inf),
}
PARTS = tuple(_BOUNDS)


def sharers_of(table: EdgeTable, plan: EdgePlan) -> dict[str, np.ndarray]:
    """`(E,)` by column: how many others use each edge's value, where these are all edges; NaN where it is missing."""
    told = plan.of_cells & set(table.cells)
    return {name: others_of(table.cells[name], table.source, table.target, directed=plan.directed) for name in told}


def plan_shared(table: EdgeTable) -> tuple[SharedCells, ...]:
    """The columns in which nodes differ beyond chance, with the parts in which they do, by direction."""
    found = []
    for name, cells in table.cells.items():
        others = others_of(cells, table.source, table.target, directed=table.directed)
        for which in directions_of(table.directed):
            own, _ = ends_of_edges(table, which)
            mine = at_ends(others, own)
            known = ~np.isnan(mine)
            if parts := telling_parts(mine[known], own[known][None], PARTS, in_shared):
                found.append(SharedCells(name, which, parts))
    return tuple(found)


def in_shared(others: np.ndarray, part: str) -> np.ndarray:
    """Which edges are in a part, by the number of others.

    >>> [in_shared(np.array([0.0, 1.0, 10.0, 11.0]), part).tolist() for part in PARTS[1:]]
    [[False, True, True, False], [False, False, True, False], [False, False, False, True]]
    """
    least, most = _BOUNDS[part]
    return np.asarray((others >= least) & (others <= most))


def shared_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, sharers: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no edges with a value; nodes from N on are not told of.

    Args:
        table: All edges of N nodes.
        plan: What is told.
        num_nodes: N.
        sharers: `(E,)` by column, as `sharers_of` gives them.
    """
    for which in directions_of(plan.directed):
        told = [one for one in plan.shared if one.which == which and one.name in sharers]
        if not told:
            continue
        own, _ = ends_of_edges(table, which)
        groups = EdgeGroups(own, num_nodes)
        for one in told:
            others = at_ends(sharers[one.name], own)
            for part in one.parts:
                flags = np.where(np.isnan(others), np.nan, in_shared(others, part))
                yield f"{one.name} that {part}, share of {which}", means_of(flags, groups)
            few = np.log1p(np.where(others > FEW, 0.0, others))
            yield f"{FEW_WITH_SAME}{one.name}, mean of {which}", means_of(few, groups)
