"""Scoring new nodes from their surroundings, beside scoring everything again.

A model (`auto`) is fitted on a payment network of 5,000 accounts: four attributes, five edge columns, busy accounts among
them. Then a network of each size is loaded, and new accounts come with ten payments each to known ones; or known accounts
have other attributes and ten payments more each. The median over several questions, the processor time of the median
question and of one in a hundred, which a busy machine does not change, and the largest difference to a full scoring of
all tables where `--compare` allows one.

    python benchmarks/new_nodes.py --nodes 10000,100000 --new 1,1000
    python benchmarks/new_nodes.py --nodes 1000000 --new 1000
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import calirare as cr
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.table import read_for, score_table

EDGES_PER_NODE = 10
ROW = "{:>10} {:>11} {:>6} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>12} {:>8}"


def make_tables(ids: np.ndarray, known: int, seed: int) -> tuple[Any, Any]:
    """Accounts with these ids and their payments to accounts below `known`; few of those are busy."""
    import polars as pl

    rng = np.random.default_rng(seed)
    num_nodes, size = len(ids), len(ids) * EDGES_PER_NODE
    risk = rng.standard_normal(num_nodes)
    nodes = {"id": ids} | {f"trait {k}": risk * 0.3 * k + rng.standard_normal(num_nodes) for k in range(4)}
    nodes["rare"] = np.where(rng.random(num_nodes) < 1 / (1 + np.exp(4 - 2 * risk)), "yes", "no")
    source = np.repeat(ids, EDGES_PER_NODE)
    # The square of a uniform number makes few accounts busy; scattered by a step that is prime to their number.
    target = (known * rng.random(size) ** 2).astype(np.int64) * 7_919 % known
    turn = rng.random(size) < 0.5
    edges = {
        "source": np.where(turn, source, target),
        "target": np.where(turn, target, source),
        "value": np.exp(rng.standard_normal(size) * 2 + np.repeat(risk, EDGES_PER_NODE)),
        "fee": rng.standard_normal(size),
        "rate": rng.random(size),
        "time": 1.6e9 + 3e7 * rng.random(size),
        "channel": np.array(list("abcdef"))[rng.integers(0, 6, size)],
    }
    return pl.DataFrame(nodes), pl.DataFrame(edges)


def fit(folder: str | None = None) -> cr.RareCategoryClassifier:
    """The model; kept in `folder`, and read from there the next time."""
    if folder is not None and Path(folder, "model.json").exists():
        return cr.load(folder)
    nodes, edges = make_tables(np.arange(5_000), 5_000, seed=0)
    graph = cr.read_tables(nodes, edges, label="rare", rare="yes")
    split = cr.split_labels(graph, train_fraction=0.2, val_fraction=0.0, test_fraction=0.8, seed=0)
    classifier = cr.RareCategoryClassifier(device="cpu").fit(graph, split)
    if folder is not None:
        classifier.save(folder)
    return classifier


def difference(classifier: cr.RareCategoryClassifier, tables: Any, since: Any, found: dict[str, np.ndarray]) -> float:
    """Largest difference of any number to a full scoring of all tables."""
    import polars as pl

    nodes = pl.concat([tables[0].join(since[0], on="id", how="anti"), since[0]])
    want = score_table(classifier, read_for(classifier, nodes, pl.concat([tables[1], since[1]])))
    rows = slice(-since[0].height, None)
    return max(float(np.abs(found[name] - want[name][rows]).max()) for name in ("probability", "lower", "upper"))


def asked_about(num_nodes: int, num_new: int, kind: str) -> np.ndarray:
    """Ids behind the known ones, or known ones all over the network."""
    if kind == "changed":
        return np.sort(np.random.default_rng(num_new).permutation(num_nodes)[:num_new])
    return np.arange(num_nodes, num_nodes + num_new)


def measure(classifier: cr.RareCategoryClassifier, num_nodes: int, news: list[int], arguments: Any) -> None:
    tables = make_tables(np.arange(num_nodes), num_nodes, seed=1)
    graph = read_for(classifier, *tables)
    began, worked = time.perf_counter(), time.process_time()
    live = LiveScores(classifier, graph)
    loading = f"{time.perf_counter() - began:.1f}", f"{time.process_time() - worked:.1f}"
    for num_new, kind in product(news, arguments.kinds.split(",")):
        seconds, cpu, differ = [], [], "-"
        for repeat in range(arguments.repeats):
            since = make_tables(asked_about(num_nodes, num_new, kind), num_nodes, seed=2 + repeat)
            began, worked = time.perf_counter(), time.process_time()
            found = live.score(*since)
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - worked)
        if num_nodes <= arguments.compare:
            differ = f"{difference(classifier, tables, since, found):.1e}"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        cells = (
            f"{num_nodes:,}", f"{graph.num_edges:,}", f"{num_new:,}", kind, *loading, f"{np.median(seconds):.3f}",
            f"{np.max(seconds):.3f}", f"{np.median(cpu):.3f}", f"{np.quantile(cpu, 0.99):.3f}", differ, f"{memory:.1f}",
        )  # fmt: skip
        print(ROW.format(*cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="10000,100000", help="accounts of the networks")
    parser.add_argument("--new", default="1,1000", help="accounts of a question")
    parser.add_argument("--kinds", default="new,changed", help="of accounts: new ones, known ones that changed")
    parser.add_argument("--repeats", type=int, default=5, help="questions of each kind")
    parser.add_argument("--compare", type=int, default=100_000, help="largest network that is also scored again")
    parser.add_argument("--model", help="folder that keeps the fitted model")
    arguments = parser.parse_args()
    classifier = fit(arguments.model)
    print(f"members: {', '.join(f'{name} {weight:.2f}' for name, weight in classifier.weights_.items())}")
    print(
        ROW.format(
            "nodes",
            "edges",
            "asked",
            "kind",
            "load s",
            "load CPU",
            "median s",
            "most s",
            "CPU s",
            "CPU p99",
            "differ by",
            "GB",
        ),
        flush=True,
    )
    for num_nodes in (int(part) for part in arguments.nodes.split(",")):
        measure(classifier, num_nodes, [int(part) for part in arguments.new.split(",")], arguments)


if __name__ == "__main__":
    main()
