"""What calls cost, what sets mean and which labels pull, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calirare.decisions.costs import Costs, Decisions
from calirare.estimator.class_words import say_class
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.uncertainty.pulls import Pulls


def say_decided(decisions: Sequence[str], refit: str = "calirare refit MODEL") -> str:
    """How many nodes of a queue have a decision that its model has not learned, and what teaches it; empty for none.

    Args:
        decisions: What people decided of them; “unsure” teaches nothing.
        refit: The command.

    >>> say_decided(["rare", "open", "unsure", "normal"])
    '2 nodes of this queue were decided at the desk, and the model has not learned them: calirare refit MODEL'
    >>> say_decided(["open"])
    ''
    """
    count = sum(one in ("rare", "normal") for one in decisions)
    nodes, them = ("1 node of this queue was", "it") if count == 1 else (f"{count:,} nodes of this queue were", "them")
    return f"{nodes} decided at the desk, and the model has not learned {them}: {refit}" if count else ""


def no_score(kind: str) -> str:
    """Why a node of a kind that carries no labels has no score."""
    return f"No label is of a node of this kind, {kind}: the model does not speak of it."


@dataclass(frozen=True, eq=False)
class Wording:
    """The names that sentences use.

    Args:
        class_names: One per class.
        rare_class: The one looked for.
        coverage: Of the intervals.
        ids: `(N,)` the users' names for the nodes of the graph that trained the model, or None where it is not at hand.
        label_column: The column that the labels came from, for a rare class that is called "yes" or "1".

    >>> Wording(("no", "yes"), 1, 0.9, label_column="is_fraud").rare, Wording(("ok", "fraud"), 1, 0.9).rare
    ('is_fraud = yes', 'fraud')
    >>> Wording(("нет", "Да"), 1, 0.9, label_column="бот").rare
    'бот = Да'
    """

    class_names: tuple[str, ...]
    rare_class: int
    coverage: float
    ids: np.ndarray | None = None
    label_column: str | None = None

    @property
    def rare(self) -> str:
        """What to call the rare class."""
        return self.name(self.rare_class)

    @property
    def other(self) -> str:
        """What to call all that is not rare.

        >>> Wording(("no", "yes"), 1, 0.9, label_column="is_fraud").other, Wording(("a", "b", "c"), 1, 0.9).other
        ('is_fraud = no', 'not b')
        """
        return self.name(1 - self.rare_class) if len(self.class_names) == 2 else f"not {self.rare}"

    def name(self, of_class: int) -> str:
        """What to call a class; one that is called "yes", "no" or a number, by its column too.

        >>> Wording(("no", "yes"), 1, 0.9, label_column="is_fraud").name(0)
        'is_fraud = no'
        """
        return say_class(self.class_names[of_class], self.label_column)


def wording_of(clf: RareCategoryClassifier, coverage: float, ids: np.ndarray | None = None) -> Wording:
    """The names that sentences about this model use."""
    label = (clf.schema_ or {}).get("label") or {}
    return Wording(tuple(clf.class_names_), clf.rare_class_, coverage, ids, label.get("column"))


def write_costs(probability: np.ndarray, decisions: Decisions, costs: Costs) -> np.ndarray:
    """One sentence per node: what each call is expected to cost.

    >>> from calirare.decisions.costs import decide
    >>> write_costs(np.array([0.3]), decide([0.3], Costs(50, 5, 1)), Costs(50, 5, 1))[0]
    'A review costs 1.00; without one the cheaper call, an alert, is expected to cost 3.50.'
    """
    expected = costs.expected(probability)
    rows = zip(
        decisions.action.tolist(),
        decisions.gain.tolist(),
        decisions.waiting.tolist(),
        *(expected[name].tolist() for name in ("alert", "review", "clear")),
        strict=True,
    )
    sentences = []
    for action, gain, waiting, alert, review, clear in rows:
        if action == "review":
            alone = "an alert" if alert <= clear else "clearing"
            why = f"A review costs {review:.2f}; without one the cheaper call, {alone}, is expected to cost {min(alert, clear):.2f}."
        elif waiting:
            done, other = _both(action, alert, clear)
            why = f"A review would save {gain:.2f}, but the budget goes to cases where it saves more; alone, {done}, {other}."
        else:
            done, other = _both(action, alert, clear)
            why = f"{done[0].upper()}{done[1:]}, {other}, a review {review:.2f}."
        sentences.append(why)
    return np.array(sentences, dtype=object)


def sets_beside(member: np.ndarray, action: np.ndarray, rare_class: int) -> np.ndarray:
    """The sets `(n, C)` as they are shown beside an action: what is done is never among what is ruled out.

    With extreme prices a node may be cleared although it is likely rare, or alerted although it is likely not. Then both
    stand in its set: the price decided, not certainty.

    >>> member = np.array([[False, True], [True, False], [True, False]])
    >>> sets_beside(member, np.array(["clear", "clear", "alert"]), rare_class=1)
    array([[ True,  True],
           [ True, False],
           [ True,  True]])
    """
    shown = member.copy()
    shown[action == "alert", rare_class] = True
    nothing_but_rare = shown[:, rare_class] & (shown.sum(axis=1) == 1)
    shown[(action == "clear") & nothing_but_rare] = True
    return shown


def explain_set(wording: Wording, probability: float, member: np.ndarray, thresholds: np.ndarray) -> str:
    """A set of two classes in terms of the probability, as one sentence.

    Args:
        wording: The names.
        probability: P(rare) of the node.
        member: `(2,)` whether each class is in the set that is shown.
        thresholds: `(2,)` from `calirare.uncertainty.conformal.conformal_thresholds`.

    >>> wording = Wording(("normal", "fraud"), 1, 0.9)
    >>> explain_set(wording, 0.01, np.array([True, False]), np.array([0.06, 0.98]))
    'P(fraud) is 0.010, below 0.020: at least 90% of fraud scores higher, so fraud is ruled out at 90%.'
    >>> explain_set(wording, 0.7, np.array([False, True]), np.array([0.06, 0.98]))
    'P(fraud) is 0.700, above 0.060: at least 90% of the others score lower, so all but fraud is ruled out at 90%.'
    >>> explain_set(wording, 0.08, np.array([True, True]), np.array([0.06, 0.98]))
    'P(fraud) is 0.080: fraud cannot be ruled out, though normal is likelier.'
    """
    rare, said = wording.rare, f"P({wording.rare}) is {share(probability)}"
    level = f"{100 * wording.coverage:g}%"
    least, most = 1 - thresholds[wording.rare_class], thresholds[1 - wording.rare_class]
    if not member[wording.rare_class]:
        return f"{said}, below {share(least)}: at least {level} of {rare} scores higher, so {rare} is ruled out at {level}."
    if not member[1 - wording.rare_class]:
        return f"{said}, above {share(most)}: at least {level} of the others score lower, so all but {rare} is ruled out at {level}."
    if not np.isfinite(thresholds).all():
        return f"{said}: with so few labels nothing can be ruled out at {level}."
    open_, likelier = (wording.other, rare) if probability > 0.5 else (rare, wording.other)
    return f"{said}: {open_} cannot be ruled out, though {likelier} is likelier."


def write_pulls(wording: Wording, found: Pulls) -> np.ndarray:
    """The labelled nodes that pull each probability, in words: `A0000012 (fraud) +0.120; …`; "" where none are told."""
    names = np.array(wording.class_names, dtype=object)
    said = np.full(len(found.node), "", dtype=object)
    for row in np.flatnonzero(found.told):
        said[row] = "; ".join(
            f"{wording.ids[node] if wording.ids is not None else f'training node {node}'} ({label}) {pull:+.3f}"
            for node, label, pull in zip(found.node[row], names[found.label[row]], found.pull[row], strict=True)
        )
    return said


def share(p: float) -> str:
    """A probability in words, never rounded to certainty.

    >>> share(0.1234), share(0.0001), share(0.99999)
    ('0.123', 'below 0.001', 'above 0.999')
    """
    if p < 0.001:
        return "below 0.001"
    return "above 0.999" if p > 0.999 else f"{p:.3f}"


def _both(action: str, alert: float, clear: float) -> tuple[str, str]:
    """What was done and what was not, with their costs."""
    if action == "alert":
        return f"an alert is expected to cost {alert:.2f}", f"clearing {clear:.2f}"
    return f"clearing is expected to cost {clear:.2f}", f"an alert {alert:.2f}"
