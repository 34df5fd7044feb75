"""Look at the tables before a model does: columns that give the label away, and labels too few or at odds.

The rules, in one place:

* **leak by presence**: where most nodes share one value of a column (or have none), and of the labelled nodes with
  another value at least `PURE` are rare, at least `FEWEST` of them: a column filled in after the fact. So is one whose
  filled cells belong to labelled nodes, but for 1 - `PURE` of them, and cover half of these, where most nodes have no
  label. Who wrote `pending` as a label has looked at the node too: so many more cells may be filled as labels are such a
  word, where these are fewer than the others.
* **leak by value**: the column alone ranks the labelled nodes with a ROC-AUC above `PERFECT` (or below 1 - `PERFECT`),
  with at least `ENOUGH` labels of both classes.
* **near-constant**: one value for all but `CONSTANT` of the nodes, or of the edges. **duplicate**: correlated by more than
  `SAME` with an earlier column of the same table; of two times the differences may tell the most, so these must be equal.
* **codes**: whole numbers, most of which repeat, under a name such as `port` or `branch`, which are summed up as quantities.
* **spellings**: categories that differ in case or blanks alone.
* **leak by an edge column**: `calirare.data.tables.findings.edges`.
* **leak by neighbours**: `calirare.data.tables.findings.from_labels`.
* **undecided**: `calirare.data.tables.findings.undecided`.
* **contradiction**: `calirare.data.tables.findings.twins`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata

from calirare.data.graph import RareGraph
from calirare.data.tables.cells.kinds import MAX_CATEGORIES, named_as_codes
from calirare.data.tables.cells.spellings import known_spellings
from calirare.data.tables.findings.columns import AuditColumn, audit_columns, joining_columns, labelled_rows
from calirare.data.tables.findings.edges import audit_edges, edge_audit_columns
from calirare.data.tables.findings.finding import PURE, Finding, gives_away, ignore, retype
from calirare.data.tables.findings.from_labels import find_made_from_labels
from calirare.data.tables.findings.read_counts import num_pending, values_counted
from calirare.data.tables.findings.twins import find_contradictions
from calirare.data.tables.findings.undecided import find_undecided
from calirare.data.tables.findings.unlabelled import find_unlabelled

PERFECT = 0.99
ENOUGH = 20
CONSTANT = 0.001
SAME = 0.9999
SAME_TIME = 1 - 1e-10
MOST_COMPARED = 500
"""Columns that are compared with each other; of wider tables only the first."""


@dataclass(frozen=True)
class Audit:
    """What was found, the gravest first."""

    findings: tuple[Finding, ...]

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """Columns that give the label away."""
        return tuple(finding for finding in self.findings if finding.severity == "leak")

    def to_json(self) -> list[dict[str, str]]:
        """Plain data."""
        return [asdict(finding) for finding in self.findings]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Self:
        """The gravest first."""
        order = {"leak": 0, "warning": 1, "note": 2}
        return cls(tuple(sorted(findings, key=lambda finding: order[finding.severity])))


def audit_tables(nodes: Any, edges: Any = None, **options: Any) -> Audit:
    """The audit of tables; arguments as of `read_tables`.

    >>> nodes = {"id": range(200), "x": [k % 7 for k in range(200)], "y": [int(k < 20) for k in range(200)]}
    >>> nodes["closed"] = ["2024-01-01" if k < 20 else None for k in range(200)]
    >>> audit = audit_tables(nodes, {"source": [0], "target": [1]}, label="y", rare=1)
    >>> [finding.column for finding in audit.leaks]
    ['closed']
    """
    from calirare.data.tables.reading import read_tables

    return audit_graph(read_tables(nodes, edges, **options))


def audit_graph(graph: RareGraph) -> Audit:
    """The audit of a graph, from its attributes and labels."""
    known, rare = labelled_rows(graph)
    pending = num_pending(graph)
    found: list[Finding] = [*_labels(graph, rare), *find_undecided(graph), *find_unlabelled(graph)]
    columns = list(audit_columns(graph))
    for column in joining_columns(graph):
        found += _leak(column, known, rare, pending)
    for column in columns:
        found += _leak(column, known, rare, pending)
        found += [*_constants(column), *_codes(column)]
    of_edges = edge_audit_columns(graph.edges)
    for column in of_edges:
        found += [*_constants(column, "edges"), *_codes(column)]
    found += [*_duplicates(columns), *_duplicates(of_edges)]
    found += [*_identifiers(graph), *_spellings(graph), *_infinite(graph)]
    found += find_contradictions(graph)
    found += audit_edges(graph)
    known_leaks = {one.column for one in found if one.severity == "leak"}
    found += [one for one in find_made_from_labels(graph) if one.column not in known_leaks]
    return Audit.of(found)


def find_leaks(graph: RareGraph) -> tuple[str, ...]:
    """Names of the columns that give the label away; of a graph without tables nobody can tell."""
    if graph.schema is None or not graph.known.size:
        return ()
    known, rare = labelled_rows(graph)
    columns, pending = (*audit_columns(graph), *joining_columns(graph)), num_pending(graph)
    found = [one for column in columns for one in _leak(column, known, rare, pending)]
    return tuple(one.column for one in Audit.of([*found, *audit_edges(graph)]).leaks)


def _labels(graph: RareGraph, rare: np.ndarray) -> Iterator[Finding]:
    count, others = int(rare.sum()), int((~rare).sum())
    name = graph.class_names[graph.rare_class]
    if not rare.size:
        return
    if count < 10:
        yield Finding(
            "labels", "",
            f"ONLY {count} LABELS ARE {name!r}: no model can be judged by so few, every probability will be a rough one, and "
            "90% sets need nine of each class. Label more before you rely on it.",
            "warning",
        )  # fmt: skip
    else:
        few = ": enough to rank nodes, and every measure of quality will be uncertain" if count < 30 else ""
        words = (
            f"{count:,} labels are {name!r}{few}. They tell the recall of a model to ± {98 / np.sqrt(count):.0f} points at "
            f"most, and allow sets of up to {1 - 1 / (count + 1):.1%} coverage."
        )
        yield Finding("labels", "", words, "note")
    if count > others:
        words = (
            f"Most labels, {count:,} of {rare.size:,}, are {name!r}. If you look for the others, name them as the rare "
            "class; if it is rarer among all nodes than among the labels, give its share, rare_share (--rare-share)."
        )
        yield Finding("labels", "", words, "note")
    if others < 10:
        yield Finding("labels", "", f"Only {others} labels are not {name!r}; label some nodes that are not.", "warning")


def _leak(column: AuditColumn, known: np.ndarray, rare: np.ndarray, pending: int) -> Iterator[Finding]:
    """At most one finding per column; filled in after the fact is the likelier story where both rules hold."""
    said = _leak_by_presence(column, known, rare, pending) or _leak_by_value(column, known, rare)
    if said:
        yield Finding("leak", column.name, said, "leak")


def _leak_by_presence(column: AuditColumn, known: np.ndarray, rare: np.ndarray, pending: int) -> str:
    if column.word is not None:
        return ""  # the words of a text are there or not; nobody fills them in
    other = f"other than {column.usual_value}"
    looks = [(column.missing, "filled"), (column.usual, other)]
    if column.missing is not None and column.usual is not None and 2 * column.usual.sum() >= (~column.missing).sum():
        looks.append((column.usual | column.missing, other))  # most have none, and most of the others this one
    for usual, words in looks:
        if usual is None or usual.mean() < 0.5:
            continue
        special = ~usual[known]
        hits = int((special & rare).sum())
        if gives_away(special, rare):
            return (
                f"{words} for {int(special.sum()):,} labelled nodes, {hits:,} of them rare: it was known only after the "
                f"label. Leave it out ({ignore(column.name)}) unless it is there before."
            )
    pending = pending if pending < known.size else 0
    if column.missing is not None and 2 * (known.size + pending) < column.missing.size:
        filled = int((~column.missing).sum())
        labelled = int((~column.missing[known]).sum())
        if filled >= ENOUGH and labelled + pending >= PURE * filled and 2 * labelled >= known.size:
            unsettled = f", beside {pending:,} labels that count as unknown" if pending else ""
            return (
                f"filled for {filled:,} nodes, {labelled:,} of them labelled{unsettled}: it is known only where the label is, and will "
                f"be empty where you need it. Leave it out ({ignore(column.name)})."
            )
    return ""


def _leak_by_value(column: AuditColumn, known: np.ndarray, rare: np.ndarray) -> str:
    if column.values is None or min(rare.sum(), (~rare).sum()) < ENOUGH:
        return ""
    auc = _auc(column.values[known], rare)
    if max(auc, 1 - auc) < PERFECT:
        return ""
    what = "it" if column.word in (None, column.name) else f"its word {column.word!r}"
    return (
        f"{what} alone tells the classes apart (ROC-AUC {max(auc, 1 - auc):.3f}): too good to be known beforehand? "
        f"Leave it out ({ignore(column.name)}) unless it is."
    )


def _auc(values: np.ndarray, rare: np.ndarray) -> float:
    """P(a rare node has the higher value), ties counting half; missing values lie lowest."""
    ranks = rankdata(np.where(np.isnan(values), -np.inf, values))
    count = int(rare.sum())
    return float((ranks[rare].sum() - count * (count + 1) / 2) / (count * (rare.size - count)))


def _constants(column: AuditColumn, what: str = "nodes") -> Iterator[Finding]:
    share = column.usual_share
    if share >= 1 - CONSTANT and column.word is None:
        word = f"the same for all {what}" if share == 1 else f"{column.usual_value} for {share:.2%} of the {what}"
        yield Finding("constant", column.name, f"{word}: it can tell next to nothing.", "note")


def _codes(column: AuditColumn) -> Iterator[Finding]:
    if column.values is None or not named_as_codes(column.name):
        return
    values = column.values[np.isfinite(column.values)]
    whole = np.round(values)
    count = np.unique(whole).size
    # Of nodes the values went through float32; two values are the same either way.
    if 2 < count <= values.size / 2 and np.abs(values - whole).max() < 0.02:
        codes = retype(column.name, "categorical")
        if count > MAX_CATEGORIES:
            codes = f"{ignore(column.name)}, or {codes} for the most frequent"
        words = f"{count:,} different whole numbers, read as quantities. If they are codes: {codes}."
        yield Finding("codes", column.name, words, "note")


def _duplicates(columns: list[AuditColumn]) -> Iterator[Finding]:
    numbers = [c for c in columns if c.values is not None and c.word is None and c.usual_share < 1 - CONSTANT]
    numbers = numbers[:MOST_COMPARED]
    if len(numbers) < 2:
        return
    matrix = np.array([_standard(column.values) for column in numbers])
    times = np.array([column.time for column in numbers])
    same = np.abs(matrix @ matrix.T) > np.where(times[:, None] & times, SAME_TIME, SAME)
    for k in range(1, len(numbers)):
        twins = np.flatnonzero(same[k, :k])
        if twins.size:
            words = f"says the same as {numbers[twins[0]].name!r}; one of them is enough."
            yield Finding("duplicate", numbers[k].name, words, "note")


def _standard(values: Any) -> np.ndarray:
    """The values scaled to mean zero and length one, gaps at the mean; at most about 20,000 of them, evenly chosen."""
    some = np.asarray(values)[:: max(1, len(values) // 20_000)]
    known = np.isfinite(some)
    middle = some[known].mean() if known.any() else 0.0
    centred = np.where(known, some - middle, 0.0)
    length = np.linalg.norm(centred)
    return np.asarray(centred / (length or 1.0), dtype=np.float64)


def _identifiers(graph: RareGraph) -> Iterator[Finding]:
    """Columns of ids that the user asked for all the same."""
    for column in graph.table_columns:
        if column.get("identifier"):
            words = f"{column['identifier']}; used because you said so. A model memorises names."
            yield Finding("identifier", column["name"], words, "warning")


def _spellings(graph: RareGraph) -> Iterator[Finding]:
    """Categories that differ only in case or blanks. In the label column these are one class."""
    of_edges = graph.schema_of("edges").get("columns", ())
    for column in [*graph.table_columns, *of_edges]:
        names = column.get("categories", ())
        pairs = [f"{one!r} and {other!r}" for one, other in known_spellings(names, names, first=True).items()]
        if pairs:
            words = f"{', '.join(pairs[:3])}{' …' if len(pairs) > 3 else ''} are read as different; write what is one alike."
            yield Finding("spellings", column["name"], words, "note")


def _infinite(graph: RareGraph) -> Iterator[Finding]:
    for counts, whose in values_counted(graph.schema):
        for name, count in counts.get("infinite", {}).items():
            words = f"{count:,} values{whose} are infinite, as a division by zero leaves them; they count as missing."
            yield Finding("infinite", name, words, "note")
