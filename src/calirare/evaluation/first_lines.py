"""What must be said before any number: leaks, no skill, few labels, labels that were chosen by score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calirare.calibration.base import share_weights
from calirare.data.graph import RareGraph
from calirare.data.tables.audit import find_leaks
from calirare.data.tables.finding import leave_out
from calirare.decisions.wording import wording_of
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.evidence import read_nodes
from calirare.uncertainty.selection import Selection, label_selection
from calirare.uncertainty.skill import Skill, few_labels


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
    chosen = selection_of(clf, graph)
    share = float((clf.labelled_y_ == clf.rare_class_).mean())
    follows = "" if chosen is None else chosen.sentence(share, given=clf.rare_share is not None)
    return (*score_lines(clf, graph, skill), *([follows] if follows else []))


def score_lines(clf: RareCategoryClassifier, graph: RareGraph | None, skill: Skill | None = None) -> tuple[str, ...]:
    """Those of them that belong beside scores of any graph; None: one that is not in memory."""
    rare, at_fit = wording_of(clf, 0.9).rare, clf.skill()
    shown = at_fit if skill is None else skill
    base_rate = float(clf.shares_[clf.rare_class_])
    said = few_labels(at_fit.num_rare, rare) if shown.shown else shown.sentence(rare, base_rate)
    return tuple(words for words in (warn_of_leaks(() if graph is None else find_leaks(graph)), said) if words)


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
        f"hold. Fit again with {' '.join(map(leave_out, columns))}."
    )


def selection_of(clf: RareCategoryClassifier, graph: RareGraph) -> Selection | None:
    """How the labels that trained the model score beside nodes whose labels it has not read; None where there are none."""
    read = read_nodes(clf, graph)
    if read is None or clf.prior != "natural":
        return None
    others = np.setdiff1d(graph.scored, read)
    if not others.size:
        return None
    rare = clf.rare_class_
    weights = share_weights(clf.labelled_y_, clf.shares_)
    return label_selection(clf.predict_left_out()[:, rare], clf.predict_proba(graph)[others, rare], weights)
