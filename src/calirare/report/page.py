"""From the contents to one HTML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.named_columns import NamedColumns
from calirare.data.storage.archive import write_atomically
from calirare.decisions.costs import ACTIONS, Costs
from calirare.decisions.numbers import say_probability
from calirare.decisions.triage import Triage
from calirare.decisions.wording import say_decided
from calirare.errors import InputError, optional
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.evaluation.look_again import WORDS as LOOK_AGAIN
from calirare.evaluation.members import MEMBERS_TITLE
from calirare.metrics import Estimate
from calirare.metrics.bootstrap import NUM_RESAMPLES
from calirare.metrics.registry import CONDITIONAL_NOTE, METRICS, of_family
from calirare.metrics.summary import say
from calirare.plots.interactive import cost_figure, reliability_figure, score_figure
from calirare.plots.templates import templates_of
from calirare.report.contents import Contents, gather

_PRINTED = 60
"""Rows of the queue on paper."""


def write_report(
    clf: RareCategoryClassifier,
    graph: RareGraph,
    path: str | Path,
    *,
    costs: Costs | None = None,
    budget: int | None = None,
    coverage: float = 0.9,
    rows: int = 200,
    decided: Mapping[str, str] | None = None,
    num_resamples: int = NUM_RESAMPLES,
    title: str | None = None,
    model_version: str | None = None,
) -> Path:
    """Write the report as one HTML file that opens offline, whole or not at all; returns its path.

    Args:
        clf: Fitted.
        graph: The graph it was fitted on, or another one with the same features.
        path: Ends in `.html`.
        costs: The prices; default: those of `Costs`.
        budget: Most reviews.
        coverage: Of the nodes' intervals and sets and of the forecast.
        rows: How many nodes of the queue to list; half of them cases for a person, where there are so many.
        decided: What people decided since the fit, by name of the node; the queue shows it.
        num_resamples: For the metrics' bootstrap intervals.
        title: Of the page; default: with the graph's name.
        model_version: Printed on it; see `calirare.persistence.folder.model_version`.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the report must end in .html; got {path.name!r}.")
    if path.is_dir():
        raise InputError(f"the report must be a file; {path} is a folder.")
    script = str(optional("plotly.offline", "report").get_plotlyjs())
    contents = gather(
        clf,
        graph,
        costs=costs,
        budget=budget,
        coverage=coverage,
        num_resamples=num_resamples,
        title=title,
        model_version=model_version,
    )
    with write_atomically(path) as stream:
        stream.write(render(contents, rows=rows, decided=decided, plotly=script).encode(errors="replace"))
    return path


def render(contents: Contents, *, rows: int, plotly: str, decided: Mapping[str, str] | None = None) -> str:
    """The page. Jinja escapes every value; scripts and styles are ours, and JSON is made safe for a script tag."""
    environment, decided = templates_of("calirare.report", "report"), decided or {}
    environment.filters |= {
        "estimate": say,
        "number": _number,
        "count": _count,
        "percent": _percent,
        "probability": say_probability,
    }
    listed = None if contents.queue is None else share_rows(contents.queue, rows)
    evaluation, names = contents.evaluation, (contents.rare, contents.other)
    figures = {
        "reliability": reliability_figure(evaluation.reliability, contents.rare, contents.calibrates),
        "scores": score_figure(evaluation.scores, *names, contents.limits),
        "costs": cost_figure(contents.cost_curve, contents.limits),
    }
    return environment.get_template("report.html").render(
        c=contents,
        before=evaluation.before,
        after=evaluation.after,
        verdict=evaluation.verdict,
        queue=[] if listed is None else list(listed),
        listed={} if listed is None else {name: int((listed.action == name).sum()) for name in ACTIONS},
        printed=set() if listed is None else set(share_rows(listed, _PRINTED).node.tolist()),
        decided=decided,
        said_decided=_said_decided(contents, decided),
        metrics=METRICS,
        members_title=MEMBERS_TITLE,
        note=CONDITIONAL_NOTE,
        look_again_note=LOOK_AGAIN,
        finding=of_family("finding"),
        trust=of_family("trust"),
        figures=_script_json(figures),
        bins=_bin_rows(contents),
        style=_ours("style.css"),
        script=_ours("page.js"),
        plotly=plotly,
    )


def _ours(name: str) -> str:
    return files("calirare.report").joinpath("templates", name).read_text(encoding="utf-8")


def _script_json(value: Any) -> str:
    """JSON that cannot end the script tag it stands in.

    >>> _script_json({"a": "</script>"})
    '{"a":"\\\\u003c/script>"}'
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def share_rows(queue: Triage, rows: int) -> Triage:
    """As many rows of a queue: alerts and reviews have half of them each, as far as there are any, and the cleared the rest."""
    rows = max(rows, 0)
    alerts, reviews, cleared = (np.flatnonzero(queue.action == name) for name in ACTIONS)
    num_reviews = min(reviews.size, max(rows // 2, rows - alerts.size))
    first = np.concatenate([alerts[: rows - num_reviews], reviews[:num_reviews]])
    return queue.take(np.concatenate([first, cleared[: rows - first.size]]))


def _said_decided(contents: Contents, decided: Mapping[str, str]) -> str:
    names = [] if contents.queue is None else contents.queue.id.tolist()
    return say_decided([decided.get(str(name), "") for name in names])


def _bin_rows(contents: Contents) -> list[dict[str, Any]]:
    """The filled bins of the reliability diagrams of the rare class, for the table below them."""
    table = contents.evaluation.reliability
    picked = (table["group"] == "rare") & (table["count"] > 0)
    if not contents.calibrates:
        picked &= table["model"] == "after"
    return list(NamedColumns({name: column[picked] for name, column in table.items()}).rows())


def _count(estimate: Estimate) -> str:
    """`107.8 (91 to 128)`: an expected number, and the counts it may turn out to be."""
    if estimate.lower == estimate.upper:
        return f"{estimate.value:,.0f}"
    return f"{estimate.value:,.1f} ({estimate.lower:,.0f} to {estimate.upper:,.0f})"


def _percent(estimate: Estimate) -> str:
    """
    >>> _percent(Estimate(0.75, 0.6, 0.86)), _percent(Estimate(0.0, np.nan, np.nan))  # the latter: of none
    ('75% (60% to 86%)', '0%')
    """
    if not np.isfinite(estimate.value):
        return "–"
    return f"{estimate.value:.0%}" + (
        f" ({estimate.lower:.0%} to {estimate.upper:.0%})" if np.isfinite(estimate.lower) else ""
    )


def _number(value: float, digits: int = 0) -> str:
    return f"{value:,.{digits}f}"
