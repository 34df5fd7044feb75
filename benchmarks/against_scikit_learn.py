"""How well do `auto` and each detector find and calibrate, beside what ten lines of scikit-learn give?

A tenth of the nodes labelled, at random within each class; the rest tests. Graphs: the rarest class of each against all
others. Competitors are those of `calirare leaderboard` that read own and neighbours' columns, forest and boosting calibrated
by five-fold sigmoid. The leaderboard has more of them, more protocols and more graphs; this prints a table in a minute.

    python benchmarks/against_scikit_learn.py --seeds 5 --jobs 2 [--graphs cora,tolokers] [--detectors auto,gcn]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from joblib import Parallel, delayed
from scipy.stats import ttest_rel
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

import calirare as cr
from calirare.benchmark.competitors import Problem, competitors
from calirare.benchmark.leaderboard.protocols import tenth as draw_share
from calirare.data.catalogue.download import data_folder

GRAPHS = ("cora", "citeseer", "pubmed", "dblp", "facebook", "tolokers", "reddit")
DETECTORS = ("auto", "linear", "forest", "boosting", "spreading", "gcn")
COMPETITORS = ("forest, propagated, sigmoid", "boosting, propagated, sigmoid", "logistic, propagated, raw")


def load(name: str) -> cr.RareGraph:
    """The rarest class against the rest; words row-normalised, dense columns standardised."""
    if name == "demo":
        return cr.make_transactions(5_000, seed=0)
    graph = cr.RareGraph.load(data_folder(None) / f"{name}.npz")
    if sp.issparse(graph.x) and graph.x.shape[1] > 100:
        total = np.asarray(graph.x.sum(axis=1)).ravel()
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        x = sp.csr_array(sp.diags_array(scale) @ graph.x).astype(np.float32)
    else:
        dense = graph.x.toarray() if sp.issparse(graph.x) else graph.x
        x = ((dense - dense.mean(axis=0)) / (dense.std(axis=0) + 1e-9)).astype(np.float32)
    return replace(graph, x=x, public_split=None).against_rest()


def tenth(graph: cr.RareGraph, seed: int, share: float) -> cr.Split:
    return draw_share(graph, round(100 * share), seed).split


def measure(name: str, what: str, seconds: float, y: np.ndarray, p: np.ndarray, seed: int) -> dict[str, object]:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return {
        "graph": name, "method": what, "seed": seed, "seconds": seconds, "nll": log_loss(y, p),
        "ap": 100 * average_precision_score(y, p), "auc": roc_auc_score(y, p),
    }  # fmt: skip


def run(name: str, seed: int, detectors: list[str], share: float) -> list[dict[str, object]]:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    with threadpool_limits(1):
        graph = load(name)
        split = tenth(graph, seed, share)
        test, truth = split.test, graph.y[split.test]
        for what in detectors:
            started = time.perf_counter()
            clf = cr.RareCategoryClassifier(detector=what, seed=seed, device="cpu").fit(graph, split)
            seconds = time.perf_counter() - started
            row = measure(name, what, seconds, truth, clf.predict_proba(graph)[test, 1], seed)
            left_out = np.clip(clf.predict_left_out()[:, 1], 1e-12, 1 - 1e-12)
            row["left_out_nll"] = log_loss(clf.labelled_y_, left_out)
            row["weights"] = {member: round(weight, 2) for member, weight in clf.weights_.items()}
            rows.append(row)
        problem = Problem(graph, split, seed=seed)
        for what in COMPETITORS:
            started = time.perf_counter()
            found = competitors()[what].answer(problem).probability
            assert found is not None
            rows.append(measure(name, what, time.perf_counter() - started, truth, found[test], seed))
    return rows


def show(rows: list[dict[str, object]]) -> None:
    graphs = list(dict.fromkeys(str(row["graph"]) for row in rows))
    methods = list(dict.fromkeys(str(row["method"]) for row in rows))
    for metric, best_of in (("nll", min), ("ap", max)):
        print(f"\n{metric}: mean over seeds; * best or tied with it (paired t-test, 5%)")
        print(f"{'graph':10s}" + "".join(f"{method:>30s}" for method in methods))
        for graph in graphs:
            found = {}
            for method in methods:
                ours = [row for row in rows if row["graph"] == graph and row["method"] == method]
                found[method] = np.array([float(row[metric]) for row in sorted(ours, key=lambda row: row["seed"])])  # type: ignore[arg-type,return-value,call-overload]
            best = best_of(methods, key=lambda method: float(found[method].mean()))  # type: ignore[type-var]
            cells = []
            for method in methods:
                tied = method == best or (
                    len(found[method]) > 1 and ttest_rel(found[method], found[best]).pvalue > 0.05
                )
                cells.append(f"{found[method].mean():.4f}" + ("*" if tied else " "))
            print(f"{graph:10s}" + "".join(f"{cell:>30s}" for cell in cells))
    print("\nseconds on one core, left-out NLL against test NLL, weights of auto (first seed)")
    for graph in graphs:
        parts = []
        for method in methods:
            ours = [row for row in rows if row["graph"] == graph and row["method"] == method]
            parts.append(f"{method} {np.mean([float(row['seconds']) for row in ours]):.1f}s")  # type: ignore[arg-type]
        auto = [row for row in rows if row["graph"] == graph and row["method"] == "auto"]
        told = "" if not auto else (
            f" | auto {np.mean([float(r['left_out_nll']) for r in auto]):.4f} / {np.mean([float(r['nll']) for r in auto]):.4f}"  # type: ignore[arg-type]
            f" {auto[0]['weights']}"
        )  # fmt: skip
        print(f"{graph:10s} " + ", ".join(parts) + told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--detectors", default=",".join(DETECTORS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--out", type=Path, help="Rows as JSON Lines.")
    arguments = parser.parse_args()
    tasks = [(name, seed) for name in arguments.graphs.split(",") for seed in range(arguments.seeds)]
    work = (delayed(run)(name, seed, arguments.detectors.split(","), arguments.share) for name, seed in tasks)
    rows = []
    for part in Parallel(arguments.jobs, return_as="generator_unordered")(work):
        rows += part
        if arguments.out is not None:
            with arguments.out.open("a") as stream:
                stream.writelines(json.dumps(row) + "\n" for row in part)
    rows.sort(key=lambda row: GRAPHS.index(str(row["graph"])) if row["graph"] in GRAPHS else 99)
    show(rows)


if __name__ == "__main__":
    main()
