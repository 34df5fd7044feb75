"""Fit a model folder again, on a schedule, and let the new model in only where it is not worse.

The labels are those of the fit, or of new tables, with the reviewers' decisions among them. Both models are judged on the
labels of the new one, each by answers that the label did not make: the new model leaves each out; so does the old one where
the label trained it, and the others it never saw. See `calirare.evaluation.paired` for when the new one counts as worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone

from calirare.data.graph import RareGraph
from calirare.detectors.base import Progress
from calirare.errors import InputError
from calirare.estimator.classifier import RareCategoryClassifier, load
from calirare.evaluation.paired import PairedLikelihood, compare_likelihood
from calirare.persistence.folder import load_graph, model_version
from calirare.persistence.writing import reading
from calirare.review.beside import FILE
from calirare.review.refit import Decided, as_labels, fit_with_decisions, read_decisions
from calirare.review.snapshot import index_of
from calirare.review.store.database import Database, database_url
from calirare.review.store.tables import table_exists
from calirare.review.versions import Base, install, load_base


@dataclass(frozen=True)
class Renewal:
    """What a refit of a model folder did.

    Args:
        installed: Whether the new model is the current one now.
        before: Version of the model that was current.
        version: Version of the one that is.
        likelihood: What the new model gains on the same labels.
        labels_before, labels_after: How many labels trained each.
        decisions: How many of them are reviewers' decisions.
    """

    installed: bool
    before: str
    version: str
    likelihood: PairedLikelihood
    labels_before: int
    labels_after: int
    decisions: int


@dataclass(frozen=True, eq=False)
class NewTables:
    """New tables, read twice: with what they themselves tell of their columns, and as the old model reads them."""

    graph: RareGraph
    as_before: RareGraph


def renew(
    model: Path,
    *,
    tables: NewTables | None = None,
    decisions: str | Path | None = None,
    network: str = "",
    force: bool = False,
    progress: Progress | None = None,
) -> Renewal:
    """Fit again; the new model becomes the current one where it is not worse, and the old one is kept.

    Args:
        model: The folder; its model's arguments are used again.
        tables: New tables; default: those of the fit.
        decisions: Where the decisions are; default: beside the model, if there are any.
        network: Whose decisions count, in a database that holds several.
        force: Let the new model in even if it is worse.
        progress: See `RareCategoryClassifier.fit`.
    """
    with reading(model):
        old, version = load(model), model_version(model)
        old_graph = load_graph(model)
        base = load_base(model, old, old_graph) if tables is None else Base(tables.graph.y, None)
    graph = old_graph if tables is None else tables.graph
    decided = _decided(model, graph, decisions, network)
    if decided.nodes.size:
        new, labelled = fit_with_decisions(old, graph, base, decided, progress=progress)
    elif tables is None:
        raise InputError("there is nothing new to fit with: no decision “rare” or “normal”, and no new tables.")
    else:
        new, labelled = clone(old).fit(graph, progress=progress), graph
    likelihood = _compare(old, old_graph, new, labelled, tables)
    installed = force or not likelihood.is_worse
    now = install(new, labelled, base, model) if installed else version
    return Renewal(
        installed, version, now, likelihood, old.labelled_nodes_.size, new.labelled_nodes_.size, decided.nodes.size
    )


def _decided(model: Path, graph: RareGraph, where: str | Path | None, network: str) -> Decided:
    if where is None and not _has_decisions(model):
        return as_labels((), {}, graph.scored)
    return as_labels(read_decisions(model if where is None else where, graph, network), index_of(graph), graph.scored)


def _has_decisions(model: Path) -> bool:
    """Whether decisions lie beside the model; the file may hold nothing but what is monitored."""
    if not (model / FILE).is_file():
        return False
    database = Database(database_url(model))
    try:
        with database.connected() as connection:
            return table_exists(connection)
    finally:
        database.close()


def _compare(
    old: RareCategoryClassifier,
    old_graph: RareGraph,
    new: RareCategoryClassifier,
    graph: RareGraph,
    tables: NewTables | None,
) -> PairedLikelihood:
    """Both on the labels of the new model, by name, since new tables may hold other nodes."""
    nodes, (after, rare) = new.labelled_nodes_, new.left_out_rare()
    seen = old.predict_proba(old_graph if tables is None else tables.as_before)[:, old.rare_class_]
    own = dict(zip(old_graph.ids[old.labelled_nodes_].tolist(), old.left_out_rare()[0].tolist(), strict=True))
    names = graph.ids[nodes].tolist()
    before = np.array([own.get(name, seen[node]) for name, node in zip(names, nodes.tolist(), strict=True)])
    return compare_likelihood(rare, before, after, new.base_rate_)
