"""The page `docs/leaderboard.md`, from rows alone: the same rows give the same bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from calirare.benchmark.competitors import competitors
from calirare.benchmark.formats import to_markdown
from calirare.benchmark.leaderboard.cells import code as current_code
from calirare.benchmark.leaderboard.graphs import ARENAS, title
from calirare.benchmark.leaderboard.measures import MEASURES, PRICES
from calirare.benchmark.leaderboard.pictures import critical_difference_picture, found_believed_seconds
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.leaderboard.rows import newest
from calirare.benchmark.leaderboard.summary import MAIN, in_a_minute
from calirare.benchmark.leaderboard.tables import (
    CHAMPION,
    FULL,
    SETS,
    best_table,
    cell_table,
    core,
    rank_table,
    sets_table,
    standings_of,
)
from calirare.benchmark.standings import Standings, mean_ranks
from calirare.benchmark.store import Row, RowStore
from calirare.data.storage.archive import write_atomically
from calirare.errors import DataError
from calirare.plots.style import save

_INTRO = """# Leaderboard

Who finds rare nodes, whose probabilities can be believed, and what does it cost? Every competitor reads the same labels
and nothing else; hidden labels do not reach it. Everything is measured on nodes that nobody read.

Made from the stored runs by one command, which computes what is missing first:

```sh
{command}
```

By default it computes what an hour on two cores can, and says before how long that will take: with a tenth labelled everybody
but {slow}; {usual} rare labels, and the protocols after them, with a core of {core}. With `--all` also those, {more}
rare labels, and the paper's protocol.
"""
_READING = """## How to read it

* **Found**: average precision (AP), ROC-AUC, and the share of the rare nodes among the 1% or 5% with the highest scores.
* **Believed**: negative log-likelihood (NLL), Brier score, smooth calibration error and class-wise ACE of P(rare).
* **Cost**: mean over the test nodes at the cheapest action by P(rare), for three price lists (a miss / an alarm / a
  review): {prices}. Wrong probabilities choose wrong actions.
* **Seconds**: processor time on one core, fit and score; what several share (columns, a trained network) counts for each.
  The forest is grown without scikit-learn's work around each tree, so it takes less than scikit-learn's own.
* Trees and logistic regression read three sets of columns: *attributes*, the node's own; *propagated*, [x, mean over
  neighbours, over two hops]; *recipe*, the columns of `calirare.features`. More than 1,000 words are first reduced to
  128 directions; since code 0cafe9b14118 the forest reads the words themselves, which suits it better. *Raw*, or
  calibrated in five folds by a sigmoid or isotonically.
* Methods that calibrate on held-out labels take a quarter of the labels for it, unless the protocol has validation
  labels. Networks `as trained` and trees `raw` are not calibrated. Where labels do not show how rare the class is,
  the share is told to all, and those without an argument for it are shifted by its log odds.
* Mean ± standard deviation over seeds. Bold: the best of its column; ⁼: a paired t-test over the seeds (5%, not
  corrected) cannot tell it from the best. Three to five seeds make a weak test: ranks over graphs say more.

Every network reads attributes, not the columns of edges; where nodes have none, a constant stands in for them.

A competitor is one file in `src/calirare/benchmark/competitors`, found by itself; a graph of yours joins with
`calirare datasets add`. PyGOD's detectors are missing: the package could not be installed where this was computed.
GADBench's own numbers for Tolokers and Reddit stand beside ours as soon as a copy of its tables is at hand.
"""


def write_page(store: str | Path, docs: str | Path, command: str) -> list[Path]:
    """Write the page to `docs` (a `.md` path) and its pictures beside it in `images`."""
    rows = newest(RowStore(store).read())
    standings = standings_of(rows)
    if not standings.cells:
        raise DataError(f"{store} holds no finished runs; run the leaderboard first.")
    page = Path(docs)
    pictures = write_pictures(standings, page.parent / "images")
    text = markdown(standings, rows, command, [path.name for path in pictures if path.suffix == ".svg"])
    with write_atomically(page) as stream:
        stream.write(text.encode())
    return [page, *pictures]


def write_pictures(standings: Standings, folder: Path) -> list[Path]:
    """The picture of a minute for each of the two main protocols, and ranks with their critical difference."""
    paths = []
    for protocol in MAIN:
        part = standings.of_protocol(protocol)
        if not part.complete("nll", core()):
            continue
        words = PROTOCOLS[protocol].title
        figure = found_believed_seconds(part, core(), f"{words}: found × believed × seconds")
        paths += save(figure, folder / f"leaderboard-{protocol}", ("svg",))
        for measure in ("nll", "average_precision"):
            ranks = mean_ranks(part, measure)
            if len(ranks.ranks) > 1:
                figure = critical_difference_picture(ranks, words)
                paths += save(figure, folder / f"leaderboard-{protocol}-{measure.replace('_', '-')}", ("svg",))
    return paths


def markdown(standings: Standings, rows: Sequence[Row], command: str, pictures: Sequence[str]) -> str:
    """The page."""
    minute = [name for name in pictures if name == "leaderboard-tenth.svg"]
    sections = [
        _INTRO.format(command=command, **_breadth()),
        _extent(standings, rows),
        in_a_minute(standings, _shown(minute)),
    ]
    for protocol in PROTOCOLS.values():
        part = standings.of_protocol(protocol.name)
        if not part.cells:
            continue
        sections.append(f"## {protocol.title}\n\n{protocol.sentence}\n")
        sections.append(
            _shown([one for one in pictures if one.startswith(f"leaderboard-{protocol.name}") and one not in minute])
        )
        sections.append(to_markdown(rank_table(part, f"{protocol.name}-ranks")))
        sections.append(to_markdown(best_table(part, f"{protocol.name}-best")))
    sections += [_sets(standings), _truth(standings), _READING.format(prices=_price_lists()), _facts(standings, rows)]
    sections.append(_every_graph(standings))
    return "\n".join(one for one in sections if one).rstrip("\n") + "\n"


def _breadth() -> dict[str, str]:
    """Who is slow, as groups where all of a group are, how many are the core, and with how many rare labels they run."""
    known = competitors().values()
    quick = {one.group for one in known if not one.slow}
    slow = dict.fromkeys(one.name if one.group in quick else one.group for one in known if one.slow)
    few = PROTOCOLS["few"]
    more = sorted(set(few.variants) - set(few.sizes(full=False)))
    return {
        "slow": ", ".join(f"`{name}`" for name in slow),
        "core": str(sum(one.core for one in known)),
        "usual": " and ".join(map(str, few.sizes(full=False))),
        "more": " and ".join(map(str, more)),
    }


def _shown(pictures: Sequence[str]) -> str:
    return "\n".join(f"![{_alt(name)}](images/{name})\n" for name in pictures)


def _price_lists() -> str:
    """
    >>> _price_lists()
    '10/5/1, 50/5/1 and 500/5/2'
    """
    *first, last = (MEASURES[name].head.removeprefix("cost ") for name in PRICES)
    return f"{', '.join(first)} and {last}"


def _alt(name: str) -> str:
    """What a picture shows, for those who cannot see it.

    >>> _alt("leaderboard-few-nll.svg"), _alt("leaderboard-few.svg")
    ('Mean ranks by nll, few', 'Found, believed and seconds, few')
    """
    _, protocol, *measure = name.removesuffix(".svg").split("-")
    return f"Mean ranks by {' '.join(measure)}, {protocol}" if measure else f"Found, believed and seconds, {protocol}"


def _extent(standings: Standings, rows: Sequence[Row]) -> str:
    found = {cell.graph for cell in standings.cells}
    graphs = [*(name for name in ARENAS if name in found), *sorted(found - set(ARENAS))]
    runs = [row for row in rows if "nll" in row or "set_size" in row]
    spent = (
        f", {sum(row['spent'] for row in runs):,.0f} processor seconds" if all("spent" in row for row in runs) else ""
    )
    return (
        f"Graphs: {', '.join(title(name) for name in graphs)}. Draws of labels: {_draws(standings)}. "
        f"Competitors: {len({row['competitor'] for row in rows})}. Runs: {len(runs)}{spent}.\n"
    )


def _draws(standings: Standings) -> str:
    """How many every protocol has, the protocols with as many together."""
    told: dict[int, list[str]] = {}
    for protocol, meaning in PROTOCOLS.items():
        seeds = [len(one) for found in standings.of_protocol(protocol).values.values() for one in found.values()]
        if seeds:
            told.setdefault(max(seeds), []).append(meaning.title)
    return "; ".join(f"{number} ({', '.join(titles)})" for number, titles in told.items())


def _facts(standings: Standings, rows: Sequence[Row]) -> str:
    """Who made the rows, and what is missing."""
    code = sorted({str(row.get("code", "?")) for row in rows})
    paragraphs = ["## What made the rows", _made_by(rows), f"Code: {', '.join(code)}.", _not_computed(standings, rows)]
    if code != [current_code()]:
        paragraphs.append(
            "The code has changed since these runs; the command computes them again unless told `--any-code`."
        )
    paragraphs.append(_broken(rows))
    return "\n\n".join(one for one in paragraphs if one) + "\n"


def _made_by(rows: Sequence[Row]) -> str:
    """How many rows each set of versions made, the most first."""
    made = Counter(tuple(sorted(row["versions"].items())) for row in rows)
    return "\n".join(
        f"* {count} rows: {', '.join(f'{name} {version}' for name, version in one)}"
        for one, count in sorted(made.items(), key=lambda item: (-item[1], item[0]))
    )


def _not_computed(standings: Standings, rows: Sequence[Row]) -> str:
    """Competitors without a row, or with fewer than others, and protocols without one."""
    there = {row["competitor"] for row in rows}
    tenth = standings.of_protocol("tenth").values.values()
    most = sum(max(map(len, found.values())) for found in tenth)
    counts = {name: sum(len(found.get(name, ())) for found in tenth) for name in competitors()}
    missing = [name for name in competitors() if name not in there]
    partly = [f"{name} ({count} of {most})" for name, count in counts.items() if name in there and 0 < count < most]
    absent = [protocol.title for protocol in PROTOCOLS.values() if not standings.of_protocol(protocol.name).cells]
    lacks = {
        f"{len(missing)} of {len(competitors())} competitors": missing, "rows with a tenth labelled": partly, "protocols": absent,
    }  # fmt: skip
    told = "; ".join(f"{words}: {', '.join(names)}" for words, names in lacks.items() if names)
    return f"Not computed: {told}. `calirare leaderboard --all` computes them." if told else ""


def _broken(rows: Sequence[Row]) -> str:
    """Who failed where, and why."""
    failed = [row for row in rows if "failed" in row]
    if not failed:
        return ""
    who = sorted({f"{row['competitor']} on {title(row['graph'])} ({row['failed'][:80]})" for row in failed})
    told = f"{'; '.join(who[:6])}{' …' if len(who) > 6 else ''}"
    return f"{len(failed)} run{'s' * (len(failed) > 1)} failed, left out here and tried again by the command: {told}."


def _sets(standings: Standings) -> str:
    tenth = standings.of_protocol("tenth")
    part = tenth.within(cell for cell, found in tenth.values.items() if any(map(_is_set, found)))
    if not part.cells:
        return ""
    names = [name for name in competitors() if _is_set(name) or name in (CHAMPION, "our gcn")]
    intro = (
        "## Sets at 90%, class by class\n\nA tenth labelled. Coverage should be 90 for both classes; then smaller sets are "
        "better. `auto` and `our gcn` take their thresholds from left-out labels, and a set never contradicts P(rare) beside it, "
        "which covers normal nodes more often than asked; the others set a quarter of the labels aside. A class with too few labels "
        "is put into every set. Smallest sets first; *least*: the graph on which the rare class is covered least.\n"
    )
    return "\n".join([intro, to_markdown(sets_table(part, names)), *_cells(part, SETS, names, "sets")])


def _is_set(name: str) -> bool:
    return competitors()[name].family == "sets"


def _truth(standings: Standings) -> str:
    both = standings.of_protocol("tenth", "few")
    part = both.within(cell for cell in both.cells if both.scores(cell, "truth_error"))
    if not part.cells:
        return ""
    intro = (
        "## Against the truth\n\nGenerated networks know P(rare) of every node: mean |P − truth| over the test nodes.\n"
    )
    columns = ("truth_error", "nll", "average_precision")
    return "\n".join([intro, *_cells(part, columns, core(), "truth")])


def _every_graph(standings: Standings) -> str:
    names = [name for name in competitors() if not _is_set(name)]
    tables = _cells(standings.of_protocol("tenth"), FULL, names, "tenth")
    return "\n".join(["## Every graph, a tenth labelled", "", *tables])


def _cells(standings: Standings, measures: Sequence[str], names: Sequence[str], level: str) -> list[str]:
    return [to_markdown(cell_table(standings, cell, measures, names, level)) for cell in standings.cells]
