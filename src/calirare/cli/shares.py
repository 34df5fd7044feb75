"""`--rare-share`: scores for a population with more or fewer rare nodes than at the fit, and what is said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calirare.cli import console
from calirare.errors import InputError, LabelError

if TYPE_CHECKING:
    from calirare.data.graph import RareGraph
    from calirare.data.tables.shift import Shifts
    from calirare.estimator.classifier import RareCategoryClassifier

ESTIMATE = "estimate"
_SURE = 0.99
"""Coverage of the interval that must leave out the share of the fit before anybody is told unasked."""
RareShare = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|estimate",
        help="Share of rare nodes in these tables, where it is another than at the fit; estimate: read off the scores.",
    ),
]


def move_to_share(
    classifier: RareCategoryClassifier, graph: RareGraph | None, said: str | None, shifts: Shifts | None = None
) -> tuple[RareCategoryClassifier, dict[str, Any]]:
    """The model at the share that was asked for, and what is to be known of it, as plain data.

    Args:
        classifier: As fitted.
        graph: The nodes to score; None: they are not in memory at once.
        said: The option's text, or None.
        shifts: Of the tables; where one is large, more has changed than the share, and nothing is told unasked.
    """
    at_fit = classifier.base_rate_
    facts: dict[str, Any] = {"at_fit": at_fit, "used": at_fit}
    if said == ESTIMATE and graph is None:
        raise InputError("in parts, the share of rare nodes cannot be estimated; give --rare-share a number.")
    if graph is not None and (said == ESTIMATE or (said is None and not (shifts and shifts.matters))):
        facts |= _estimate(classifier, graph, asked=said == ESTIMATE)
    if said is None:
        return classifier, facts
    facts["used"] = facts["estimate"]["value"] if said == ESTIMATE else _number(said)
    if graph is not None and said != ESTIMATE:
        facts |= _refuted(classifier, graph, facts["used"])
    return classifier.with_rare_share(facts["used"]), facts


def _estimate(classifier: RareCategoryClassifier, graph: RareGraph, asked: bool) -> dict[str, Any]:
    """The estimate where it was asked for; unasked where the share is surely another than at the fit, and can be trusted.

    That not one node is rare is no news of their share: then the scores have sunk for another reason. Nor is any share where
    the scores are those of the fit: by the labels it was another there too.
    """
    from calirare.decisions.wording import wording_of
    from calirare.estimator.score_profile import scores_have_moved

    if not asked:
        able = classifier.calibrator_ is not None and classifier.prior == "natural"
        scores = classifier.predict_proba(graph)[graph.unlabelled, classifier.rare_class_]
        if not able or not scores_have_moved(scores, classifier.state_.scores):
            return {}
    try:
        found = classifier.estimate_rare_share(graph, coverage=0.9 if asked else _SURE)
    except LabelError:
        if asked:
            raise
        return {}
    at_fit = classifier.base_rate_
    none = found.value * graph.scored.size < 1
    if not asked and (found.lower <= at_fit <= found.upper or none or not found.explained):
        return {}
    words = found.sentence(wording_of(classifier, 0.9).rare, at_fit)
    return {
        "estimate": {"value": found.value, "lower": found.lower, "upper": found.upper, "explained": found.explained},
        "words": words,
    }


def _refuted(classifier: RareCategoryClassifier, graph: RareGraph, given: float) -> dict[str, Any]:
    """What to say of a share that the scores rule out; nothing where they can tell no share."""
    from calirare.decisions.wording import wording_of

    if classifier.calibrator_ is None or classifier.prior != "natural":
        return {}
    try:
        found = classifier.estimate_rare_share(graph, coverage=_SURE)
    except LabelError:
        return {}
    if not found.explained or found.lower <= given <= found.upper:
        return {}
    told = found.sentence(wording_of(classifier, 0.9).rare, classifier.base_rate_)
    return {"words": f"{told} The share given, {given:.4g}, is far from that: is it a share of these nodes?"}


def show_share(facts: dict[str, Any]) -> None:
    """Print at which share the probabilities are, where it is not that of the fit, and what the scores say of it."""
    if "words" in facts:
        console.show(facts["words"])
    if facts["used"] != facts["at_fit"]:
        console.show(
            f"Probabilities, intervals and sets are at a rare share of {facts['used']:.4g}, not {facts['at_fit']:.4g} as at the fit."
        )
    elif "words" in facts:
        console.show(
            "Probabilities, and what is forecast from them, are at the share of the fit; --rare-share moves them."
        )


def _number(said: str) -> float:
    try:
        return float(said)
    except ValueError:
        raise InputError(f"--rare-share must be a number between 0 and 1, or estimate; got {said!r}.") from None
