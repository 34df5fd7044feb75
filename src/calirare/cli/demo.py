"""`calirare demo`: the whole story on a generated transaction network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calirare.cli import console
from calirare.cli.options import AsJson, Seed, a_folder
from calirare.cli.progress import share_done
from calirare.cli.triage import show_queue

if TYPE_CHECKING:
    import numpy as np

    from calirare.data.graph import RareGraph
    from calirare.estimator.classifier import RareCategoryClassifier
    from calirare.metrics import Estimate
    from calirare.metrics.registry import Metric

EXAMPLE = "Example: calirare demo --out demo"
LABELLED_SHARE = 0.2
REVIEWED_SHARE = 0.05


def demo(
    out: Annotated[Path, a_folder("Folder for tables, model, scores, queue and report.")] = Path("demo"),
    nodes: Annotated[int, typer.Option(help="Accounts in the network.")] = 5_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Generate a transaction network, fit, calibrate, score, decide, report, and compare with the truth."""
    from calirare.data.synthetic import make_transactions
    from calirare.data.tables.files import write_tables
    from calirare.data.tables.reading import read_tables
    from calirare.data.tables.sources.export import write_table
    from calirare.decisions.triage import triage
    from calirare.report import write_report
    from calirare.report.card import write_card
    from calirare.scoring.table import score_table

    with console.working("Generating a transaction network"):
        truth = make_transactions(nodes, labelled_share=LABELLED_SHARE, seed=seed)
        tables = write_tables(truth, out)
        graph = read_tables(*tables, label="is_fraud", rare="yes")
    calibrated, plain = _fit(graph, seed)
    with console.working("Scoring"):
        calibrated.save(out / "model", graph)
        write_card(out / "model", calibrated, graph)
        scores = score_table(calibrated, graph)
        for name in ("scores.parquet", "scores.csv"):
            write_table(scores, out / name)
    with console.working("Deciding"):
        queue = triage(calibrated, graph, budget=_reviews(graph))
        write_table(queue.frame(), out / "queue.csv")
    with console.working("Writing the report"):
        title = "Fraud in a generated transaction network"
        page = write_report(calibrated, graph, out / "report.html", budget=_reviews(graph), title=title)
    with console.working("Comparing with the truth"):
        found = {"calibrated": _judge(calibrated, graph, truth), "uncalibrated": _judge(plain, graph, truth)}
    if as_json:
        console.show_json({"folder": out, **_facts(graph), **_as_numbers(found), "open": page})
        return
    _show(graph, found)
    show_queue(queue)
    console.show(f"Tables, model, scores, queue and report are in {out}. Open:\n{page}")


def _fit(graph: RareGraph, seed: int) -> tuple[RareCategoryClassifier, RareCategoryClassifier]:
    """The default, and beside it the network of the paper as it comes from training."""
    from calirare.detectors import GCN
    from calirare.estimator.classifier import RareCategoryClassifier

    with share_done("Fitting", lines=False) as step:
        calibrated = RareCategoryClassifier(seed=seed).fit(graph, progress=step)
    with console.working("Training a plain network to compare with"):
        plain = RareCategoryClassifier(GCN(weight_decay=5e-3), method="uncalibrated", seed=seed).fit(graph)
    return calibrated, plain


def _judge(classifier: RareCategoryClassifier, graph: RareGraph, truth: RareGraph) -> dict[str, Estimate]:
    """The metrics on the accounts whose label the model has not seen, with 95% intervals."""
    import numpy as np

    from calirare.metrics import Estimate, summary
    from calirare.metrics.bootstrap import NUM_RESAMPLES
    from calirare.metrics.registry import METRICS

    unseen = np.setdiff1d(np.arange(graph.num_nodes), graph.known)
    probabilities = classifier.predict_proba(graph)[unseen]
    y, exact = _answers(truth)
    found = summary(
        y[unseen],
        probabilities,
        graph.rare_class,
        predicted=classifier.predict(graph)[unseen],
        budget=_reviews(graph),
        num_resamples=NUM_RESAMPLES,
        only=[name for name, metric in METRICS.items() if not metric.conditional],
    )
    distance = float(np.abs(probabilities[:, graph.rare_class] - exact[unseen]).mean())
    return {**found, "distance_from_truth": Estimate(distance, float("nan"), float("nan"))}


def _reviews(graph: RareGraph) -> int:
    """How many accounts without a label the demo's reviewers can look at."""
    return round(REVIEWED_SHARE * (graph.num_nodes - graph.known.size))


def _answers(truth: RareGraph) -> tuple[np.ndarray, np.ndarray]:
    """Class and exact P(rare) of every account, which only a generator knows."""
    if truth.original_y is None or truth.true_probability is None:
        raise TypeError("the generator gives the truth of every account")
    return truth.original_y, truth.true_probability


def _facts(graph: RareGraph) -> dict[str, int]:
    return {
        "accounts": graph.num_nodes,
        "payments": 0 if graph.edges is None else len(graph.edges),
        "pairs_of_accounts": graph.num_edges,
        "attributes": graph.num_features,
        "labelled": int(graph.known.size),
        "labelled_fraud": int((graph.y == graph.rare_class).sum()),
    }


def _as_numbers(found: dict[str, dict[str, Estimate]]) -> dict[str, Any]:
    return {
        name: {metric: [value.value, value.lower, value.upper] for metric, value in metrics.items()}
        for name, metrics in found.items()
    }


def _show(graph: RareGraph, found: dict[str, dict[str, Estimate]]) -> None:
    from calirare.metrics.registry import of_family

    calibrated, plain = found["calibrated"], found["uncalibrated"]
    facts = [(name.replace("_", " "), count) for name, count in _facts(graph).items()]
    console.show_table("A generated transaction network", ["", "count"], facts, right=(1,))
    console.show_table(
        f"Finding fraud among the {graph.num_nodes - graph.known.size:,} accounts without a label",
        ["", "value", "95% interval"],
        [(_title(metric, graph), *_cells(calibrated[metric.name])) for metric in of_family("finding")],
        right=(1,),
    )
    rows = [
        (metric.title, *_cells(calibrated[metric.name]), *_cells(plain[metric.name]))
        for metric in of_family("trust")
        if not metric.conditional
    ]
    name = "distance_from_truth"
    rows.append(
        ("Mean distance from the true P(fraud)", f"{calibrated[name].value:.3f}", "", f"{plain[name].value:.3f}", "")
    )
    console.show_table(
        "Can the probabilities be trusted? (lower is better)",
        ["", "calibrated", "95% interval", "a plain GCN", "95% interval"],
        rows,
        right=(1, 3),
    )


def _title(metric: Metric, graph: RareGraph) -> str:
    return f"{metric.title} ({_reviews(graph):,} reviews)" if "budget" in metric.reads else metric.title


def _cells(estimate: Estimate) -> tuple[str, str]:
    return f"{estimate.value:.3f}", f"{estimate.lower:.3f} – {estimate.upper:.3f}"
