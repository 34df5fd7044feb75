"""How far new tables have shifted since the fit, column by column, and the scores that come of them.

The measure is the population stability index of the shares p (fit) and q (now) over the deciles of the fit, or over the
categories,

    PSI = Σ_b (q_b - p_b) ln(q_b / p_b) ,

each share with half a count added. Two samples of n and m values from one population have PSI · nm/(n + m) near a χ² with
B - 1 degrees of freedom, so c = χ²₀.₉₉₉(B - 1) · (1/n + 1/m) is what chance gives one column in a thousand. The rule:

    large      PSI - c > 0.25, or more than a tenth of the values outside the range of the fit, or of gaps more than then,
               or a tenth of the cells of an edge column of categories that the fit did not know
    moderate   PSI - c > 0.10, or a hundredth outside the range, and at least five values

Times are not compared, nor a day that all nodes of the fit shared: a later table is later. Scores are compared by their PSI alone
(`calirare.estimator.score_profile`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2

from calirare.data.graph import RareGraph
from calirare.data.tables.describe import calendar_day
from calirare.data.tables.schema.node_columns import is_moment
from calirare.data.tables.schema.profile import profile_tables

LARGE, MODERATE = 0.25, 0.10
MANY_OUTSIDE, SOME_OUTSIDE = 0.10, 0.01
FEW_OUTSIDE = 5
"""Fewer values beyond the range of the fit are no shift, whatever their share."""


@dataclass(frozen=True)
class Shift:
    """One column that is not as it was.

    Args:
        table: "nodes", "edges" or "scores".
        column: Its name.
        psi: Population stability index.
        severity: `"large"` or `"moderate"`.
        words: What has changed.
    """

    table: str
    column: str
    psi: float
    severity: Literal["large", "moderate"]
    words: str


@dataclass(frozen=True)
class Shifts:
    """The columns that have shifted, the farthest first.

    Args:
        found: Those that have.
        compared: How many columns were compared.
        indices: By table and column, of all that were compared: stability index, and its part above chance.
    """

    found: tuple[Shift, ...]
    compared: int
    indices: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict, compare=False)

    @property
    def matters(self) -> bool:
        """Whether one of them is large: then scores of these tables should not be trusted unseen."""
        return any(shift.severity == "large" for shift in self.found)

    def and_one(self, shift: Shift | None) -> Shifts:
        """With one more column compared; None: it has not shifted."""
        # Behind the columns of the same severity: they are the cause.
        found = sorted([*self.found, *([] if shift is None else [shift])], key=lambda one: one.severity != "large")
        return replace(self, found=tuple(found), compared=self.compared + 1)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"compared": self.compared, "matters": self.matters, "columns": [asdict(one) for one in self.found]}


def compare_with_fit(graph: RareGraph) -> Shifts:
    """The shifts of a graph that was read with the schema of a fit.

    >>> from calirare.data.tables.reading import read_tables
    >>> nodes = {"id": range(500), "x": [k % 97 for k in range(500)], "y": [k % 2 for k in range(500)]}
    >>> fitted = read_tables(nodes, {"source": [0], "target": [1]}, label="y", rare=1)
    >>> scaled = {**nodes, "x": [1000 * (k % 97) for k in range(500)]}
    >>> [one.words for one in compare_with_fit(read_tables(scaled, {"source": [0], "target": [1]}, schema=fitted.schema)).found]
    ['the median is 1,000 times that of the fit: another unit? 99% of the values lie outside 0 to 96.']
    """
    schema = graph.schema or {}
    if not schema.get("seen"):
        return Shifts((), 0)
    read = {"nodes": {"described": graph.num_nodes}} | (schema.get("read") or {})
    now = profile_tables(graph.x, schema, graph.edges, schema["seen"], read["nodes"]["described"])
    return compare_profiles(now, schema, read)


def compare_profiles(now: Mapping[str, Any], schema: Mapping[str, Any], read: Mapping[str, Any]) -> Shifts:
    """The same for tables whose profile is known.

    Args:
        now: Of `profile_tables`, or of a `TablesTally`.
        schema: Of the fit.
        read: What was counted when they were read.
    """
    seen = schema["seen"]
    texts = [column for column in schema["edges"].get("columns", ()) if column["kind"] == "text"]
    scales = {
        "nodes": {column["name"]: column for column in schema["columns"] if column["type"] in ("numeric", "text")},
        "edges": {column["name"]: {"type": "text"} for column in texts},
    }
    found: list[Shift] = []
    indices: dict[tuple[str, str], tuple[float, float]] = {}
    for table in ("nodes", "edges"):
        for name, then in seen[table].items():
            own = scales[table].get(name, {})
            if is_moment(own) and then["least"] == then["greatest"]:
                continue  # the day of a snapshot, of which nothing was learned
            if name in now[table] and then["count"] and now[table][name]["count"]:
                indices[table, name] = _index(then, now[table][name])
                found += _compare(table, name, then, now[table][name], own, *indices[table, name])
    found += [*_gaps(schema, read, seen), *_gaps_of_edges(now["edges"], seen["edges"], read.get("edge_values") or {})]
    found.sort(key=lambda one: (one.severity != "large", -one.psi))
    once: dict[tuple[str, str], Shift] = {}
    for one in found:
        key = one.table, one.column
        once[key] = replace(once[key], words=f"{once[key].words} {one.words}") if key in once else one
    return Shifts(tuple(once.values()), len(seen["nodes"]) + len(seen["edges"]), indices)


def stability_index(then: np.ndarray, now: np.ndarray, n: int, m: int) -> tuple[float, float]:
    """PSI of two rows of shares, and its part above chance."""
    bins = then.size
    p, q = (then * n + 0.5) / (n + 0.5 * bins), (now * m + 0.5) / (m + 0.5 * bins)
    psi = float(((q - p) * np.log(q / p)).sum())
    chance = float(chi2.ppf(0.999, max(bins - 1, 1))) * (1 / n + 1 / m)
    return psi, psi - chance


def _index(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[float, float]:
    return stability_index(np.array(then["shares"]), np.array(now["shares"]), then["count"], now["count"])


def _compare(
    table: str,
    name: str,
    then: Mapping[str, Any],
    now: Mapping[str, Any],
    scale: Mapping[str, Any],
    psi: float,
    excess: float,
) -> Iterator[Shift]:
    outside = now.get("outside", 0) / now["count"]
    if now.get("outside", 0) < FEW_OUTSIDE:
        outside = 0.0
    if excess > LARGE or outside > MANY_OUTSIDE:
        yield Shift(table, name, psi, "large", _words(then, now, scale))
    elif excess > MODERATE or outside > SOME_OUTSIDE:
        yield Shift(table, name, psi, "moderate", _words(then, now, scale))


def _words(then: Mapping[str, Any], now: Mapping[str, Any], scale: Mapping[str, Any]) -> str:
    if then["kind"] == "category":
        change = np.array(now["shares"]) - np.array(then["shares"])
        most = int(np.abs(change).argmax())
        name = [*then["names"], "categories that the fit did not know"][most]
        return f"{name}: {then['shares'][most]:.0%} at fit, {now['shares'][most]:.0%} now."
    mean, size = scale.get("mean", 0.0), scale.get("scale", 1.0)
    old, new = (one["middle"] * size + mean for one in (then, now))
    least, greatest = (then[key] * size + mean for key in ("least", "greatest"))
    what = "median" if scale.get("type") != "text" else "known words per text, median"
    say = calendar_day if is_moment(scale) else partial(_say, scale=size)
    words = f"{what} {say(old)} at fit, {say(new)} now"
    if old and new / old > 0 and not is_moment(scale):
        power = round(float(np.log10(new / old)))
        if abs(power) >= 2 and 0.5 < new / old / 10.0**power < 2:
            times = f"{10**power:,} times" if power > 0 else f"1/{10**-power:,} of"
            words = f"the median is {times} that of the fit: another unit?"
    outside = now.get("outside", 0) / now["count"]
    tail = (
        f" {outside:.0%} of the values lie outside {say(least)} to {say(greatest)}." if outside > SOME_OUTSIDE else ""
    )
    return (words if words.endswith("?") else words + ".") + tail


def _say(value: float, scale: float) -> str:
    """Without the rounding of a value that was standardised and is not any more."""
    return f"{value:.4g}" if abs(value) > 1e-5 * scale else "0"


def _gaps(schema: Mapping[str, Any], read: Mapping[str, Any], seen: Mapping[str, Any]) -> Iterator[Shift]:
    """Columns with far more empty cells than at fit, gaps or not."""
    rows = read["nodes"]["described"]
    nodes = seen.get("rows", rows)
    for column in schema["columns"]:
        name = column["name"]
        if column["type"] == "ignore" or name not in seen["nodes"] or not rows:
            continue
        then = 1 - seen["nodes"][name]["count"] / max(nodes, 1)
        now = sum(read.get(what, {}).get(name, 0) for what in ("imputed", "lacking")) / rows
        if _far_more(then, now, rows):
            yield Shift("nodes", name, 0.0, "large", f"{then:.0%} of the cells were empty at fit, {now:.0%} are now.")


def _gaps_of_edges(now: Mapping[str, Any], seen: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Shift]:
    """The same for columns of the edges, among those edges that have it; what the fit did not know counts as empty."""
    for name, fit in seen.items():
        rows = now.get(name, {}).get("rows", 0)
        if not fit.get("rows") or not rows:
            continue  # of an earlier version, or such edges are not there
        then, gaps = 1 - fit["count"] / fit["rows"], 1 - now[name]["count"] / rows
        unseen = values.get("unseen", {}).get(name, 0) / rows
        if _far_more(0.0, unseen, rows):
            yield Shift(
                "edges", name, 0.0, "large", f"{unseen:.0%} of the cells hold categories that the fit did not know."
            )
        elif _far_more(then, gaps, rows):
            yield Shift("edges", name, 0.0, "large", f"{then:.0%} of the cells were empty at fit, {gaps:.0%} are now.")


def _far_more(then: float, now: float, rows: int) -> bool:
    return now - then > MANY_OUTSIDE + 3 / float(np.sqrt(rows))
