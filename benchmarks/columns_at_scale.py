"""Seconds and memory of the columns on a large transaction network: a million nodes, ten million edges, five columns.

Each family alone, then the whole recipe, learned and applied, in one process. Degrees are heavy-tailed, pairs repeat.

    python benchmarks/columns_at_scale.py --nodes 1000000 --edges 10000000
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.features.alone import OtherEnds, alone_columns
from calirare.features.edge_columns import edge_columns
from calirare.features.edges.meeting import meetings
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.planning import plan_edges
from calirare.features.edges.usual import usual_of
from calirare.features.recipe import ColumnRecipe
from calirare.features.relations import relation_matrix, row_normalised
from calirare.features.structure import structure_columns


def make_graph(num_nodes: int, num_edges: int, seed: int = 0) -> cr.RareGraph:
    rng = np.random.default_rng(seed)
    # The square of a uniform number makes few nodes busy; a fifth of the edges repeat an earlier pair.
    source, target = (
        np.minimum((num_nodes * rng.random(num_edges) ** 2).astype(np.int64), num_nodes - 1) for _ in "ab"
    )
    again = rng.random(num_edges) < 0.2
    earlier = rng.integers(0, num_edges, int(again.sum()))
    source[again], target[again] = source[earlier], target[earlier]
    shuffled = rng.permutation(num_nodes)
    source, target = shuffled[source], shuffled[target]
    columns = (
        EdgeColumn("value", "number", np.exp(rng.standard_normal(num_edges) * 2)),
        EdgeColumn("fee", "number", rng.standard_normal(num_edges)),
        EdgeColumn("rate", "number", np.where(rng.random(num_edges) < 0.05, np.nan, rng.random(num_edges))),
        EdgeColumn("time", "time", 1.6e9 + 3e7 * rng.random(num_edges)),
        EdgeColumn("channel", "category", rng.integers(0, 6, num_edges), tuple("abcdef")),
    )
    return cr.RareGraph(
        x=rng.standard_normal((num_nodes, 4), dtype=np.float32),
        edge_index=np.stack([source, target]),
        y=np.zeros(num_nodes, dtype=np.int64),
        edges=EdgeTable(source, target, columns),
    )


def peak() -> float:
    """Most memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def timed(name: str, work: Callable[[], Any]) -> Any:
    began, worked = time.perf_counter(), time.process_time()
    result = work()
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    count = result if isinstance(result, int) else ""
    print(f"{name:<32} {seconds:8.1f} s {cpu:8.1f} s {peak():8.2f} GB {count!s:>8}", flush=True)
    return result


def one_product(graph: cr.RareGraph) -> int:
    matrix = row_normalised(relation_matrix(graph, "incoming neighbours"))
    matrix @ np.ones((graph.num_nodes, 16))
    return 16


def alone(graph: cr.RareGraph, plan: EdgePlan) -> int:
    table, size = graph.edges, graph.num_nodes
    assert table is not None
    others = OtherEnds(usual_of(table, plan, size), {}, meetings(table, plan, size, size))
    return len(list(alone_columns(table, plan, size, others)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--families", action="store_true", help="time each family alone before the whole")
    parser.add_argument("--again", action="store_true", help="apply the recipe once more, as for new tables")
    chosen = parser.parse_args()
    print(f"{'':<32} {'time':>10} {'of cores':>10} {'peak memory':>11} {'columns':>8}")
    graph = timed("(make the graph)", lambda: make_graph(chosen.nodes, chosen.edges))
    assert graph.edges is not None
    if chosen.families:
        plan = plan_edges(graph.edges)
        assert plan is not None
        timed("edges", lambda: len(edge_columns(graph.edges, plan, graph.num_nodes)))
        timed("edges, not asked of neighbours", lambda: alone(graph, plan))
        timed("structure", lambda: len(structure_columns(graph)))
        timed("mean over incoming, 16 columns", lambda: one_product(graph))
    recipe, columns = timed("all: learn and apply", lambda: ColumnRecipe.learn_and_apply(graph))
    print(f"{columns.values.shape[1]} columns, {columns.values.nbytes / 1e9:.2f} GB")
    if chosen.again:
        del columns
        timed("all: apply", lambda: recipe.apply(graph).values.shape[1])


if __name__ == "__main__":
    main()
