"""`calirare evaluate`: how good a model is, on labels that did not make its answers."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Model
from calirare.cli.table_options import Tables, perhaps_tabled

if TYPE_CHECKING:
    from calirare.evaluation import DoubtfulLabel, Evaluation

EXAMPLE = "Example: calirare evaluate model nodes.csv edges.csv --at-least average_precision=0.5"
MOST_DOUBTFUL = 10
FAILED = 1
"""Exit code where a bound is missed; mistakes on the command line exit with 2."""


@perhaps_tabled
def evaluate(
    model: Model,
    tables: Tables | None = None,
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            help="METRIC=VALUE: exit with 1 where the metric is worse (lower, or for errors higher); repeatable."
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Also the recall among so many nodes that judge, those with the highest scores.")
    ] = None,
    resamples: Annotated[int, typer.Option(help="Of the bootstrap behind the intervals.")] = 200,
    as_json: AsJson = False,
) -> None:
    """Every metric with its interval, on nodes whose labels are known, and a verdict in words.

    Without tables those of the fit judge. Labels that trained the model judge it only by what it says of each without its label.
    """
    from calirare.estimator.classifier import load
    from calirare.evaluation import evaluate as judge
    from calirare.evaluation import first_lines, look_again
    from calirare.persistence.folder import load_graph

    bounds = _bounds(at_least or [])
    with console.working("Reading model and tables"):
        classifier = load(model)
        graph = load_graph(model) if tables is None else tables.read_for(classifier)
    with console.working("Judging"):
        found = judge(classifier, graph, budget=budget, num_resamples=resamples)
        beware, again = first_lines(classifier, graph, found.skill), look_again(classifier, graph, MOST_DOUBTFUL)
    missed = _missed(found, bounds)
    if as_json:
        labels = [asdict(one) for one in again]
        console.show_json({"beware": beware, **found.to_json(), "look_again": labels, "missed": missed})
    else:
        console.show_lines(beware)
        show_evaluation(found)
        show_look_again(again)
    for words in missed:
        console.fail(words)
    if missed:
        raise typer.Exit(FAILED)


def show_look_again(found: list[DoubtfulLabel]) -> None:
    """Print the labels that the model would have called otherwise."""
    from calirare.decisions.numbers import say_probability

    rows = [(one.id, one.label, say_probability(one.probability), one.likelier) for one in found]
    if rows:
        header = ["node", "label", "P(label) without it", "likelier"]
        console.show_table("Labels to look at again", header, rows, right=(2,))


def show_evaluation(found: Evaluation) -> None:
    """Print the verdict and the table of metrics."""
    from calirare.metrics import METRICS
    from calirare.metrics.summary import say

    rows = [
        (found.title(name), say(found.before[name], interval=False), say(one), METRICS[name].better.split()[0])
        for name, one in found.after.items()
        if not METRICS[name].conditional
    ]
    console.show_table(
        f"{found.evidence.say()}; {found.after.num_rare:,} of them rare",
        ["metric", "before", f"value ({found.after.coverage:.0%} interval)", "better"],
        rows,
        right=(1, 2),
    )
    console.show(f"Verdict: {found.verdict.level}. {found.verdict.words}")
    for warning in found.warnings:
        console.show(f"- {warning}")


def _bounds(said: list[str]) -> dict[str, float]:
    """`METRIC=VALUE`, checked before the minutes that reading may take."""
    from calirare.errors import InputError, nearest
    from calirare.metrics import METRICS

    bounds = {}
    for words in said:
        name, _, value = words.partition("=")
        if name not in METRICS:
            raise InputError(f"--at-least must name a metric; got {name!r}: {nearest(name, METRICS)}")
        try:
            bounds[name] = float(value)
            if math.isnan(bounds[name]):
                raise ValueError
        except ValueError:
            raise InputError(f"--at-least is written METRIC=VALUE, with a number; got {words!r}.") from None
    return bounds


def _missed(found: Evaluation, bounds: dict[str, float]) -> list[str]:
    from calirare.errors import InputError
    from calirare.metrics import METRICS

    missed = []
    for name, bound in bounds.items():
        if name not in found.after:
            raise InputError(f"--at-least {name} needs --budget.")
        value, metric = found.after[name].value, METRICS[name]
        if not (value == bound or metric.improves(value, bound)):
            rule = "at least" if metric.higher_is_better else "at most"
            missed.append(f"{metric.title} is {value:.4g}; it must be {rule} {bound:g}.")
    return missed
