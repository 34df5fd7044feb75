"""How much the columns find with a plain random forest: AMLSim's fan-in and Bitcoin-OTC, two tables as users bring them.

AMLSim: a fifth of the labels train, drawn by class; average precision and negative log-likelihood on the rest, over
seeds. Bitcoin-OTC: ROC-AUC over five folds.

    CALIRARE_DATA=../shared/data python benchmarks/columns_from_tables.py
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_predict

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.features.columns import Columns
from calirare.features.recipe import ColumnRecipe


def positions(ids: pl.Series, ends: pl.Series) -> np.ndarray:
    place = {one: k for k, one in enumerate(ids.to_list())}
    return np.array([place[one] for one in ends.to_list()])


def read_amlsim(folder: Path) -> cr.RareGraph:
    nodes, edges = pl.read_csv(folder / "nodes.csv"), pl.read_csv(folder / "edges.csv")
    source, target = (positions(nodes["nodeid"], edges[end]) for end in ("sourceNodeId", "targetNodeId"))
    columns = (
        EdgeColumn("value", "number", edges["value"].to_numpy()),
        EdgeColumn("time", "time", edges["time"].to_numpy()),  # steps 1, 2, 3, …
    )
    return cr.RareGraph(
        x=nodes.select("init_balance").to_numpy(),  # fraudStep gives the label away
        feature_names=("init_balance",),
        edge_index=np.stack([source, target]),
        y=nodes["isFraud"].to_numpy().astype(np.int64),
        edges=EdgeTable(source, target, columns),
        name="AMLSim fan-in",
    )


def read_otc(folder: Path) -> cr.RareGraph:
    nodes = pl.read_csv(folder / "nodes.csv")
    edges = pl.read_csv(folder / "edges.csv", try_parse_dates=True)
    source, target = (positions(nodes["user"], edges[end]) for end in ("rater", "rated"))
    columns = (
        EdgeColumn("rating", "number", edges["rating"].to_numpy()),
        EdgeColumn("time", "time", edges["time"].dt.epoch("s").to_numpy()),
    )
    y = np.array([{"good": 0, "bad": 1}.get(trust, -1) for trust in nodes["trust"].to_list()])
    return cr.RareGraph(
        x=np.zeros((len(nodes), 0)),
        edge_index=np.stack([source, target]),
        y=y,
        edges=EdgeTable(source, target, columns),
        name="Bitcoin-OTC",
    )


def forest(trees: int, seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(trees, min_samples_leaf=2, random_state=seed, n_jobs=-1)


def columns_of(graph: cr.RareGraph) -> Columns:
    began = time.perf_counter()
    _, columns = ColumnRecipe.learn_and_apply(graph)
    print(f"{graph!r}\n  {columns.values.shape[1]} columns in {time.perf_counter() - began:.1f} s")
    return columns


def judge_amlsim(graph: cr.RareGraph, trees: int, seeds: int) -> None:
    columns, scores = columns_of(graph), []
    for seed in range(seeds):
        split = StratifiedShuffleSplit(1, train_size=0.2, random_state=seed)
        ((train, test),) = split.split(columns.values, graph.y)
        model = forest(trees, seed).fit(columns.values[train], graph.y[train])
        found = model.predict_proba(columns.values[test])
        scores.append((average_precision_score(graph.y[test], found[:, 1]), log_loss(graph.y[test], found)))
    precision, nll = np.mean(scores, axis=0)
    print(f"  average precision {precision:.3f}, NLL {nll:.3f} (random forest, a fifth of the labels, {seeds} seeds)")
    best = np.argsort(-model.feature_importances_)[:12]
    print("  " + "\n  ".join(f"{model.feature_importances_[k]:.3f} {columns.names[k]}" for k in best))


def judge_otc(graph: cr.RareGraph, trees: int) -> None:
    columns, known = columns_of(graph), graph.known
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = cross_val_predict(forest(trees, 0), columns.values[known], graph.y[known], cv=folds, method="predict_proba")
    y = graph.y[known]
    print(f"  ROC-AUC {roc_auc_score(y, found[:, 1]):.4f}, average precision {average_precision_score(y, found[:, 1]):.3f} "
          f"(random forest, five folds)")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    tables = Path(os.environ["CALIRARE_DATA"]) / "tables"
    judge_amlsim(read_amlsim(tables / "amlsim_fanin"), chosen.trees, chosen.seeds)
    judge_otc(read_otc(tables / "bitcoin_otc"), chosen.trees)


if __name__ == "__main__":
    main()
