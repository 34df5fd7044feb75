"""`calirare score`: from a model and two tables to a table of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Coverage, Model, TableOut
from calirare.cli.part_options import Parts, in_parts
from calirare.cli.pipes import check_output, is_pipe, write_output
from calirare.cli.progress import share_done
from calirare.cli.shares import RareShare, move_to_share, show_share
from calirare.cli.shifts import Strict, check_scores, check_shifts, refuse_large, show_shifts
from calirare.cli.table_options import Tables, tabled
from calirare.cli.watching import Watching, watched
from calirare.errors import InputError

EXAMPLE = "Example: calirare score model nodes.csv edges.csv --out scores.parquet"


@tabled
@in_parts
@watched
def score(
    model: Model,
    tables: Tables,
    out: TableOut,
    coverage: Coverage = 0.9,
    rare_share: RareShare = None,
    intervals: Annotated[bool, typer.Option(help="Without them: no lower and upper, and less time.")] = True,
    *,
    parts: Parts,
    strict: Strict = False,
    watching: Watching,
    as_json: AsJson = False,
) -> None:
    """Score every node of the tables, old or new, without fitting again.

    Columns: id, probability of the rare class, the interval lower to upper, disagreement (how far the detectors, each
    asked alone, lie apart; 0 where there is one), prediction, and the set of classes that the coverage does not rule
    out; with --rare-share the share that they are at.

    Tables may be folders of shards, or patterns in quotes. Shards in Parquet, and tables of more than 20 million edges, are
    scored in parts, with the same result.

    Tables and scores are compared with those of the fit, and what has shifted is said.
    """
    from calirare.estimator.classifier import load
    from calirare.scoring.in_parts import wants_parts

    check_output(out, as_json)
    tables.check_apart(out)
    if parts.queue is not None:
        tables.check_apart(parts.queue)
    with console.working("Reading the model"):
        classifier = load(model)
    tables = tables.told_apart(classifier.schema_)
    settings: dict[str, Any] = {"coverage": coverage, "intervals": intervals}
    if parts.asked or wants_parts(tables.nodes, tables.edges):
        facts, top = _score_in_parts(classifier, tables, out, settings | parts.arguments, strict, rare_share)
    else:
        facts, top = _score_at_once(classifier, tables, out, settings, strict, rare_share)
    unknown, of = facts.pop("unknown"), facts.pop("of")
    if rare_share is None:  # at another share, scores say nothing of how the world has moved
        watching.take(model, classifier, unknown, "score", shifts=facts["shift"])
    if is_pipe(out):
        return
    if as_json:
        console.show_json({"scores": out, "coverage": coverage, **facts, "shift": facts["shift"].to_json()})
    else:
        _show(facts, top, of, [out] if parts.queue is None else [out, parts.queue])


def _score_at_once(
    classifier: Any, tables: Tables, out: Path, settings: dict[str, Any], strict: bool, rare_share: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    from calirare.data.arrays import UNKNOWN
    from calirare.evaluation.first_lines import score_lines
    from calirare.scoring.table import score_table

    with console.working("Reading the tables"):
        graph = tables.read_for(classifier)
        shifts = check_shifts(graph, strict)
    with console.working("Scoring"):
        classifier, share = move_to_share(classifier, graph, rare_share, shifts)
        table = score_table(classifier, graph, **settings)
        no_label = graph.y[graph.scored] == UNKNOWN
        unknown, some = table["probability"][no_label], bool(no_label.any() and not no_label.all())
        shifts = check_scores(classifier, unknown, shifts, strict)
    write_output(table, out)
    order = table["probability"].argsort(kind="stable")[::-1]
    order = order[no_label[order]][:10] if some else order[:10]  # who looks for cases knows the labels
    top = {name: values[order] for name, values in table.items()}
    read, count = graph.schema_of("read"), int(graph.scored.size)
    facts = {"nodes": count, "parts": 1, "read": read, "shift": shifts, "rare_share": share, "unknown": unknown}
    of = f"{unknown.size:,} nodes without a label" if some else f"{count:,} nodes"
    return {"beware": score_lines(classifier, graph), **facts, "of": of}, top


def _score_in_parts(
    classifier: Any, tables: Tables, out: Path, settings: dict[str, Any], strict: bool, rare_share: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    from calirare.evaluation.first_lines import score_lines
    from calirare.scoring.in_parts import score_in_parts

    if is_pipe(out):
        raise InputError("in parts, the scores go to a file; name one with --out.")
    classifier, share = move_to_share(classifier, None, rare_share)
    settings |= {"options": tables.options, "accept": lambda shifts: refuse_large(shifts, strict)}
    with share_done("Scoring in parts") as step:
        done = score_in_parts(classifier, tables.nodes, tables.edges, out, progress=step, **settings)
    facts = {"nodes": done.num_nodes, "parts": done.num_parts, "read": done.read, "shift": done.shift}
    beware = score_lines(classifier, None)
    of = f"{done.num_nodes:,} nodes"
    return {"beware": beware, **facts, "rare_share": share, "unknown": done.unknown, "of": of}, done.top


def _show(facts: dict[str, Any], top: dict[str, Any], of: str, files: list[Path]) -> None:
    console.show_lines(facts["beware"])
    show_top(top, of)
    show_shifts(facts["shift"])
    show_share(facts["rare_share"])
    for file in files:
        console.show(file)


def show_top(top: dict[str, Any], of: str) -> None:
    """Print the nodes with the highest probability, of those that `of` names."""
    shown = {"id": top["id"], "P(rare)": _three_digits(top["probability"])}
    if "lower" in top:
        bounds = zip(*(_three_digits(top[end]) for end in ("lower", "upper")), strict=True)
        shown["interval"] = [" – ".join(ends) for ends in bounds]
    if top["disagreement"].any():
        shown["disagreement"] = _three_digits(top["disagreement"])
    shown |= {"prediction": top["prediction"], "set": top["set"]}
    right = [place for place, name in enumerate(shown) if name in ("P(rare)", "disagreement")]
    console.show_table(f"Highest of {of}", list(shown), zip(*shown.values(), strict=True), right)


def _three_digits(values: Any) -> list[str]:
    return [f"{value:.3f}" for value in values]
