"""Every node's score as one table."""

from __future__ import annotations

from typing import Any

from calirare.data.graph import RareGraph
from calirare.data.named_columns import NamedColumns
from calirare.errors import InputError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.scoring.verdicts import Verdicts


def score_table(
    classifier: RareCategoryClassifier, graph: RareGraph, *, coverage: float = 0.9, intervals: bool = True
) -> NamedColumns:
    """One row per node, as columns; of several kinds of node those that carry labels.

    `.to_pandas()` and `.to_polars()` make a data frame of it.

    Args:
        classifier: Fitted.
        graph: The nodes to score.
        coverage: Of the interval and of the set.
        intervals: Without them `lower` and `upper` are left out, which saves time on large graphs.

    Returns:
        `id`; `probability` of the rare class with its interval `lower` to `upper`; apart from these `disagreement`, how far
        the detectors lie from each other (`predict_disagreement`); `prediction`, the likeliest class; `set`, the classes that
        the coverage does not rule out ("none" where it rules out all); after `with_rare_share` also `rare_share`, that they
        are at.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=300, seed=0)
    >>> table = score_table(cr.RareCategoryClassifier(detector="linear").fit(graph), graph)
    >>> list(table)
    ['id', 'probability', 'lower', 'upper', 'disagreement', 'prediction', 'set']
    """
    verdicts = Verdicts.of(classifier, coverage=coverage, intervals=intervals)
    said = classifier.predict_proba(graph), classifier.predict_disagreement(graph)
    columns = verdicts.table(graph.ids, *said, graph.degree)
    kept = graph.scored
    return NamedColumns({name: values[kept] for name, values in columns.items()})


def read_for(
    classifier: RareCategoryClassifier,
    nodes: Any,
    edges: Any = None,
    *,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> RareGraph:
    """New tables as the model wants them: columns, means and categories as they were at fit.

    Args:
        classifier: Fitted on tables.
        nodes: As in `read_tables`.
        edges: As in `read_tables`.
        id, source, target, weight: Columns, where the new tables name them otherwise.
    """
    from calirare.data.tables.reading import read_tables

    schema = check_reads_tables(classifier)
    return read_tables(nodes, edges, schema=schema, id=id, source=source, target=target, weight=weight)


def check_reads_tables(classifier: RareCategoryClassifier) -> dict[str, Any]:
    """The schema of the tables that the model was fitted on; an error where it was fitted on none."""
    if classifier.schema_ is None:
        raise InputError(
            "this model was not fitted on tables, so it cannot read any; score a graph with predict_proba."
        )
    return classifier.schema_
