"""What the leaderboard shows, for a reader who has a minute: a small table, and sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from calirare.benchmark.competitors import competitors
from calirare.benchmark.formats import Table, Text, to_markdown
from calirare.benchmark.leaderboard.graphs import title
from calirare.benchmark.leaderboard.measures import MEASURES, PRICES
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.leaderboard.tables import CHAMPION, overall_column
from calirare.benchmark.standings import Standings, mean_ranks

MAIN = ("tenth", "few")
"""The protocols that the summary speaks of."""
_RANKED = ("nll", "brier", "average_precision")
_SHOWN = ("average_precision", "nll", "cost_usual")
_FAMILIES = {
    "ours": "ours", "tables": "trees and logistic regression", "networks": "networks as trained",
    "calibrators": "a GCN, calibrated",
}  # fmt: skip


def in_a_minute(standings: Standings, picture: str) -> str:
    """The first section of the page; `picture`: Markdown of the picture, or nothing."""
    beaten = (("nll", "Believed more"), ("average_precision", "Finds more"))
    sentences = [*_ranks(standings), *_firsts(standings), *_costs(standings), *_means(standings)]
    sentences += [_beyond_doubt(standings, measure, words) for measure, words in beaten]
    return "\n".join(part for part in (_table(standings), picture, *sentences) if part) + "\n"


def _table(standings: Standings) -> str:
    """The best of every family by mean rank in NLL, and its two best that take part in both protocols; the means of both."""
    parts = {protocol: standings.of_protocol(protocol) for protocol in MAIN}
    tenth, few = parts.values()
    ranks = mean_ranks(tenth, "nll").ranks
    both = few.complete("nll", list(ranks))
    listed: list[str] = []
    for family in _FAMILIES:
        own = [name for name in ranks if competitors()[name].family == family]
        listed += dict.fromkeys([*own[:1], *[name for name in own if name in both][:2]])
    if not listed:
        return "## In a minute\n"
    columns, heads = [], []
    for protocol, part in parts.items():
        there = part.complete("nll", listed)
        for measure in _SHOWN:
            columns.append(overall_column(part, measure, listed, there))
            heads.append(f"{MEASURES[measure].head}, {PROTOCOLS[protocol].title.lower()}")
    columns.append(overall_column(tenth, "seconds", listed, listed))
    rows = tuple(
        (Text(name), Text(_FAMILIES[competitors()[name].family]), *found)
        for name, *found in zip(listed, *columns, strict=True)
    )
    note = (
        "Means over all graphs: found (AP, higher is better), believed (NLL, lower is better), cost of acting on it (lower), and "
        "processor seconds of a fit. Of each family the best by mean rank in NLL with a tenth labelled, and the two best that took part with few labels too; bold: the best shown."
    )
    header = ("competitor", "family", *heads, "seconds")
    return to_markdown(Table("minute", "In a minute", header, rows, (note,), 2), level=2)


def _ranks(standings: Standings) -> list[str]:
    lines = []
    for protocol in MAIN:
        part = standings.of_protocol(protocol)
        told = []
        for measure, ranks in {measure: mean_ranks(part, measure).ranks for measure in _RANKED}.items():
            if CHAMPION in ranks:
                place, first = list(ranks).index(CHAMPION) + 1, next(iter(ranks))
                beaten = "" if first == CHAMPION else f"; first: {first}, {ranks[first]:.1f}"
                told.append(
                    f"number {place} of {len(ranks)} in {MEASURES[measure].head} ({ranks[CHAMPION]:.1f}{beaten})"
                )
        if told:
            lines.append(f"* {PROTOCOLS[protocol].title}: by mean rank over graphs `{CHAMPION}` is {', '.join(told)}.")
    return lines


def _firsts(standings: Standings) -> list[str]:
    """On which graphs somebody else has the better mean with a tenth labelled, whether or not a test can tell."""
    lines = []
    for measure in (MEASURES["average_precision"], MEASURES["nll"]):
        cells = [cell for cell, there in standings.of_protocol(MAIN[0]).values.items() if CHAMPION in there]
        found = {cell: standings.scores(cell, measure.name) for cell in cells}
        others = [
            f"{name} on {title(cell.graph)} ({measure.show(score.mean)} against {measure.show(scores[CHAMPION].mean)})"
            for cell, scores in found.items()
            for name, score in scores.items()
            if CHAMPION in scores and score.best and not scores[CHAMPION].best
        ]
        if cells:
            lines.append(
                f"* {PROTOCOLS[MAIN[0]].title}, {measure.head}: `{CHAMPION}` has the best mean on {len(cells) - len(others)} of "
                f"{len(cells)} graph{'s' * (len(cells) != 1)}{'; elsewhere ' + ', '.join(others) if others else ''}."
            )
    return lines


def _costs(standings: Standings) -> list[str]:
    others = [name for name, one in competitors().items() if name == CHAMPION or one.family != "ours"]
    everybody = _lowest(standings, standings.names)
    if not everybody:
        return []
    return [
        f"* Cells of cost (graph × size × three price lists) in which `{CHAMPION}` is lowest, and lowest or level with it in a paired "
        f"test over the seeds: {everybody}.",
        f"* The same beside all but our own other detectors, which are members of `{CHAMPION}` or kin to them: {_lowest(standings, others)}.",
    ]


def _lowest(standings: Standings, rivals: Sequence[str]) -> str:
    """In how many cells of cost the champion is lowest among these, by protocol."""
    told = []
    for protocol in PROTOCOLS:
        part = standings.of_protocol(protocol)
        part = part.within(cell for cell, there in part.values.items() if CHAMPION in there)
        counts = [part.wins(measure, rivals)[CHAMPION] for measure in PRICES]
        (won, tied), of = map(sum, zip(*counts, strict=True)), len(counts) * len(part.cells)
        if of:
            told.append(
                f"{PROTOCOLS[protocol].title} {won} and {won + tied} of {of} ({won / of:.0%}, {(won + tied) / of:.0%})"
            )
    return "; ".join(told)


def _means(standings: Standings) -> list[str]:
    """Where means say otherwise than ranks: a few cells in which the champion is far off."""
    lines = []
    for protocol in MAIN:
        part = standings.of_protocol(protocol)
        for measure in (MEASURES[name] for name in ("average_precision", "nll", "brier")):
            names = part.complete(measure.name)
            if CHAMPION not in names:
                continue
            overall = {name: part.overall(measure.name, name) for name in names}
            best = (max if measure.higher_is_better else min)(overall, key=lambda name: overall[name])
            if best == CHAMPION:
                continue
            both = {cell: [part.mean(cell, measure.name, name) for name in (CHAMPION, best)] for cell in part.cells}
            worst = max(both, key=lambda cell: abs(both[cell][0] - both[cell][1]))
            numbers = [measure.show(value) for value in both[worst]]
            lines.append(
                f"* {PROTOCOLS[protocol].title}, {measure.head}: by the mean over cells instead of ranks {best} is better, "
                f"{measure.show(overall[best])} against {measure.show(overall[CHAMPION])}; most of it on {title(worst.graph)} with "
                f"size {worst.size}: `{CHAMPION}` {numbers[0]}, {best} {numbers[1]}."
            )
    return lines


def _beyond_doubt(standings: Standings, measure: str, words: str) -> str:
    """Where somebody else is better than the champion, and a paired test can tell."""
    found, told = [], MEASURES[measure]
    for cell in standings.of_protocol(*MAIN).cells:
        scores = standings.scores(cell, measure)
        own, best = scores.get(CHAMPION), next((name for name, score in scores.items() if score.best), None)
        if own is not None and best is not None and not (own.best or own.tied):
            size = f" with {cell.size} rare labels" if cell.protocol == "few" else ""
            numbers = f"{told.show(scores[best].mean)} against {told.show(own.mean)}"
            found.append(f"{best} on {title(cell.graph)}{size} ({numbers})")
    return f"* {words} than `{CHAMPION}`, by {told.head} and beyond a paired test: {'; '.join(found) or 'nobody'}."
