"""`calirare triage`: alert, review or clear every node at the least expected cost."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from calirare.cli import console
from calirare.cli.options import AsJson, Budget, Coverage, Model, TableOut, priced_by_column
from calirare.cli.pipes import check_output, is_pipe, write_output
from calirare.cli.progress import share_done
from calirare.cli.shares import RareShare, move_to_share, show_share
from calirare.cli.shifts import Strict, check_scores, check_shifts, show_shifts
from calirare.cli.table_options import Tables, tabled
from calirare.cli.watching import Watching, watched

if TYPE_CHECKING:
    from pathlib import Path

    from calirare.data.named_columns import NamedColumns
    from calirare.decisions.triage import Triage

EXAMPLE = (
    "Example: calirare triage model nodes.csv edges.csv --cost-miss 50 --cost-review 1 --budget 200 --out queue.csv"
)


@priced_by_column
@tabled
@watched
def triage(
    model: Model,
    tables: Tables,
    out: TableOut,
    *,
    prices: dict[str, Any],
    budget: Budget = None,
    coverage: Coverage = 0.9,
    rare_share: RareShare = None,
    strict: Strict = False,
    watching: Watching,
    as_json: AsJson = False,
) -> None:
    """Decide every node whose label is not known: alert, review by a person, or clear, with the reason."""
    from calirare.decisions.triage import triage as decide
    from calirare.estimator.classifier import load
    from calirare.estimator.known_again import say_if_unlabelled
    from calirare.evaluation.first_lines import score_lines

    check_output(out, as_json)
    tables.check_apart(out)
    with console.working("Reading model and tables"):
        classifier = load(model)
        graph = tables.read_for(classifier)
        shifts = check_shifts(graph, strict)
    with share_done("Deciding", lines=False) as step:
        classifier, share = move_to_share(classifier, graph, rare_share, shifts)
        queue = decide(classifier, graph, **prices, budget=budget, coverage=coverage, progress=step)
        shifts = check_scores(classifier, queue.probability, shifts, strict)
        said = (*score_lines(classifier, graph), say_if_unlabelled(classifier, graph))
        frame, news = _with_decisions(queue, model)
        said += (queue.costs.never_reviewed, queue.mostly_alerted, news)
        beware = tuple(words for words in said if words)
        write_output(frame, out)
    if rare_share is None:  # at another share, scores say nothing of how the world has moved
        made: dict[str, Any] = {"shifts": shifts, "costs": queue.costs, "action": queue.action, "draws": queue.draws}
        watching.take(model, classifier, queue.probability, "triage", **made)
    if as_json:
        groups = list(queue.groups_frame().rows())
        found = {"queue": out, "beware": beware, "nodes": len(queue), "groups": groups}
        console.show_json({**found, "shift": shifts.to_json(), "rare_share": share})
    elif not is_pipe(out):
        console.show_lines(beware)
        show_queue(queue)
        show_shifts(shifts)
        show_share(share)
        console.show(out)


def _with_decisions(queue: Triage, model: Path) -> tuple[NamedColumns, str]:
    """The table, with what people decided of its nodes where they did, and what to know of that."""
    import numpy as np

    from calirare.decisions.wording import say_decided
    from calirare.review.beside import OPEN, read_decided

    frame, decided = queue.frame(), read_decided(model)
    decisions = [decided.get(str(one), OPEN) for one in queue.id]
    if set(decisions) - {OPEN}:
        frame["decision"] = np.array(decisions, dtype=object)
    return frame, say_decided(decisions, f"calirare refit {shlex.quote(str(model))}")


def show_queue(queue: Triage) -> None:
    """Print the forecast and the head of the queue."""
    import numpy as np

    from calirare.metrics.summary import say

    if not len(queue):
        console.show("Every node of these tables has a label, so nothing is left to decide; the queue is empty.")
        return
    console.show_table(
        f"What deciding {len(queue):,} nodes will cost ({queue.coverage:.0%} intervals)",
        ["action", "nodes", f"of them {queue.wording.rare}", "expected cost"],
        [(one.action, one.num_nodes, say(one.rare, 1), say(one.cost, 1)) for one in queue.groups.values()],
        right=(1,),
    )
    of_each = [np.flatnonzero(queue.action == name)[:3] for name in ("alert", "review")]
    first = queue.take(np.concatenate(of_each))
    numbers = (
        [f"{value:{shape}}" for value in column]
        for column, shape in ((first.probability, ".3f"), (first.decisions.gain, ".2f"))
    )
    console.show_table(
        "Head of the queue: alerts, and what a person should see first",
        ["id", "action", "P", "review saves", "reason"],
        list(zip(first.id, first.action, *numbers, first.reason, strict=True)),
        right=(2, 3),
    )
