"""What a fit logs: columns that are made from labels, and that no skill is shown. Pages and screens say it first, too."""

from __future__ import annotations

import logging

from calirare.data.graph import RareGraph
from calirare.data.tables.findings.from_labels import made_from_labels, warn_of_made
from calirare.detectors.networks.network import Network
from calirare.estimator.class_words import say_class
from calirare.estimator.fitted import Fitted
from calirare.features.own import attributes_of
from calirare.uncertainty.skill import measure_skill

logger = logging.getLogger(__name__)


def log_beware(clf: Fitted, graph: RareGraph, made: tuple[str, ...]) -> None:
    """Log, as one warning, what must be known before any number of a model that was just fitted.

    Args:
        clf: Fitted.
        graph: The graph of the fit.
        made: Columns that the labels of the fit show to be made from labels.
    """
    words = [warn_of_made(made, is_honest_about(clf, graph, made)), _no_skill(clf)]
    if any(words):
        logger.warning("%s", " ".join(filter(None, words)))


def say_made(clf: Fitted, graph: RareGraph) -> str:
    """That columns of this graph are made from labels, and what the model makes of it; empty where none is."""
    made = made_from_labels(graph)
    return warn_of_made(made, is_honest_about(clf, graph, made))


def is_honest_about(clf: Fitted, graph: RareGraph, made: tuple[str, ...]) -> bool:
    """Whether the model reads these columns of the node itself alone."""
    recipe, names = clf.state_.recipe, graph.attribute_names
    if any(isinstance(member, Network) for member in clf.members_) or recipe is None:
        return not made
    return {names[k] for k in attributes_of(graph, made)} <= set(recipe.own.apart)


def _no_skill(clf: Fitted) -> str:
    """The sentence of a model that is not shown to know more than the base rate; empty where it is, or nothing was left out."""
    state, rare = clf.state_, clf.rare_class_
    if not state.left_out.size:
        return ""
    skill = measure_skill(state.left_out[:, rare], state.labels.y == rare)
    label = (clf.schema_ or {}).get("label") or {}
    name = say_class(clf.class_names_[rare], label.get("column"))
    return "" if skill.shown else skill.sentence(name, clf.base_rate_)
