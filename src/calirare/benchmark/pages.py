"""Everything a run gives to read: Markdown, LaTeX, CSV, one HTML page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from calirare.benchmark.comparison import comparison_overview, comparison_table, pairs
from calirare.benchmark.formats import Table, render, to_csv, to_latex, to_markdown
from calirare.benchmark.grid import Entry, GridTask
from calirare.benchmark.paper import TableName
from calirare.benchmark.provenance import versions
from calirare.benchmark.runner import Results
from calirare.benchmark.standings import Standings
from calirare.benchmark.store import Row
from calirare.benchmark.tables import (
    CALIBRATION_METRICS,
    CLASSIFICATION_METRICS,
    RANK_NOTE,
    budgets_of,
    cell_table,
    overview_table,
    statistics_table,
)
from calirare.data.storage.archive import write_atomically
from calirare.metrics.registry import METRICS

_TITLES: dict[TableName, str] = {
    "calibration": "Confidence calibration (the paper's Table 2)",
    "classification": "Finding the rare class (the paper's Table 3)",
}
_METRICS: dict[TableName, tuple[str, ...]] = {
    "calibration": CALIBRATION_METRICS,
    "classification": CLASSIFICATION_METRICS,
}
_CSV_HEADER = (
    "dataset labels_per_class entry trains_on calibrates_on metric mean spread num_seeds best tied "
    "paper_method published difference"
).split()


@dataclass(frozen=True)
class Section:
    """One of the paper's tables: its scores and its tables of text."""

    name: TableName
    standings: Standings
    tables: tuple[Table, ...]
    csv: str


def make_section(results: Results, name: TableName, entries: Sequence[Entry]) -> Section:
    """The tables of one of the paper's tables, from all rows."""
    metrics = _METRICS[name]
    standings = Standings.of(results.rows, GridTask.COLUMNS, METRICS, map(str, entries))
    budgets = budgets_of(results.rows)
    tables = [overview_table(standings, metrics, name)]
    tables += filter(None, [comparison_overview(standings, name, results.grid.datasets)])
    for source in results.grid.datasets:
        for cell in [cell for cell in standings.cells if cell.graph == source.name]:
            title = f"{source.title}, {cell.size} labels per class"
            tables.append(cell_table(standings, cell, title, metrics, budgets, name))
        tables += filter(None, [comparison_table(standings, name, source)])
    return Section(name, standings, tuple(tables), _csv(results, standings, name, metrics))


def _csv(results: Results, standings: Standings, name: TableName, metrics: Sequence[str]) -> str:
    budgets = budgets_of(results.rows)
    published = {
        (pair.cell, pair.entry, pair.metric): pair
        for pair in pairs(standings, name, [source.name for source in results.grid.datasets])
    }
    rows = []
    for cell in standings.cells:
        columns = {metric: standings.scores(cell, metric) for metric in metrics}
        for entry in standings.names:
            for metric, score in ((metric, found[entry]) for metric, found in columns.items() if entry in found):
                scale = METRICS[metric].scale
                pair = published.get((cell, entry, metric))
                beside = (pair.paper_method, pair.published, pair.difference) if pair else (None, None, None)
                numbers = (score.mean * scale, score.spread * scale, score.num_seeds, int(score.best), int(score.tied))
                rows.append((cell.graph, cell.size, entry, *budgets[entry], metric, *numbers, *beside))
    return to_csv(_CSV_HEADER, rows)


def write_pages(
    results: Results, folder: str | Path, sections: Sequence[Section], command: str, *, docs: str | Path | None = None
) -> list[Path]:
    """Write every table under `folder`, and the Markdown page to `docs` as well; gives the paths.

    The bytes depend on the rows' metrics alone, not on when, how fast or in how many goes they were computed;
    `costs.csv`, which holds seconds and memory, is the exception.
    """
    folder = Path(folder)
    statistics = statistics_table(results.grid.datasets)
    page = markdown_page(results, statistics, sections, command)
    contents = {
        folder / "results.md": page,
        folder / "index.html": html_page(results, statistics, sections, command),
        folder / "statistics.tex": to_latex(statistics),
        folder / "statistics.csv": to_csv(statistics.header, [[cell.text for cell in row] for row in statistics.rows]),
    }
    for section in sections:
        contents[folder / f"{section.name}.tex"] = "\n".join(to_latex(table) for table in section.tables)
        contents[folder / f"{section.name}.csv"] = section.csv
    if docs is not None:
        contents[Path(docs)] = page
    contents[folder / "costs.csv"] = _costs(results)
    for path, text in contents.items():
        with write_atomically(path) as stream:
            stream.write(text.encode())
    return list(contents)


def _costs(results: Results) -> str:
    """Mean seconds and largest memory of each entry on each graph. A shared detector counts for each that shares it."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in results.rows:
        found.setdefault((row["dataset"], row["entry"]), []).append(row)
    table = [
        (
            *key,
            sum(row["train_seconds"] for row in rows) / len(rows),
            sum(row["calibrate_seconds"] for row in rows) / len(rows),
            max(row["peak_memory_mb"] for row in rows),
            len(rows),
        )
        for key, rows in found.items()
    ]
    return to_csv(("dataset", "entry", "train_seconds", "calibrate_seconds", "peak_memory_mb", "num_runs"), table)


def _facts(results: Results) -> list[str]:
    grid = results.grid
    labels = ", ".join(str(count) for count in grid.labels)
    seeds = "Seed: 0" if grid.seeds == 1 else f"Seeds: 0…{grid.seeds - 1}"
    protocols = sorted({source.protocol for source in grid.datasets})
    facts = [
        f"Graphs: {', '.join(source.title for source in grid.datasets)}. Labels per class: {labels}. "
        f"{seeds}; a seed draws the labels and starts the training. "
        f"Protocol: {', '.join(protocols)}.",
        "Everything is measured on the test nodes, which no method reads.",
        RANK_NOTE,
        f"Computed with {_libraries(results)}.",
    ]
    missing = len(grid.keys()) - len(results.rows)
    if missing:
        facts.append(f"{missing} runs are missing: they failed, and their cells show fewer seeds or a dash.")
    return facts


def _libraries(results: Results) -> str:
    """What made most of the rows; then what made the others, and whose they are."""
    made: dict[str, list[str]] = {}
    for row in results.rows:
        made.setdefault(row["versions"], []).append(row["entry"])
    told: list[str] = []
    for one in sorted(made, key=lambda one: (-len(made[one]), one)) or [json.dumps(versions())]:
        words = ", ".join(f"{name} {version}" for name, version in json.loads(one).items())
        told.append(f"{', '.join(sorted(set(made[one])))} with {words}" if told else words)
    return "; ".join(told)


def markdown_page(results: Results, statistics: Table, sections: Sequence[Section], command: str) -> str:
    """The page for the documentation."""
    lines = ["# Results", "", "Made by one command, which also goes on with a run that was interrupted:", ""]
    lines += ["```sh", command, "```", "", *(f"{fact}\n" for fact in _facts(results))]
    lines += [to_markdown(statistics, level=2)]
    for section in sections:
        lines += [f"## {_TITLES[section.name]}", "", *(to_markdown(table) for table in section.tables)]
    return "\n".join(lines).rstrip("\n") + "\n"


def html_page(results: Results, statistics: Table, sections: Sequence[Section], command: str) -> str:
    """One page that needs nothing else."""
    return render(
        "page.html", statistics=statistics, sections=sections, titles=_TITLES, command=command, facts=_facts(results)
    )
