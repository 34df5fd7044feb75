"""Logistic regression on the columns of 2.7, left out by the Newton step from its one optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Literal, Self

import numpy as np

from calirare.data.checks import is_number, is_whole
from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.left_out.contrast import as_logits, class_targets
from calirare.detectors.left_out.loss import CLEARLY, left_out_loss
from calirare.detectors.logistic.leverage import own_left_out, with_whitened
from calirare.detectors.logistic.optimum import Optimum, fit_logistic
from calirare.detectors.registry import register
from calirare.detectors.regression.choices import DesignChoices
from calirare.detectors.regression.design import Design
from calirare.detectors.regression.fitted import Regression, problem_of
from calirare.detectors.regression.own import OwnRegression
from calirare.detectors.stored import inside, need, numbers, under
from calirare.detectors.threads import blas_for
from calirare.errors import InputError

_FIRST_PENALTY = 1e-3
_LIGHT = 1e-2
"""From this penalty on, stronger ones are tried first."""
_STRONGEST, _WEAKEST = 0.1, 10**-4.5
_HALF_A_DECADE = 10**0.5
_NEAR = 1e-7
"""Decrease, in nats per label, that a Newton step may still promise when a fit is good enough to be judged."""


@dataclass(frozen=True, eq=False)
class _Fit:
    """One design with one penalty: an optimum per target (None where no label has the class), and its left-out loss."""

    design: Design
    penalty: float
    optima: list[Optimum | None]
    score: float


@register
class Linear(Detector):
    """Logistic regression on a node's columns; more than two classes: each against the rest.

    Dense columns become normal scores, so that heavy tails do not decide, and every family of them has the same say
    beforehand. Of the neighbours' columns it reads the plain means of their attributes, or all, or none; where what edges and
    structure say is most of the columns, it may leave that out. Words are read as they are, the node's and its neighbours' of up
    to three hops (`calirare.detectors.words`), or the dense columns beside them or in their place: whichever makes left-out
    labels likelier.

    Nodes without edges have a regression of their own, `own_`, on what is left of these columns where edges say nothing, under
    the same penalty. It is not used where left-out labels of such nodes are clearly likelier without it; where there are none,
    it is fitted when it is first asked for.

    Labels count alike, whatever `LabelledNodes.weights` say: cost-sensitive weights change the left-out likelihood after
    a Platt map by less than its noise, and without them the logits stay near the natural scale.

    Args:
        penalty: λ, relative to a mean loss; `"left_out"`: the one under which left-out labels are likeliest, after
            their logits are scaled and shifted as a calibrator will do.
        hops: How far words are carried; 0 leaves the neighbours' columns out; `"left_out"` chooses likewise.
    """

    name: ClassVar[str] = "linear"

    def __init__(self, penalty: float | Literal["left_out"] = "left_out", hops: int | Literal["left_out"] = "left_out"):
        self.penalty, self.hops = penalty, hops

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        self._check(labels)
        with blas_for(len(labels)):
            return self._fit(inputs, labels, seed)

    def _fit(self, inputs: DetectorInputs, labels: LabelledNodes, seed: int) -> Self:
        groups = np.unique(labels.groups, return_inverse=True)[1]
        choices = DesignChoices(inputs, labels, groups, self.hops, seed)
        targets = class_targets(labels.y, labels.num_classes)
        best = self._choose(choices, targets, groups)
        self.num_classes_ = labels.num_classes
        every = np.ones(len(labels), dtype=bool)
        self.main_, left_out = Regression.fit(best.design, best.penalty, best.optima, targets, groups, every, seed)
        alone = inputs.alone[labels.nodes]
        said = [_said(best, k) for k in range(len(targets))]
        own = OwnRegression(
            choices.without_edges(best.design), best.penalty, said, targets, groups, alone, left_out, seed
        )
        self._own: Regression | OwnRegression | None = own if own.design.size else None
        if own.design.size and alone.any():
            self._own, left_out = own.fit()
        self.left_out_ = as_logits(left_out)
        return self

    @property
    def own_(self) -> Regression | None:
        """The regression of nodes without edges; fitted when first asked for where no label is of such a node."""
        if isinstance(self._own, OwnRegression):
            self._own = self._own.fit()[0]
        return self._own

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_own"):
            self.own_  # noqa: B018  what it is fitted to is larger
        return dict(super().__getstate__())

    def _check(self, labels: LabelledNodes) -> None:
        if self.penalty != "left_out" and not (is_number(self.penalty) and float(self.penalty) > 0):
            raise InputError(f"penalty must be 'left_out' or a positive number; got {self.penalty!r}.")
        if self.hops != "left_out" and not (is_whole(self.hops) and 0 <= self.hops <= 8):
            raise InputError(f"hops must be 'left_out' or a whole number from 0 to 8; got {self.hops!r}.")
        labels.require_two_classes()

    def _choose(self, choices: DesignChoices, targets: np.ndarray, groups: np.ndarray) -> _Fit:
        """The design and the penalty under which left-out labels are likeliest."""
        best = self._along_penalties(choices.first, targets, groups)
        for design in choices.others():
            found = _fit(design, best.penalty, targets, groups, best)
            if best.design.words is not None and _better(best, found) is found:  # fewer hops: more need not be tried
                best = found
                break
            best = _better(best, found)
        seen = choices.with_all_landmarks(best.design)
        if seen is not best.design:
            best = _fit(seen, best.penalty, targets, groups, best)
        for design in choices.with_dense(best.design):
            found = _fit(design, best.penalty, targets, groups, best)
            if design.words is not None and found.score >= best.score and not choices.num_twice:
                break  # what is no help beside the words is none in their place
            best = _better(best, found)
        return _refine(best, targets, groups) if self.penalty == "left_out" else best

    def _along_penalties(self, design: Design, targets: np.ndarray, groups: np.ndarray) -> _Fit:
        if self.penalty != "left_out":
            return _fit(design, float(self.penalty), targets, groups)
        first = _fit(design, _FIRST_PENALTY, targets, groups)
        weaker = _fit(design, _FIRST_PENALTY / 10, targets, groups, first)
        if _better(first, weaker) is weaker:
            return weaker
        fits = [_fit(design, _LIGHT, targets, groups, first), first, weaker]
        if fits[0].score <= first.score:
            fits.insert(0, _fit(design, _STRONGEST, targets, groups, fits[0]))
        return reduce(_better, fits)

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        self._check_fitted()
        found, alone = self.main_.scores(inputs), inputs.alone
        if alone.any() and self.own_ is not None:
            found[alone] = self.own_.scores_at(inputs, np.flatnonzero(alone))
        return as_logits(found)

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self._check_fitted()
        alone = np.flatnonzero(inputs.alone)
        for some, found in self.main_.scores_without(inputs, np.asarray(rows)):
            if alone.size and self.own_ is not None:
                found[alone] = self.own_.scores_without_at(inputs, some, alone)
            yield some, as_logits(found)

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        self._check_fitted()
        found, alone = self.main_.scores_without_at(inputs, np.asarray(rows), nodes), inputs.alone[nodes]
        if alone.any() and self.own_ is not None:
            found[alone] = self.own_.scores_without_at(inputs, np.asarray(rows), nodes[alone])
        return as_logits(found)

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        return next(self.contributions_of(inputs, np.array([node]), rare_class))

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        self._check_fitted()
        own = inputs.alone[nodes]
        regression = self.own_ if own.any() else None
        own = own & (regression is not None)
        of_main = self.main_.contributions_of(inputs, nodes[~own], rare_class)
        of_own = of_main if regression is None else regression.contributions_of(inputs, nodes[own], rare_class)
        yield from (next(of_own if alone else of_main) for alone in own)

    def state(self) -> State:
        self._check_fitted()
        found: State = {"num_classes": self.num_classes_, "left_out": self.left_out_} | self.main_.state()
        return found if self.own_ is None else found | under("own", self.own_.state())

    def restore(self, state: State) -> Self:
        left_out = numbers(state, "left_out", 2)
        n, num_classes = left_out.shape
        need(state.get("num_classes") == num_classes >= 2, "the number of classes")
        num_targets, own = 1 if num_classes == 2 else num_classes, inside("own", state)
        self.main_ = Regression.restore(state, n, num_targets)
        self._own = Regression.restore(own, n, num_targets) if own else None
        need(self.own_ is None or set(self.main_.rows) <= set(self.own_.rows), "whose left-out models are kept")
        self.left_out_, self.num_classes_ = left_out, num_classes
        return self


def _fit(design: Design, penalty: float, targets: np.ndarray, groups: np.ndarray, start: _Fit | None = None) -> _Fit:
    """From where the same design stood, or from what another one says."""
    n, score = len(design.labelled), 0.0
    optima: list[Optimum | None] = []
    for k, target in enumerate(targets):
        if not 0 < target.sum() < n:
            optima.append(None)
            continue
        problem, before = problem_of(design, target), None
        if start:
            before = start.optima[k] if start.design is design else _said(start, k)
        found = with_whitened(problem, fit_logistic(problem, penalty, before, tolerance=_NEAR), penalty)
        score += left_out_loss(own_left_out(problem, found, penalty, groups, design.ties), target)
        optima.append(found)
    return _Fit(design, penalty, optima, score)


def _said(known: _Fit, k: int) -> np.ndarray | None:
    """`(n,)`: what a fit says of target k; None where no label has the class."""
    found = known.optima[k]
    return None if found is None else np.asarray(known.design.coordinates @ found.theta + found.intercept)


def _better(known: _Fit, new: _Fit) -> _Fit:
    """The new one where it is better by more than the best of a few would be by chance.

    Labels that mean nothing are told apart a little by some design or penalty; without the margin the choice picks it
    and the left-out evidence flatters.
    """
    return new if new.score < known.score - CLEARLY / len(known.design.labelled) else known


def _refine(best: _Fit, targets: np.ndarray, groups: np.ndarray) -> _Fit:
    """Half a decade at a time towards the better side, until that is no better; first where whole decades went.

    A weaker penalty must be clearly better, a stronger one, which flatters less, better.
    """
    factors = _HALF_A_DECADE, 1 / _HALF_A_DECADE
    for factor in factors if best.penalty >= _LIGHT else factors[::-1]:
        moved = False
        while _WEAKEST * 0.99 <= best.penalty * factor <= _STRONGEST * 1.01:
            found = _fit(best.design, best.penalty * factor, targets, groups, best)
            if found.score >= best.score or factor < 1 and _better(best, found) is best:
                break
            best, moved = found, True
        if moved:
            break
    return best
