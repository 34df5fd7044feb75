"""Does the graph help at all? Left-out labels, with the edges and without them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.data.tables.audit import Audit, audit_graph
from calirare.data.tables.findings.finding import Finding
from calirare.data.tables.gathering.same import not_joined_by
from calirare.data.tables.schema.node_columns import feature_names
from calirare.detectors.stack import Stack
from calirare.errors import CalirareError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.metrics.scoring import label_losses

MOST_LABELS = 2_000
"""Labels that are asked, drawn by class: enough for the answer, and seconds instead of minutes."""
_Z = 1.96
_LEAST = 5e-4
"""A smaller gain is none in the digits that are shown."""


@dataclass(frozen=True)
class GraphValue:
    """How likely left-out labels are, each judged by a model that never saw it.

    Args:
        with_edges: Mean negative log-likelihood of a logistic regression on all columns (2.7), stacked with labels that
            spread along the edges.
        without_edges: Of a logistic regression on the nodes' own columns alone.
        gain: The second less the first; positive: the edges help.
        error: Standard error of the gain, over labels.
        num_labels: How many labels were asked.
        num_rare: How many of them are rare.
        has_attributes: Whether the nodes have columns of their own.
    """

    with_edges: float
    without_edges: float
    gain: float
    error: float
    num_labels: int
    num_rare: int
    has_attributes: bool = True

    @property
    def words(self) -> str:
        """What was found, in two sentences."""
        numbers = (
            f"left-out negative log-likelihood {self.with_edges:.3f} with the edges, {self.without_edges:.3f} without "
            f"(gain {self.gain:+.3f} ± {_Z * self.error:.3f}, {self.num_labels:,} labels, {self.num_rare:,} rare)"
        )
        if self.gain > max(_Z * self.error, _LEAST):
            return f"the edges help: {numbers}."
        if self._hurts:
            return f"the edges make it worse: {numbers}. Do they join the right nodes?"
        instead = " The nodes' own columns may do as well." if self.has_attributes else ""
        return f"the edges cannot be shown to help: {numbers}.{instead}"

    @property
    def _hurts(self) -> bool:
        return self.gain < -max(_Z * self.error, _LEAST)

    def finding(self) -> Finding:
        """As one line of the audit.

        >>> GraphValue(0.604, 0.604, 1e-7, 1e-8, 900, 300).words[:36]
        'the edges cannot be shown to help: l'
        """
        return Finding("graph", "", self.words, "warning" if self._hurts else "note")


def graph_value(graph: RareGraph) -> GraphValue | None:
    """What the edges are worth to the cheapest detectors; None where that cannot be told.

    Of two logistic regressions one reads all columns and is stacked with `spreading`, the other reads those of the graph
    without its edges. Both judge each label left out, and the losses are compared label by label,

        gain = mean_i( ℓ_i without - ℓ_i with ) ,   error = s / √n .

    Where trees or networks get more out of the edges, the gain is a lower bound of what they are worth.

    >>> import calirare as cr
    >>> found = graph_value(cr.make_transactions(num_nodes=600, labelled_share=0.5, rare_share=0.2, seed=0))
    >>> found.gain > 2 * found.error, found.words[:14]
    (True, 'the edges help')
    """
    nodes = _some_labels(graph)
    rare = graph.y[nodes] == graph.rare_class
    if min(rare.sum(), (~rare).sum()) < 2 or not graph.num_edges:
        return None
    try:
        with_edges = _losses(graph, Stack(["linear", "spreading"]), nodes)
        differ = _losses(_without_edges(graph), "linear", nodes) - with_edges
    except CalirareError:  # too few labels of a class to leave one out
        return None
    error = float(differ.std(ddof=1) / np.sqrt(differ.size))
    mean, gain = float(with_edges.mean()), float(differ.mean())
    return GraphValue(mean, mean + gain, gain, error, nodes.size, int(rare.sum()), graph.num_features > 0)


def audit_with_graph(graph: RareGraph) -> Audit:
    """The audit of a graph, and whether its edges help."""
    found = audit_graph(graph)
    leaks = [finding.column for finding in found.leaks]
    value = graph_value(_without_columns(graph, leaks) if leaks else graph)
    if value is None:
        return found
    said = value.finding()
    if leaks:
        said = replace(said, words=f"without {', '.join(map(repr, leaks))}, which would hide it, {said.words}")
    return Audit.of([*found.findings, said])


def _some_labels(graph: RareGraph) -> np.ndarray:
    """All known labels, or as many as are asked, each class in proportion."""
    known = graph.known
    if known.size <= MOST_LABELS:
        return known
    rng, kept = np.random.default_rng(0), []
    for label in np.unique(graph.y[known]):
        nodes = known[graph.y[known] == label]
        kept.append(rng.choice(nodes, max(1, round(nodes.size * MOST_LABELS / known.size)), replace=False))
    return np.sort(np.concatenate(kept))


def _without_columns(graph: RareGraph, names: list[str]) -> RareGraph:
    """A graph read from tables, without some columns of either."""
    schema = graph.schema or {"columns": ()}
    columns = schema["columns"]
    out = {one for column in columns if column["name"] in names for one in feature_names({"columns": [column]})}
    out |= set(names)
    kept = [k for k, name in enumerate(graph.feature_names or ()) if name not in out]
    graph = not_joined_by(graph, names)
    edges = graph.edges
    if edges is not None:
        kept_columns = tuple(column for column in edges.columns if column.name not in names)
        cells = {name: values for name, values in edges.cells.items() if name not in names}
        edges = replace(edges, columns=kept_columns, cells=cells)
    called = tuple((graph.feature_names or ())[k] for k in kept)
    left = {**schema, "columns": [column for column in columns if column["name"] not in names]}
    return replace(graph, x=graph.x[:, kept], feature_names=called, edges=edges, schema=left)


def _without_edges(graph: RareGraph) -> RareGraph:
    nothing = np.zeros((2, 0), dtype=np.int64)
    return replace(graph, edge_index=nothing, edge_weight=None, edges=None)


def _losses(graph: RareGraph, detector: str | Stack, nodes: np.ndarray) -> np.ndarray:
    clf, split = RareCategoryClassifier(detector, seed=0), Split(train=nodes)
    clf.calibrate(clf.fit_detector(graph, split), graph, split)  # `fit` would log what to beware of, for nobody to read
    return label_losses(clf.labelled_y_, clf.predict_left_out())
