"""How often `calirare monitor` cries wolf in quiet weeks, and how often it finds a planted shift within a week.

Each stream is a generated network with a third of its accounts labelled, a model fitted on it, ten quiet weeks, and then one
week of each planted shift. A week is a new network of the same world (1,500 accounts), scored on its first day; people decide
40 of its cases over the next six days, 30 of them the highest scores, 10 drawn from all. The monitor runs every day, with
all that came before; a week counts as alarmed if it alarms on any of its days.

    python benchmarks/stream.py --streams 12

Each stream is appended to the file of `--out` when it is done, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

import calirare as cr
from calirare.data.tables.files import edges_as_columns, nodes_as_columns
from calirare.data.tables.shift import compare_with_fit
from calirare.decisions.costs import Costs, decide
from calirare.evaluation.monitoring.alarms import DAY, watch
from calirare.evaluation.monitoring.feeding import reference_for, take_decision, take_run
from calirare.evaluation.monitoring.series import Kind, Series
from calirare.review.store.database import Database, database_url

ACCOUNTS, RARE_SHARE = 1_500, 0.05
DECISIONS, HIGHEST = 40, 30
Columns = dict[str, Any]


@dataclass(frozen=True)
class World:
    """How a week's network is made: arguments of the generator, a change of its nodes table, of its truth."""

    words: str
    arguments: dict[str, Any] = field(default_factory=dict)
    change: Callable[[Columns, np.random.Generator], Columns] = lambda columns, rng: columns
    truth: Callable[[np.ndarray], np.ndarray] = lambda p: p


def scaled(name: str, times: float) -> Callable[[Columns, np.random.Generator], Columns]:
    return lambda columns, rng: {**columns, name: np.asarray(columns[name]) * times}


def moved(name: str, deviations: float) -> Callable[[Columns, np.random.Generator], Columns]:
    return lambda columns, rng: {**columns, name: columns[name] + deviations * np.std(columns[name])}


def emptied(name: str, share: float) -> Callable[[Columns, np.random.Generator], Columns]:
    def change(columns: Columns, rng: np.random.Generator) -> Columns:
        gone = rng.random(len(columns[name])) < share
        return {**columns, name: np.where(gone, np.nan, columns[name])}

    return change


QUIET = World("quiet")
SHIFTS = {
    "unit": World("one column in hours instead of days", change=scaled("account_age_days", 24)),
    "mean": World("one column higher by one deviation", change=moved("night_share", 1.0)),
    "half": World("one column higher by half a deviation", change=moved("night_share", 0.5)),
    "gaps": World("three tenths of one column empty", change=emptied("country_risk", 0.3)),
    "degree": World("twice as many edges", {"average_degree": 20.0}),
    "triple": World("three times as many rare nodes", {"rare_share": 3 * RARE_SHARE}),
    "more": World("half as many rare nodes again", {"rare_share": 1.5 * RARE_SHARE}),
    "third": World("rare a third as often as the columns say", truth=lambda p: p / 3),
}


class Stream:
    """One model in use."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        past = cr.make_transactions(ACCOUNTS, rare_share=RARE_SHARE, labelled_share=0.33, seed=1_000 * seed)
        graph = cr.read_tables(nodes_as_columns(past), edges_as_columns(past), label="is_fraud", rare="yes")
        self.clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        self.draws = self.clf.calibration_draws()
        self.database = Database(database_url("sqlite://"))
        self.quiet = Series(self.database)
        self.reference = reference_for(self.quiet, "m", self.clf, graph)

    def week(self, series: Series, number: int, world: World, offset: int) -> list[str]:
        """Live through a week; the signals that alarmed, in the order of the days."""
        seed = 1_000 * self.seed + offset
        rng = np.random.default_rng([seed, 5])
        arguments = {"rare_share": RARE_SHARE, "labelled_share": 0.01, **world.arguments}
        truth = cr.make_transactions(ACCOUNTS, seed=seed, **arguments)
        nodes = world.change(nodes_as_columns(truth), rng)
        nodes.pop("is_fraud")
        graph = cr.read_tables(nodes, edges_as_columns(truth), schema=self.clf.schema_)
        p = self.clf.predict_proba(graph)[:, 1]
        begin = 7 * number * DAY
        take_run(series, "m", self.clf, self.reference, p, command="score", shifts=compare_with_fit(graph),
                 draws=self.draws, time=begin + 1)  # fmt: skip
        self.decide(series, number, truth, p, world, begin, rng)
        found: list[str] = []
        for day in range(1, 8):
            state = watch(series, "m", self.draws, now=begin + day * DAY)
            found += [one.name for one in state.alarms if one.name not in found]
        return found

    def decide(
        self, series: Series, number: int, truth: Any, p: np.ndarray, world: World, begin: float, rng: Any
    ) -> None:
        order = np.argsort(-p)
        chosen = [*order[:HIGHEST], *rng.choice(order[HIGHEST:], DECISIONS - HIGHEST, replace=False)]
        action = decide(p, Costs()).action
        rare = truth.original_y
        if world.truth is not QUIET.truth:
            rare = rng.random(p.size) < world.truth(truth.true_probability)
        for place, node in enumerate(rng.permutation(chosen).tolist()):
            when = begin + DAY * (0.5 + 6 * place / DECISIONS)
            what = "rare" if rare[node] else "normal"
            take_decision(series, "m", f"{number}-{node}", what, float(p[node]), str(action[node]), Costs(), time=when)

    def copy(self, name: str) -> Series:
        """The series so far, under another name."""
        copied = Series(self.database, name)
        for kind in get_args(Kind):
            for row in self.quiet.read(kind):
                copied.add(kind, row.model_version, row.subject, row.value, time=row.time)
        return copied


def live(seed: int, weeks: int) -> dict[str, Any]:
    """One stream: the alarms of its quiet weeks, and of each planted shift."""
    stream = Stream(seed)
    quiet = [stream.week(stream.quiet, number, QUIET, 1 + number) for number in range(weeks)]
    shifts = {
        name: stream.week(stream.copy(name), weeks, world, 500 + k) for k, (name, world) in enumerate(SHIFTS.items())
    }
    return {"seed": seed, "quiet": quiet, "shifts": shifts}


def table(done: list[dict[str, Any]]) -> str:
    """The table of the docs, as Markdown."""
    lines = ["| world | weeks | alarmed | by which signal |", "|---|---|---|---|"]
    quiet = [alarms for one in done for alarms in one["quiet"]]
    for words, weeks in [("quiet", quiet)] + [
        (world.words, [one["shifts"][name] for one in done]) for name, world in SHIFTS.items()
    ]:
        alarmed = sum(bool(alarms) for alarms in weeks)
        which = Counter(name for alarms in weeks for name in alarms)
        named = ", ".join(f"{name} {count}" for name, count in which.most_common())
        lines.append(f"| {words} | {len(weeks)} | {alarmed} ({alarmed / len(weeks):.0%}) | {named or '–'} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="number of the first stream")
    parser.add_argument("--weeks", type=int, default=10, help="quiet weeks of each stream")
    parser.add_argument("--out", type=Path, default=Path("stream.jsonl"))
    given = parser.parse_args()
    done = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    wanted = range(given.first, given.first + given.streams)
    for seed in wanted:
        if all(one["seed"] != seed for one in done):
            done.append(live(seed, given.weeks))
            with given.out.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    print(table([one for one in done if one["seed"] in wanted]))


if __name__ == "__main__":
    main()
