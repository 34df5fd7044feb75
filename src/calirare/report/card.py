"""The model card: what a model was made from, how good it is and where it must not be used, as Markdown beside it."""

from __future__ import annotations

from pathlib import Path

from calirare.data.graph import RareGraph
from calirare.data.tables.describe import describe_schema
from calirare.decisions.wording import wording_of
from calirare.errors import LabelError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.evaluation import Evaluation, evaluate
from calirare.metrics.registry import METRICS, headlines
from calirare.metrics.summary import say
from calirare.persistence.folder import Fingerprint, fingerprint_of, replace_file
from calirare.report.contents import MOST_COLUMNS, describe_data, describe_labels

FILE = "MODEL_CARD.md"
_LIMITS = (
    "The probabilities hold for nodes like those it was fitted on. `calirare score` says which columns have shifted since, "
    "`calirare monitor` what that did to the scores.",
    "Labels that people chose to make are no random draw; the rare share above must be that of the population.",
    "It finds what resembles the labelled rare nodes. A new kind of rare node is found only once some were labelled.",
    "It gives reasons for a look, not proof. A decision about a person is a person's.",
)


def write_card(folder: str | Path, clf: RareCategoryClassifier, graph: RareGraph) -> Path:
    """Write the card of the model in this folder, whole or not at all; its path."""
    path = Path(folder) / FILE
    replace_file(path, model_card(clf, graph, fingerprint_of(folder)).encode())
    return path


def model_card(clf: RareCategoryClassifier, graph: RareGraph, fingerprint: Fingerprint) -> str:
    """The card of a model, as Markdown.

    Args:
        clf: Fitted.
        graph: The graph it was fitted on.
        fingerprint: Of the model and of its data.
    """
    wording = wording_of(clf, 0.9)
    try:
        found: Evaluation | None = evaluate(clf, graph, only=headlines())
    except LabelError:  # no label can judge it
        found = None
    labels = {} if found is None else describe_labels(clf, graph, found)
    parts = [
        f"# Model card: {_plain(wording.rare)}",
        f"Gives every node the probability of {_plain(wording.rare)}. Made by calirare {fingerprint.made_by}.",
        _table("What it is", {"Model": fingerprint.model, "Data": fingerprint.data or "not kept", **labels}),
        _table("Data", describe_data(clf, graph, wording.rare)),
        _columns(clf, graph),
        _quality(found),
        _list("Limits", [*(() if found is None else found.warnings), *_LIMITS]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _quality(found: Evaluation | None) -> str:
    if found is None:
        return "## Quality\n\nNo label is left to judge it by."
    rows = {METRICS[name].title: f"{say(one)}, {METRICS[name].better}" for name, one in found.after.items()}
    title = f"Quality: {found.verdict.level}"
    return f"{_table(title, rows)}\n\n{_plain(found.verdict.words)} Intervals hold {found.after.coverage:.0%}."


def _columns(clf: RareCategoryClassifier, graph: RareGraph) -> str:
    if not graph.schema:
        return ""
    rows = describe_schema(graph.schema, networks_alone=clf.state_.recipe is None)
    shown = {f"{row['table']}: {row['column']}": f"{row['type']}; {row['treatment']}" for row in rows[:MOST_COLUMNS]}
    more = f"\n\n… and {len(rows) - MOST_COLUMNS:,} more." if len(rows) > MOST_COLUMNS else ""
    return _table("Columns", shown) + more


def _table(title: str, rows: dict[str, str]) -> str:
    lines = [f"| {_plain(name)} | {_plain(value)} |" for name, value in rows.items()]
    return "\n".join([f"## {_plain(title)}", "", "| | |", "|---|---|", *lines])


def _list(title: str, lines: list[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {line}" for line in lines)])


def _plain(text: object) -> str:
    """Text from tables, which may hold anything, as one cell: no markup, no line breaks."""
    one_line = " ".join(str(text).split())
    for sign in "\\`*_[]<>|#":
        one_line = one_line.replace(sign, f"\\{sign}")
    return one_line
