"""`calirare fit`: from two tables to a model folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calirare.cli import console
from calirare.cli.model_options import modelled
from calirare.cli.options import AsJson, Label, Network, Rare, Types, a_folder
from calirare.cli.progress import share_done
from calirare.cli.table_options import Tables, parse_types, tabled
from calirare.errors import CalirareError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calirare.data.graph import RareGraph
    from calirare.data.split import Split
    from calirare.estimator.classifier import RareCategoryClassifier
    from calirare.evaluation import Evaluation
    from calirare.evaluation.members import Member

EXAMPLE = "Example: calirare fit nodes.csv edges.csv --label is_fraud --rare yes --out model"


@tabled
@modelled
def fit(
    tables: Tables,
    rare: Rare,
    out: Annotated[Path, a_folder("Folder for the model.")],
    label: Label = None,
    *,
    classifier: RareCategoryClassifier,
    val_share: Annotated[
        float | None, typer.Option(help="Share of the labels set aside for methods that calibrate on such.")
    ] = None,
    decisions: Annotated[
        str | None,
        typer.Option(help="Reviewers' decisions as further labels: a model folder, an SQLite file or a database URL."),
    ] = None,
    network: Network = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a model beside which decisions lie, and do not learn from them.")
    ] = False,
    mlflow: Annotated[
        str | None, typer.Option(help="Log the fit in this MLflow experiment, at MLFLOW_TRACKING_URI.")
    ] = None,
    types: Types = None,
    as_json: AsJson = False,
) -> None:
    """Train and calibrate a model on your tables."""
    if decisions is None and not replace:
        _keep_decisions(out)
    with console.working("Reading the tables"):
        graph = tables.read(label=label, rare=rare, types=parse_types(types))
    split, used = _set_aside(graph, val_share, classifier.seed), None
    if decisions is None:
        _fit(classifier, graph, split, out)
    else:
        classifier, graph, used = _fit_with_decisions(classifier, graph, split, decisions, network, out)
    if mlflow is not None:
        _log(classifier, graph, out, mlflow)
    _show(classifier, graph, out, as_json, used)
    if not as_json:
        score = f"calirare score {shlex.quote(str(out))} {tables.words()} --out scores.parquet"
        console.show(f"Model: {out}\nNext:  {score}")


def _keep_decisions(out: Path) -> None:
    """Refuse a folder in which reviewers' decisions lie: a model that ignores them would take their place unnoticed."""
    from calirare.review.beside import read_decided

    if decided := read_decided(out):
        raise InputError(
            f"{out} holds reviewers' decisions on {len(decided):,} nodes; give --decisions {out} to learn from them, "
            "another --out, or --replace to fit without them."
        )


def _set_aside(graph: RareGraph, share: float | None, seed: int) -> Split | None:
    from calirare.data.splits import split_labels

    if share is None:
        return None
    return split_labels(graph, train_fraction=1 - share, val_fraction=share, test_fraction=0.0, seed=seed)


def _fit(classifier: RareCategoryClassifier, graph: RareGraph, split: Split | None, out: Path) -> None:
    from calirare.report.card import write_card

    with share_done("Fitting", lines=False) as step:
        classifier.fit(graph, split, progress=step)
    with console.working("Saving"):
        classifier.save(out, graph)
        write_card(out, classifier, graph)


def _fit_with_decisions(
    classifier: RareCategoryClassifier, graph: RareGraph, split: Split | None, decisions: str, network: str, out: Path
) -> tuple[RareCategoryClassifier, RareGraph, int]:
    """As `fit` and `save`, with the decisions among the labels; a model that is there already is kept."""
    from calirare.review.refit import fit_from_store
    from calirare.review.versions import Base, install

    with share_done("Fitting", lines=False) as step:
        fitted, labelled, used = fit_from_store(classifier, graph, split, decisions, network=network, progress=step)
    with console.working("Saving"):
        install(fitted, labelled, Base(graph.y, split), out)
    return fitted, labelled, int(used.nodes.size)


def _log(classifier: RareCategoryClassifier, graph: RareGraph, out: Path, experiment: str) -> None:
    from calirare.report.tracking import log_to_mlflow

    with console.working("Logging"):
        log_to_mlflow(classifier, graph, out, experiment=experiment)


def _show(
    classifier: RareCategoryClassifier, graph: RareGraph, out: Path, as_json: bool, decisions: int | None
) -> None:
    from calirare.cli.audit import show_audit
    from calirare.cli.evaluate import show_evaluation
    from calirare.data.tables.audit import audit_graph
    from calirare.data.tables.describe import describe_schema
    from calirare.data.tables.findings.read_counts import describe_counts
    from calirare.evaluation.first_lines import first_lines
    from calirare.evaluation.graph_value import audit_with_graph
    from calirare.evaluation.members import judge_members

    with console.working("Judging"):
        beware, detectors = first_lines(classifier, graph), judge_members(classifier)
    with console.working("Looking whether the edges help"):
        cheap = graph.num_nodes + graph.num_edges <= _CHEAP
        audit = audit_with_graph(graph) if cheap else audit_graph(graph)
    quality = _judge(classifier, graph)
    columns = describe_schema(graph.schema or {"columns": []}, networks_alone=classifier.state_.recipe is None)
    counts = _counts(classifier, graph, decisions)
    read = graph.schema_of("read")
    if as_json:
        found = {"model": out, "method": classifier.method, "beware": beware, **counts, "read": read}
        judged = {"audit": audit.to_json(), "quality": None if quality is None else quality.to_json()}
        console.show_json(found | {"columns": columns, "detectors": [vars(one) for one in detectors]} | judged)
        return
    console.show_lines(beware)
    show_audit(columns, audit)
    own = {name.replace("_", " "): count for name, count in counts.items()}
    console.show_table("Data", ["", "count"], [*(own | describe_counts(graph.schema)).items()], right=(1,))
    _show_detectors(detectors)
    if quality is not None:
        show_evaluation(quality)


def _show_detectors(detectors: Sequence[Member]) -> None:
    """What the stack chose, and whom it went without."""
    from calirare.evaluation.members import MEMBERS_TITLE

    kept = [one for one in detectors if one.weight is not None]
    if kept:
        rows = [(one.name, f"{one.weight:.2f}", f"{one.loss:.3f}") for one in kept]
        console.show_table(MEMBERS_TITLE, ["detector", "weight", "negative log-likelihood alone"], rows, right=(1, 2))
    for one in detectors:
        if one.weight is None:
            console.show(f"{one.name} is left out: {one.reason}")


def _counts(classifier: RareCategoryClassifier, graph: RareGraph, decisions: int | None) -> dict[str, int]:
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "labelled": int(graph.known.size),
        "rare": int((graph.y == graph.rare_class).sum()),
        "trained_on": int(classifier.labelled_nodes_.size),
        **({} if decisions is None else {"decisions": decisions}),
    }


def _judge(classifier: RareCategoryClassifier, graph: RareGraph) -> Evaluation | None:
    """How good the model is by labels that did not make its answers, in the headline figures; None: too few tell."""
    from calirare.evaluation import evaluate
    from calirare.metrics.registry import headlines

    rare = int((classifier.labelled_y_ == classifier.rare_class_).sum())
    if min(rare, classifier.labelled_y_.size - rare) < _FEWEST:
        return None
    with console.working("Judging"):
        try:
            return evaluate(classifier, graph, only=headlines())
        except CalirareError:
            return None


_CHEAP = 1_000_000
"""Nodes and edges up to which a fit also tells whether the edges help; `calirare audit` always does."""
_FEWEST = 3
"""With fewer labels of a class no figure says anything."""
