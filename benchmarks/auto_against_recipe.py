"""`auto`, with no options, beside the ten lines that a data scientist would write, on tables made in nine usual shapes.

The recipe: every column of a node; of its outgoing and its incoming edges the number and, of every numeric column, sum,
mean, spread, least and greatest; the means of all these over those it points to and over those who point to it; a random
forest. A fifth of the labels train, drawn by class, the rest judges, over draws of table and split.

    python benchmarks/auto_against_recipe.py --results recipe.jsonl

Fits that stand in the results already are not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from made_tables import SHAPES, Made
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

import calirare as cr
from calirare.data.tables.audit import audit_graph


def recipe_columns(made: Made, graph: cr.RareGraph) -> np.ndarray:
    """Of the nodes of the graph, those that only the edges name included."""
    place = {str(one): k for k, one in enumerate(graph.ids)}
    second = made.ends[1]
    known = [[place.get(str(one), place.get(f"{second} {one}", -1)) for one in made.edges[end]] for end in made.ends]
    ends, size = np.array(known), graph.num_nodes
    assert ends.min() >= 0
    left_out = {*made.ends, *made.options.get("types", ())}
    edges = made.edges.with_columns(one=1).drop(left_out & set(made.edges.columns))
    times = [name for name, kind in edges.schema.items() if kind.is_temporal()]
    edges = edges.with_columns(pl.col(times).dt.epoch("s")).select(pl.selectors.numeric())
    columns = [np.nan_to_num(np.asarray(graph.x.toarray() if hasattr(graph.x, "toarray") else graph.x))]
    for side in (0, 1):
        table = edges.with_columns(pl.Series("node", ends[side])).group_by("node").agg(
            pl.len(), *(step(pl.all()).name.suffix(f" {k}") for k, step in enumerate(
                (pl.Expr.sum, pl.Expr.mean, pl.Expr.std, pl.Expr.min, pl.Expr.max)))
        )  # fmt: skip
        found = np.zeros((size, table.width - 1))
        found[table["node"].to_numpy()] = np.nan_to_num(table.drop("node").cast(float).fill_null(0).to_numpy())
        columns.append(found)
    own = np.hstack(columns)
    means = []
    for here, there in (ends, ends[::-1]):
        total, count = np.zeros(own.shape), np.bincount(here, minlength=size)[:, None]
        np.add.at(total, here, own[there])
        means.append(total / np.maximum(count, 1))
    return np.hstack([own, *means]).astype(np.float32)


def judge(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    return {
        "average_precision": float(average_precision_score(y, p)),
        "nll": float(log_loss(y, np.clip(p, 1e-3, 1 - 1e-3))),
        "roc_auc": float(roc_auc_score(y, p)),
    }


def fit_both(name: str, seed: int) -> list[dict[str, Any]]:
    made = SHAPES[name](np.random.default_rng(seed))
    graph = cr.read_tables(made.nodes, made.edges, label=made.label, rare=made.rare, **made.options)
    known = graph.known
    cut = StratifiedShuffleSplit(1, train_size=0.2, random_state=seed)
    ((train, test),) = cut.split(known, graph.y[known])
    train, test = known[np.sort(train)], known[np.sort(test)]
    y = graph.y == graph.rare_class
    rows = []
    began = time.process_time()
    clf = cr.RareCategoryClassifier(seed=seed).fit(graph, cr.Split(train=train, test=test))
    p = clf.predict_proba(graph)[test, clf.rare_class_]
    weights = {key: round(float(value), 2) for key, value in dict(clf.weights_).items()}
    rows.append({"who": "auto", **judge(y[test], p), "cpu_s": time.process_time() - began, "weights": weights})
    began = time.process_time()
    columns = recipe_columns(made, graph)
    forest = RandomForestClassifier(300, min_samples_leaf=2, random_state=seed).fit(columns[train], y[train])
    p = forest.predict_proba(columns[test])[:, 1]
    rows.append({"who": "recipe", **judge(y[test], p), "cpu_s": time.process_time() - began})
    rows.append({"who": "base rate", **judge(y[test], np.full(test.size, y[train].mean())), "cpu_s": 0.0})
    leaks = ", ".join(one.column for one in audit_graph(graph).leaks)
    return [{"shape": name, "seed": seed, "rare": int(y[train].sum()), "leaks": leaks, **row} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("auto_against_recipe.jsonl"), help="kept, and added to")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    chosen = parser.parse_args()
    done = [json.loads(line) for line in chosen.results.read_text().splitlines()] if chosen.results.exists() else []
    for seed in range(chosen.seeds):
        for name in chosen.shapes:
            if any((row["shape"], row["seed"]) == (name, seed) for row in done):
                continue
            rows = fit_both(name, seed)
            done += rows
            with chosen.results.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
    show(done)


def show(rows: list[dict[str, Any]]) -> None:
    print("| tables | rare labels | who | average precision | NLL | ROC-AUC | CPU s |\n|---|--:|---|--:|--:|--:|--:|")
    for shape, who in dict.fromkeys((row["shape"], row["who"]) for row in rows):
        mine = [row for row in rows if (row["shape"], row["who"]) == (shape, who)]
        mean = {name: np.mean([row[name] for row in mine]) for name in ("rare", "average_precision", "nll", "roc_auc", "cpu_s")}  # fmt: skip
        print(f"| {shape} | {mean['rare']:.0f} | {who} | {mean['average_precision']:.3f} | {mean['nll']:.4f} | {mean['roc_auc']:.3f} | {mean['cpu_s']:.0f} |")  # fmt: skip


if __name__ == "__main__":
    main()
