"""Ten sets of tables as strangers bring them, through every command, beside a plain random forest on columns made by hand.

For each: audit, fit, score, evaluate, triage and report by the command line, then score and evaluate a second draw of the same
kind, at once and in parts. Prints what was said, how long it took, and average precision on the nodes whose labels the
tables do not hold, for calirare and for a forest of scikit-learn that gets the clean numbers behind the files: counts, sums
and means per direction, and their means over the neighbours.

    python benchmarks/strange_tables.py --only payments,devices --results strange.jsonl

What stands in the results already is not done again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import strange_cases as first
import strange_more as more
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from typer.testing import CliRunner

from calirare.cli.main import app

CASES: dict[str, Callable[..., first.Case]] = {
    "payments": first.payments,
    "hosts": first.hosts,
    "patients": first.patients,
    "devices": first.devices,
    "reviews": first.reviews,
    "invoices": more.invoices,
    "calls": more.calls,
    "citations": more.citations,
    "merchants": more.merchants,
    "trust": more.trust,
}


def by_hand(case: first.Case) -> np.ndarray:
    """Counts, sums and means per direction and table, and all of that as means over the neighbours."""
    size = len(case.x)
    columns = [case.x]
    for source, target, numbers in case.edges:
        for end in (source, target):
            count = np.bincount(end, minlength=size)
            sums = np.stack([np.bincount(end, weights=one, minlength=size) for one in numbers.T], axis=1)
            columns += [count[:, None], sums, sums / np.maximum(count, 1)[:, None]]
    own = np.hstack(columns)
    around, count = np.zeros(own.shape), np.zeros(size)
    for source, target, _ in case.edges:
        for one, other in ((source, target), (target, source)):
            np.add.at(around, one, own[other])
            count += np.bincount(one, minlength=size)
    return np.hstack([own, around / np.maximum(count, 1)[:, None]])[: len(case.ids)]


def forest(case: first.Case) -> float:
    """Average precision of a plain forest."""
    columns, y, known = by_hand(case), case.y, case.known
    model = RandomForestClassifier(500, min_samples_leaf=2, random_state=0).fit(columns[known], y[known])
    return float(average_precision_score(y[~known], model.predict_proba(columns[~known])[:, 1]))


class Program:
    """The command line, with what it said and how long it took."""

    def __init__(self, talk: bool) -> None:
        self.talk, self.steps, self.failures = talk, {}, []  # type: ignore[var-annotated]

    def __call__(self, step: str, words: list[str], code: int = 0) -> str:
        began = time.process_time()
        answer = CliRunner().invoke(app, words, env={"COLUMNS": "160"})
        self.steps[step] = round(time.process_time() - began, 1)
        said = answer.stdout + answer.stderr
        if self.talk:
            print(f"\n$ calirare {' '.join(words)}\n{said}", flush=True)
        if answer.exit_code != code:
            self.failures.append(f"{step}: {said.strip().splitlines()[-1] if said.strip() else repr(answer.exception)}")
        return answer.stdout


def found(case: first.Case, scores: Path) -> float:
    """Average precision of written scores on the nodes whose labels were not known."""
    table = pl.read_parquet(scores)
    p = dict(zip(table["id"].cast(pl.String).to_list(), table["probability"].to_list(), strict=True))
    kept = np.flatnonzero(~case.known)
    missing = [str(case.ids[k]) for k in kept if str(case.ids[k]) not in p]
    if missing or len(p) != len(case.ids):
        print(f"scored {len(p)} nodes of {len(case.ids)}; not there: {missing[:3]}")
    return float(average_precision_score(case.y[kept], [p.get(str(case.ids[k]), 0.0) for k in kept]))


def go_through(name: str, folder: Path, seed: int, talk: bool, quick: bool) -> dict[str, Any]:
    """All commands on one set of tables; quick: fit and score alone."""
    here, later = folder / "first", folder / "second"
    here.mkdir()
    later.mkdir()
    case = CASES[name](here, np.random.default_rng([seed, 0]))
    new = CASES[name](later, np.random.default_rng([seed, 1]))
    run, model = Program(talk), str(folder / "model")
    audit = {} if quick else json.loads(run("audit", ["audit", *case.tables, *case.label, "--json"]) or "{}")
    if talk:
        run("audit in words", ["audit", *case.tables, *case.label])
    run("fit", ["fit", *case.tables, *case.label, *case.fit, "--out", model])
    run("score", ["score", model, *case.tables, "--out", str(folder / "scores.parquet")])
    if not quick:
        run("evaluate", ["evaluate", model, *case.tables])
        run("triage", ["triage", model, *case.tables, "--out", str(folder / "queue.csv"), "--budget", "50"])
        run("report", ["report", model, "--out", str(folder / "report.html")])
        run("score new", ["score", model, *new.tables, "--out", str(folder / "new.parquet")])
        run("in parts", ["score", model, *new.tables, "--out", str(folder / "parts.parquet"), "--partitions", "3"])
        run("evaluate new", ["evaluate", model, *new.tables])
    both = [
        pl.read_parquet(folder / f"{one}.parquet") for one in ("new", "parts") if (folder / f"{one}.parquet").exists()
    ]
    same = float(np.abs(both[0]["probability"].to_numpy() - both[1]["probability"].to_numpy()).max()) if len(both) == 2 else None  # fmt: skip
    leaks = [one["column"] for one in audit.get("findings", ()) if one.get("kind") == "leak"]
    return {
        "table": name,
        "seed": seed,
        "nodes": len(case.ids),
        "rare labels": int((case.y & case.known).sum()),
        "base": float(case.y[~case.known].mean()),
        "calirare": found(case, folder / "scores.parquet") if (folder / "scores.parquet").exists() else None,
        "forest": forest(case),
        "new": found(new, folder / "new.parquet") if (folder / "new.parquet").exists() else None,
        "parts differ by": same,
        "leaks": leaks,
        "leaks missed": [] if quick else [one for one in case.leaks if one not in leaks],
        "cpu_s": run.steps,
        "failures": run.failures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CASES), help="names, with commas")
    parser.add_argument("--seeds", default="0", help="of the draws, with commas")
    parser.add_argument("--quick", action="store_true", help="fit and score alone")
    parser.add_argument("--results", type=Path, default=Path("strange_tables.jsonl"), help="kept, and added to")
    parser.add_argument("--talk", action="store_true", help="show what every command says")
    chosen = parser.parse_args()
    done = [json.loads(line) for line in chosen.results.read_text().splitlines()] if chosen.results.exists() else []
    for seed, name in product(map(int, chosen.seeds.split(",")), chosen.only.split(",")):
        if any((row["table"], row["seed"]) == (name, seed) for row in done):
            continue
        with TemporaryDirectory() as folder:
            row = go_through(name, Path(folder), seed, chosen.talk, chosen.quick)
        print(json.dumps(row), flush=True)
        done.append(row)
        with chosen.results.open("a") as file:
            file.write(json.dumps(row) + "\n")
    show(done)


def show(rows: list[dict[str, Any]]) -> None:
    """One line per set of tables, means over the draws."""
    print("\n| tables | draws | nodes | rare labels | base rate | calirare | forest by hand | new draw | parts differ by | CPU s | failures |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|")
    for name in dict.fromkeys(row["table"] for row in rows):
        mine = [row for row in rows if row["table"] == name]

        def mean(key: str, form: str, mine: list[dict[str, Any]] = mine) -> str:
            known = [row[key] for row in mine if row[key] is not None]
            return format(float(np.mean(known)), form) if known else "–"

        numbers = " | ".join(mean(key, ".3f") for key in ("base", "calirare", "forest", "new"))
        counts = f"{mean('nodes', '.0f')} | {mean('rare labels', '.0f')}"
        seconds = np.mean([sum(row["cpu_s"].values()) for row in mine])
        failures = "; ".join(text for row in mine for text in [*row["failures"], *row["leaks missed"]])
        print(f"| {name} | {len(mine)} | {counts} | {numbers} | {mean('parts differ by', '.0e')} | {seconds:.0f} | {failures} |")  # fmt: skip


if __name__ == "__main__":
    main()
