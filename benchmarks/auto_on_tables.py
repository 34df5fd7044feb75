"""What `auto` finds in two pairs of tables as users bring them, read with no more options than a user would give.

IBM's AMLSim (accounts and transfers; `fraudStep`, which the audit calls a leak, is left out): a fifth of the labels train,
drawn by class, the rest judges, over seeds. Bitcoin-OTC (users, signed and timed ratings): ROC-AUC over five folds. The
audit is asked for leaks in both, and in Tolokers, which has none.

    CALIRARE_DATA=../shared/data python benchmarks/auto_on_tables.py --results tables.jsonl

Fits that stand in the results already are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

import calirare as cr
from calirare.data.tables.audit import audit_graph, audit_tables

AMLSIM: dict[str, Any] = {"label": "isFraud", "rare": 1, "types": {"fraudStep": "ignore"}}
OTC: dict[str, Any] = {"label": "trust", "rare": "bad"}


def read(folder: Path, options: dict[str, Any]) -> cr.RareGraph:
    return cr.read_tables(folder / "nodes.csv", folder / "edges.csv", **options)


def fit_and_judge(graph: cr.RareGraph, train: np.ndarray, test: np.ndarray, detector: str, seed: int) -> dict[str, Any]:
    began = time.process_time()
    clf = cr.RareCategoryClassifier(detector, seed=seed).fit(graph, cr.Split(train=train, test=test))
    p = clf.predict_proba(graph)[test, clf.rare_class_]
    y = graph.y[test] == graph.rare_class
    return {
        "average_precision": average_precision_score(y, p),
        "nll": log_loss(y, p),
        "base_nll": log_loss(y, np.full(len(y), (graph.y[train] == graph.rare_class).mean())),
        "roc_auc": roc_auc_score(y, p),
        "cpu_s": time.process_time() - began,
    }


def splits(graph: cr.RareGraph, table: str, seeds: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    known = graph.known
    cut: Any = StratifiedKFold(5, shuffle=True, random_state=0)
    if table == "amlsim":
        cut = StratifiedShuffleSplit(seeds, train_size=0.2, random_state=0)
    return [
        (number, known[np.sort(train)], known[np.sort(test)])
        for number, (train, test) in enumerate(cut.split(known, graph.y[known]))
    ]


def leaks(tables: Path) -> None:
    found = {
        "AMLSim with all its columns": audit_tables(
            tables / "amlsim_fanin" / "nodes.csv", tables / "amlsim_fanin" / "edges.csv", label="isFraud", rare=1
        ),
        "Bitcoin-OTC": audit_graph(read(tables / "bitcoin_otc", OTC)),
        "Tolokers": audit_graph(cr.RareGraph.load(tables.parent / "tolokers.npz")),
    }
    for name, audit in found.items():
        print(f"leaks in {name}: {', '.join(finding.column for finding in audit.leaks) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("auto_on_tables.jsonl"), help="kept, and added to")
    parser.add_argument("--detector", default="auto")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fits", type=int, default=None, help="at most so many; the next call goes on")
    chosen = parser.parse_args()
    tables = Path(os.environ["CALIRARE_DATA"]) / "tables"
    done = [json.loads(line) for line in chosen.results.read_text().splitlines()] if chosen.results.exists() else []
    left = chosen.fits
    leaks(tables)
    for table, folder, options in (("amlsim", "amlsim_fanin", AMLSIM), ("otc", "bitcoin_otc", OTC)):
        graph = read(tables / folder, options)
        for number, train, test in splits(graph, table, chosen.seeds):
            key = {"table": table, "detector": chosen.detector, "split": number}
            if left == 0 or any(key.items() <= row.items() for row in done):
                continue
            row = key | fit_and_judge(graph, train, test, chosen.detector, number)
            print(" ".join(f"{name} {value:.4g}" if isinstance(value, float) else str(value) for name, value in row.items()), flush=True)  # fmt: skip
            done.append(row)
            with chosen.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            left = None if left is None else left - 1
    show(done)


def show(rows: list[dict[str, Any]]) -> None:
    print("\n| tables | detector | fits | average precision | NLL | NLL of the base rate | ROC-AUC | CPU s |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for table, detector in dict.fromkeys((row["table"], row["detector"]) for row in rows):
        mine = [row for row in rows if (row["table"], row["detector"]) == (table, detector)]
        means = {name: np.mean([row[name] for row in mine]) for name in mine[0] if name not in ("table", "detector")}
        print(
            f"| {table} | {detector} | {len(mine)} | {means['average_precision']:.3f} | {means['nll']:.4f} | "
            f"{means['base_nll']:.4f} | {means['roc_auc']:.4f} | {means['cpu_s']:.0f} |"
        )


if __name__ == "__main__":
    main()
