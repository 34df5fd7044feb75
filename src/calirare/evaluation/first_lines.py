"""What must be said before any number: leaks, columns made from labels, no skill, few labels, labels that are no random sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calirare.calibration.base import share_weights
from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph
from calirare.data.tables.audit import find_leaks
from calirare.data.tables.findings.finding import ignore
from calirare.decisions.column_names import say_column
from calirare.decisions.wording import wording_of
from calirare.estimator.beware import say_made
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.evidence import read_nodes
from calirare.estimator.known_again import is_graph_of_fit
from calirare.uncertainty.selection import Selection, label_selection
from calirare.uncertainty.skill import Skill, few_labels
from calirare.uncertainty.unlike import Unlike, labels_unlike

_FAR_BETTER = 0.1
"""By so much more often columns must tell a labelled node from another than scores do."""


def first_lines(clf: RareCategoryClassifier, graph: RareGraph, skill: Skill | None = None) -> tuple[str, ...]:
    """The sentences that a page or a screen about this model begins with; empty where there is nothing to beware of.

    Args:
        clf: Fitted.
        graph: The graph of the fit.
        skill: By the labels that judge the model, where they are others than those that trained it.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=600, rare_share=0.2, labelled_share=0.5, seed=0)
    >>> first_lines(cr.RareCategoryClassifier(detector="linear").fit(graph), graph)
    ()
    >>> few = graph.with_labels(np.where((graph.y == 1) & (np.cumsum(graph.y == 1) > 2), -1, graph.y))
    >>> first_lines(cr.RareCategoryClassifier(detector="linear").fit(few), few)[0].split(":")[0]
    'Nothing is shown yet'
    """
    return tuple(words for words in (*score_lines(clf, graph, skill), warn_of_chosen_labels(clf, graph)) if words)


def score_lines(clf: RareCategoryClassifier, graph: RareGraph | None, skill: Skill | None = None) -> tuple[str, ...]:
    """Those of them that belong beside scores of any graph; None: one that is not in memory."""
    rare, at_fit = wording_of(clf, 0.9).rare, clf.skill()
    shown = at_fit if skill is None else skill
    said = few_labels(at_fit.num_rare, rare) if shown.shown else shown.sentence(rare, clf.base_rate_)
    leaks, made = ("", "") if graph is None else (warn_of_leaks(find_leaks(graph)), say_made(clf, graph))
    return tuple(words for words in (leaks, made, said) if words)


def warn_of_leaks(columns: Sequence[str]) -> str:
    """Which columns give the label away, and what to do about it; empty where none does.

    >>> warn_of_leaks(["closed on"]).split(". ")[1]
    "Fit again with --type 'closed on=ignore'."
    """
    if not columns:
        return ""
    gives, they = ("gives", "it is") if len(columns) == 1 else ("give", "they are")
    return (
        f"{', '.join(map(repr, columns))} {gives} the label away: unless {they} known before the label, no number here will "
        f"hold. Fit again with {' '.join(map(ignore, columns))}."
    )


def warn_of_chosen_labels(clf: RareCategoryClassifier, graph: RareGraph) -> str:
    """That the labels which trained the model are no random sample, as far as scores or columns show it; else empty.

    That they follow the scores says more, unless columns show far better that they were chosen.
    """
    read = read_nodes(clf, graph)
    others = np.setdiff1d(graph.scored, [] if read is None else read)
    if read is None or clf.prior != "natural" or not others.size:
        return ""
    by_score, by_columns = selection_of(clf, graph, others), unlike_of(clf, graph, others)
    share = float((clf.labelled_y_ == clf.rare_class_).mean())
    follows = by_score.sentence(share, given=clf.rare_share is not None)
    if by_columns is None or follows and by_columns.area < by_score.area + _FAR_BETTER:
        return follows
    gaps_of = _gaps_of(by_columns.column, graph)
    return replace(by_columns, column=say_column(by_columns.column), gaps_of=gaps_of).sentence() or follows


def _gaps_of(feature: str, graph: RareGraph) -> str:
    """The column of the table whose gaps are this feature; empty where it is another."""
    gaps = ((column["name"], gap) for column, _, gap in feature_places(graph.table_columns) if gap is not None)
    return next((name for name, gap in gaps if graph.attribute_names[gap] == feature), "")


def selection_of(clf: RareCategoryClassifier, graph: RareGraph, others: np.ndarray) -> Selection:
    """How the labels that trained the model score beside other nodes."""
    weights = share_weights(clf.labelled_y_, clf.shares_)
    return label_selection(clf.left_out_rare()[0], clf.predict_proba(graph)[others, clf.rare_class_], weights)


def unlike_of(clf: RareCategoryClassifier, graph: RareGraph, others: np.ndarray) -> Unlike | None:
    """How well columns tell them from other nodes; None for a model that reads none: they would cost more than it.

    Nor where the labelled nodes stand elsewhere than at the fit.
    """
    if clf.state_.recipe is None or not is_graph_of_fit(clf, graph):
        return None
    return labels_unlike(clf.inputs(graph), clf.state_.labels, others, clf.shares_, clf.seed)
