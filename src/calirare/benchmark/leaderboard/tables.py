"""The tables of the leaderboard."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calirare.benchmark.competitors import competitors
from calirare.benchmark.formats import Cell as Text
from calirare.benchmark.formats import Table
from calirare.benchmark.leaderboard.graphs import title
from calirare.benchmark.leaderboard.measures import MEASURES
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.leaderboard.standings import Cell, Standings, mean_ranks
from calirare.benchmark.ranking import Score

RANKED = ("average_precision", "nll", "brier", "smooth_ece", "cost_usual")
OVERALL = ("average_precision", "roc_auc", "recall_5", "nll", "brier", "smooth_ece", "cost_usual", "seconds")
FULL = tuple(
    name
    for name in MEASURES
    if name not in ("coverage_rare", "coverage_normal", "set_size", "one_class", "truth_error", "memory_mb")
)
SETS = ("coverage_rare", "coverage_normal", "set_size", "one_class", "seconds")
GADBENCH_PUBLISHED: dict[str, dict[str, float]] = {}
"""Average precision by graph and method as GADBench prints it; none was at hand to copy from."""


def rank_table(standings: Standings, cells: Sequence[Cell], names: Sequence[str], name: str, head: str) -> Table:
    """Mean ranks over graphs, and the means themselves, best by NLL first."""
    ranks = {measure: mean_ranks(standings, cells, measure, names) for measure in RANKED}
    listed = list(ranks["nll"].ranks)
    rows = []
    for one in listed:
        cells_of = [Text(one)]
        for measure in RANKED:
            found = ranks[measure].ranks
            best = one in found and found[one] == min(found.values())
            cells_of.append(Text(f"{found[one]:.1f}" if one in found else "–", "best" if best else ""))
        rows.append((*cells_of, *_means(standings, cells, one, listed)))
    heads = [f"rank {MEASURES[measure].head}" for measure in RANKED]
    graphs = len({cell[0] for cell in cells})
    critical = ranks["nll"].critical
    note = (
        f"Mean ranks over {graphs} graphs, 1 the best of {len(listed)}; ranks that differ by less than {critical:.1f} cannot "
        "be told apart (Nemenyi, 5%). Then the means over all cells. Bold: the best of its column."
    )
    header = ("competitor", *heads, *(MEASURES[measure].head for measure in OVERALL))
    return Table(name, head, header, tuple(rows), (note,))


def _means(standings: Standings, cells: Sequence[Cell], name: str, rivals: Sequence[str]) -> list[Text]:
    found = []
    for measure in OVERALL:
        values = {one: standings.overall(cells, measure, one) for one in rivals}
        finite = [value for value in values.values() if math.isfinite(value)]
        best = (max if MEASURES[measure].higher else min)(finite) if finite else math.nan
        found.append(Text(MEASURES[measure].show(values[name]), "best" if values[name] == best else ""))
    return found


def cell_table(standings: Standings, cell: Cell, measures: Sequence[str], names: Sequence[str], level: str) -> Table:
    """All competitors in one cell: mean ± spread over seeds."""
    graph, protocol, size = cell
    columns = {measure: standings.scores(cell, measure, names) for measure in measures}
    listed = [name for name in names if any(name in column for column in columns.values())]
    order = MEASURES[measures[0]]
    listed.sort(
        key=lambda name: (
            -standings.mean(cell, measures[0], name) if order.higher else standings.mean(cell, measures[0], name)
        )
    )
    rows = [(Text(name), *(show(columns[measure].get(name), measure) for measure in measures)) for name in listed]
    variants = len(PROTOCOLS[protocol].variants) > 1
    words = f"{title(graph)}, {size}" if variants else title(graph)
    return Table(f"{level}-{graph}-{size}", words, ("competitor", *(MEASURES[m].head for m in measures)), tuple(rows))


def show(score: Score | None, measure: str) -> Text:
    """Mean ± spread; bold the best, ⁼ what a paired test cannot tell from it."""
    if score is None or not math.isfinite(score.mean):
        return Text("–")
    text = MEASURES[measure].show(score.mean)
    if measure not in ("seconds", "memory_mb") and math.isfinite(score.spread):
        text += f" ± {MEASURES[measure].show(score.spread)}"
    ranked = measure not in ("coverage_rare", "coverage_normal")
    return Text(text, ("best" if score.best else "tied" if score.tied else "") if ranked else "")


def best_table(standings: Standings, cells: Sequence[Cell], names: Sequence[str], name: str) -> Table:
    """For every cell: the best by AP, NLL and usual cost, and how far `auto` is from it."""
    rows = []
    for cell in cells:
        found = [Text(title(cell[0])), Text(str(cell[2]))]
        for measure in ("average_precision", "nll", "cost_usual"):
            scores = standings.scores(cell, measure, names)
            best = next((one for one, score in scores.items() if score.best), "–")
            told, ours = MEASURES[measure], scores.get("auto")
            own = "–" if ours is None else told.show(ours.mean)
            tied = ours is not None and (ours.best or ours.tied)
            found += [
                Text(best),
                Text(told.show(scores[best].mean) if best in scores else "–"),
                Text(own, "tied" if tied and best != "auto" else "best" if tied else ""),
            ]
        rows.append(tuple(found))
    header = (
        "graph",
        "size",
        "most found",
        "AP",
        "auto",
        "most believed",
        "NLL",
        "auto",
        "cheapest",
        "cost 50/5/1",
        "auto",
    )
    note = "Who is first in each cell, and auto's number beside it: bold where it is the first, ⁼ where a paired test over the seeds cannot tell it from the first."
    return Table(name, "Who wins where", header, tuple(rows), (note,), 1)


def probabilistic() -> list[str]:
    """The competitors that give probabilities."""
    return [name for name, one in competitors().items() if one.family != "sets"]
