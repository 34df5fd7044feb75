"""The tables of the leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from calirare.benchmark.competitors import competitors
from calirare.benchmark.formats import Table, Text
from calirare.benchmark.leaderboard.cells import CellTask
from calirare.benchmark.leaderboard.graphs import title
from calirare.benchmark.leaderboard.measures import MEASURES, Measure
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.standings import Cell, Score, Standings, mean_ranks
from calirare.benchmark.store import Row
from calirare.benchmark.tables import MISSING, means_column, show

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
_RANK = Measure("rank", "rank", decimals=1)
_FIRST = {"most found": "average_precision", "most believed": "nll", "cheapest": "cost_usual"}


def standings_of(rows: Iterable[Row]) -> Standings:
    """The standings of the leaderboard, cells sorted.

    In each cell the seeds that all of the core have, so that nobody of a run that was stopped is judged by more draws than
    others.
    """
    found = Standings.of(rows, CellTask.COLUMNS, MEASURES, competitors())
    values = {}
    for cell, by_name in sorted(found.values.items()):
        core = [set(by_seed) for name, by_seed in by_name.items() if competitors()[name].core]
        kept = set.intersection(*core) if core else set()
        left = {
            name: {seed: row for seed, row in sorted(by_seed.items()) if not kept or seed in kept}
            for name, by_seed in sorted(by_name.items())
        }
        values[cell] = {name: by_seed for name, by_seed in left.items() if by_seed}
    return replace(found, values=values)


def rank_table(standings: Standings, name: str) -> Table:
    """Mean ranks over graphs, and the means themselves, best by NLL first."""
    ranks = {measure: mean_ranks(standings, measure) for measure in RANKED}
    listed = list(ranks["nll"].ranks)
    columns = [
        *(means_column(ranks[measure].ranks, listed, _RANK) for measure in RANKED),
        *(overall_column(standings, measure, listed, listed) for measure in OVERALL),
    ]
    rows = tuple((Text(one), *found) for one, *found in zip(listed, *columns, strict=True))
    graphs = len({cell.graph for cell in standings.cells})
    note = (
        f"Mean ranks over {graphs} graph{'s' * (graphs != 1)}, 1 the best of {len(listed)}; ranks that differ by less than "
        f"{ranks['nll'].critical:.1f} cannot be told apart (Nemenyi, 5%). Then the means over all cells. Bold: the best of "
        "its column."
    )
    heads = [f"rank {MEASURES[measure].head}" for measure in RANKED]
    header = ("competitor", *heads, *(MEASURES[measure].head for measure in OVERALL))
    return Table(name, "Over all graphs", header, rows, (note,))


def overall_column(standings: Standings, measure: str, names: Sequence[str], there: Sequence[str]) -> list[Text]:
    """Means over cells, the best marked; a dash for names that are not `there`."""
    means = {name: standings.overall(measure, name) for name in there}
    return means_column(means, names, MEASURES[measure])


def cell_table(standings: Standings, cell: Cell, measures: Sequence[str], names: Sequence[str], level: str) -> Table:
    """All competitors in one cell: mean ± spread over seeds."""
    columns = {measure: standings.scores(cell, measure, names) for measure in measures}
    listed = [name for name in names if any(name in column for column in columns.values())]
    sign = -1 if MEASURES[measures[0]].higher_is_better else 1
    listed.sort(key=lambda name: sign * standings.mean(cell, measures[0], name))
    rows = [(Text(name), *(_shown(columns[measure].get(name), measure) for measure in measures)) for name in listed]
    words = title(cell.graph) + f", {cell.size}" * (len(PROTOCOLS[cell.protocol].variants) > 1)
    header = ("competitor", *(MEASURES[measure].head for measure in measures))
    return Table(f"{level}-{cell.graph}-{cell.size}", words, header, tuple(rows))


def _shown(score: Score | None, measure: str) -> Text:
    """Time and memory without their spread; coverage has a goal, and no best."""
    cell = show(score, MEASURES[measure], spread=measure not in ("seconds", "memory_mb"))
    return Text(cell.text) if measure in ("coverage_rare", "coverage_normal") else cell


def best_table(standings: Standings, name: str) -> Table:
    """For every cell: the best by AP, NLL and usual cost, and how far `auto` is from it."""
    rows = []
    for cell in standings.cells:
        found = [Text(title(cell.graph)), Text(str(cell.size))]
        for measure in _FIRST.values():
            scores = standings.scores(cell, measure)
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


def sets_table(standings: Standings, names: Sequence[str]) -> Table:
    """Coverage and size of every method's sets over all graphs, and the graph on which the rare class is covered least."""
    listed = sorted(standings.complete("set_size", names), key=lambda name: standings.overall("set_size", name))
    rows = []
    for name in listed:
        covered = {cell: standings.mean(cell, "coverage_rare", name) for cell in standings.cells}
        worst = min(covered, key=lambda cell: covered[cell])
        shown = [MEASURES[measure].show(standings.overall(measure, name)) for measure in SETS]
        least = f"{MEASURES['coverage_rare'].show(covered[worst])} ({title(worst.graph)})"
        rows.append((Text(name), Text(shown[0]), Text(least), *(Text(text) for text in shown[1:])))
    heads = [MEASURES[measure].head for measure in SETS]
    return Table("sets", "Over all graphs", ("competitor", heads[0], "least", *heads[1:]), tuple(rows))


def core() -> list[str]:
    """The competitors that take part in every protocol."""
    return [name for name, one in competitors().items() if one.core]
