"""The tables of the leaderboard."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from calirare.benchmark.competitors import competitors
from calirare.benchmark.formats import Table, Text
from calirare.benchmark.leaderboard.graphs import title
from calirare.benchmark.leaderboard.measures import MEASURES, Measure
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.leaderboard.standings import Cell, Standings, mean_ranks
from calirare.benchmark.ranking import Score
from calirare.benchmark.tables import MISSING, show

CHAMPION = "auto"
"""The competitor that the page speaks of: the default detector."""
RANKED = ("average_precision", "nll", "brier", "smooth_ece", "cost_usual")
OVERALL = ("average_precision", "roc_auc", "recall_5", "nll", "brier", "smooth_ece", "cost_usual", "seconds")
FULL = tuple(
    name
    for name in MEASURES
    if name not in ("coverage_rare", "coverage_normal", "set_size", "one_class", "truth_error", "memory_mb")
)
SETS = ("coverage_rare", "coverage_normal", "set_size", "one_class", "seconds")
_FIRST = {"most found": "average_precision", "most believed": "nll", "cheapest": "cost_usual"}


def rank_table(standings: Standings, cells: Sequence[Cell], names: Sequence[str], name: str, head: str) -> Table:
    """Mean ranks over graphs, and the means themselves, best by NLL first."""
    ranks = {measure: mean_ranks(standings, cells, measure, names) for measure in RANKED}
    listed = list(ranks["nll"].ranks)
    columns = [
        *(_column(ranks[measure].ranks, listed, min, "{:.1f}".format) for measure in RANKED),
        *(means_column(standings, cells, MEASURES[measure], listed, listed) for measure in OVERALL),
    ]
    rows = tuple((Text(one), *(column[place] for column in columns)) for place, one in enumerate(listed))
    graphs = len({cell[0] for cell in cells})
    note = (
        f"Mean ranks over {graphs} graph{'s' * (graphs != 1)}, 1 the best of {len(listed)}; ranks that differ by less than "
        f"{ranks['nll'].critical:.1f} cannot be told apart (Nemenyi, 5%). Then the means over all cells. Bold: the best of "
        "its column."
    )
    heads = [f"rank {MEASURES[measure].head}" for measure in RANKED]
    return Table(name, head, ("competitor", *heads, *(MEASURES[measure].head for measure in OVERALL)), rows, (note,))


def means_column(
    standings: Standings, cells: Sequence[Cell], measure: Measure, names: Sequence[str], there: Sequence[str]
) -> list[Text]:
    """Means over cells, the best marked; a dash for names that are not `there`."""
    values = {name: standings.overall(cells, measure.name, name) for name in there}
    return _column(values, names, max if measure.higher else min, measure.show)


def _column(
    values: dict[str, float], names: Sequence[str], best_of: Callable[..., float], show: Callable[[float], str]
) -> list[Text]:
    """The values of these competitors, the best marked; a dash where there is none."""
    best = best_of((value for value in values.values() if math.isfinite(value)), default=math.nan)
    found = [values.get(name, math.nan) for name in names]
    return [Text(show(value) if math.isfinite(value) else MISSING, "best" if value == best else "") for value in found]


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
    rows = [(Text(name), *(_shown(columns[measure].get(name), measure) for measure in measures)) for name in listed]
    variants = len(PROTOCOLS[protocol].variants) > 1
    words = f"{title(graph)}, {size}" if variants else title(graph)
    return Table(f"{level}-{graph}-{size}", words, ("competitor", *(MEASURES[m].head for m in measures)), tuple(rows))


def _shown(score: Score | None, measure: str) -> Text:
    """Time and memory without their spread; coverage has a goal, and no best."""
    cell = show(score, MEASURES[measure], spread=measure not in ("seconds", "memory_mb"))
    return Text(cell.text) if measure in ("coverage_rare", "coverage_normal") else cell


def best_table(standings: Standings, cells: Sequence[Cell], names: Sequence[str], name: str) -> Table:
    """For every cell: the best by AP, NLL and usual cost, and how far `auto` is from it."""
    rows = []
    for cell in cells:
        found = [Text(title(cell[0])), Text(str(cell[2]))]
        for measure in _FIRST.values():
            scores = standings.scores(cell, measure, names)
            best = next((one for one, score in scores.items() if score.best), MISSING)
            told, ours = MEASURES[measure], scores.get(CHAMPION)
            own = MISSING if ours is None else told.show(ours.mean)
            tied = ours is not None and (ours.best or ours.tied)
            found += [
                Text(best),
                Text(told.show(scores[best].mean) if best in scores else MISSING),
                Text(own, "tied" if tied and best != CHAMPION else "best" if tied else ""),
            ]
        rows.append(tuple(found))
    heads = [head for words, measure in _FIRST.items() for head in (words, MEASURES[measure].head, CHAMPION)]
    header = ("graph", "size", *heads)
    note = "Who is first in each cell, and auto's number beside it: bold where it is the first, ⁼ where a paired test over the seeds cannot tell it from the first."
    return Table(name, "Who wins where", header, tuple(rows), (note,), 1)


def sets_table(standings: Standings, cells: Sequence[Cell], names: Sequence[str]) -> Table:
    """Coverage and size of every method's sets over all graphs, and the graph on which the rare class is covered least."""
    listed = sorted(
        standings.complete(cells, names, "set_size"), key=lambda name: standings.overall(cells, "set_size", name)
    )
    rows = []
    for name in listed:
        covered = {cell: standings.mean(cell, "coverage_rare", name) for cell in cells}
        worst = min(cells, key=lambda cell: covered[cell])
        shown = [MEASURES[measure].show(standings.overall(cells, measure, name)) for measure in SETS]
        least = f"{MEASURES['coverage_rare'].show(covered[worst])} ({title(worst[0])})"
        rows.append((Text(name), Text(shown[0]), Text(least), *(Text(text) for text in shown[1:])))
    heads = [MEASURES[measure].head for measure in SETS]
    return Table("sets", "Over all graphs", ("competitor", heads[0], "least", *heads[1:]), tuple(rows))


def names_of(standings: Standings, cells: Sequence[Cell]) -> list[str]:
    """Competitors that give probabilities and have rows in some of the cells, in the registry's order."""
    found = {name for cell in cells for name in standings.values[cell]}
    return [name for name in probabilistic() if name in found]


def probabilistic() -> list[str]:
    """The competitors that give probabilities."""
    return [name for name, one in competitors().items() if one.family != "sets"]
