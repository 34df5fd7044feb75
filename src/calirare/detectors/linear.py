"""Logistic regression on the columns of 2.7, left out by the Newton step from its one optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Literal, Self

import numpy as np

from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.contrast import as_logits, rare_against_rest
from calirare.detectors.level import restore_shifts
from calirare.detectors.leverage import own_left_out
from calirare.detectors.linear_design import Design, DesignChoices
from calirare.detectors.logistic import (
    CLEARLY,
    Optimum,
    Problem,
    fit_logistic,
    left_out_loss,
    newton_from,
)
from calirare.detectors.registry import register
from calirare.detectors.stored import need, numbers
from calirare.detectors.threads import blas_for
from calirare.detectors.without_groups import LeftOutModels, WithoutGroups
from calirare.errors import InputError

_FIRST_PENALTY = 1e-3
_LIGHT = 1e-2
"""From here on a penalty is first made stronger still."""
_STRONGEST, _WEAKEST = 0.1, 10**-4.5
_HALF_A_DECADE = 10**0.5
_NEAR = 1e-5
"""What a Newton step still promises where a fit is good enough to be judged, in nats per label."""
_MOST_KEPT = 16_000_000
_FEWEST_KEPT = 1_024
_BLOCK = 64


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
    beforehand. Of the neighbours' columns it reads the plain means of their attributes, or all, or none. Words are read as they
    are, the node's and its neighbours' of up to three hops (`calirare.detectors.words`), or the dense columns beside them or in
    their place: whichever makes left-out labels likelier.

    Labels count alike, whatever `LabelledNodes.weights` say: cost-sensitive weights change the left-out likelihood after
    a Platt map by less than its noise, and without them the logits stay near the natural scale.

    Args:
        penalty: λ, relative to a mean loss; `"left_out"`: the one under which left-out labels are likeliest, after
            their logits are scaled and shifted as a calibrator will do.
        hops: How far words are carried; 0 leaves the neighbours' columns out; `"left_out"` chooses likewise.
    """

    name: ClassVar[str] = "linear"
    learned: ClassVar[str] = "theta_"

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
        targets = _targets(labels)
        best = self._choose(choices, targets, groups)
        design, n, size = best.design, len(labels), best.design.size
        self.num_classes_, self.penalty_, self.design_ = labels.num_classes, best.penalty, design
        kept = min(n, max(_FEWEST_KEPT, _MOST_KEPT // max(size, 1)))
        rows = np.random.default_rng(seed).permutation(n)[:kept]
        self.rows_, self.left_out_models_ = rows, list[LeftOutModels]()
        self.theta_, self.intercept_ = np.zeros((len(targets), size)), np.full(len(targets), np.log(0.5 / (n + 0.5)))
        left_out, shifts = np.empty((n, len(targets))), np.zeros((n, len(targets)))
        for k, (target, near) in enumerate(zip(targets, best.optima, strict=True)):
            left_out[:, k] = self.intercept_[k]
            if near is None:
                self.left_out_models_.append(LeftOutModels(np.zeros((kept, size), dtype=np.float32)))
            else:
                problem = Problem(design.coordinates, target, np.full(n, 1.0 / n))
                found = fit_logistic(problem, best.penalty, near)
                self.theta_[k], self.intercept_[k] = design.in_columns(found.theta), found.intercept
                left_out[:, k], shifts[:, k] = self._leave_out(problem, found, groups)
        self.left_out_, self.shifts_ = as_logits(left_out), shifts
        return self

    def _leave_out(self, problem: Problem, optimum: Optimum, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Left-out logits of a target, and their shifts to a common level; the models of some labels are kept."""
        without = WithoutGroups(problem, optimum, self.penalty_, groups, self.design_.ties)
        steps = without.steps()
        kept = steps[groups[self.rows_]].astype(np.float32, copy=False)
        self.left_out_models_.append(LeftOutModels(kept, without.root, self.design_.basis))
        shifts = -without.level_changes(steps)[groups]
        return without.left_out(steps) + shifts, shifts

    def _check(self, labels: LabelledNodes) -> None:
        if self.penalty != "left_out" and not (isinstance(self.penalty, int | float) and 0 < self.penalty < np.inf):
            raise InputError(f"penalty must be 'left_out' or a positive number; got {self.penalty!r}.")
        whole = isinstance(self.hops, int) and not isinstance(self.hops, bool)
        if self.hops != "left_out" and not (whole and 0 <= int(self.hops) <= 8):
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
            best = _better(best, _fit(design, best.penalty, targets, groups, best))
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
        return as_logits(self.design_.scores(inputs, self.theta_.T) + self.intercept_)

    def left_out_logits(self) -> np.ndarray:
        self._check_fitted()
        return self.left_out_.copy()

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self._check_fitted()
        rows = np.asarray(rows)
        places, dense = self._places(rows), self.design_.dense_values(inputs)
        base = self.design_.scores(inputs, self.theta_.T, dense) + self.intercept_
        for start in range(0, len(rows), _BLOCK):
            some = rows[start : start + _BLOCK]
            kept = self._directions(places[start : start + _BLOCK])
            changes = np.stack([self.design_.scores(inputs, one, dense) for one in kept], axis=-1)
            yield some, as_logits(base[:, None] + changes + self.shifts_[some])

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        self._check_fitted()
        kept = self._directions(self._places(np.asarray(rows)))
        base = self.design_.scores_at(inputs, nodes, self.theta_.T) + self.intercept_
        changes = np.stack([self.design_.scores_at(inputs, nodes, one) for one in kept], axis=-1)
        return as_logits(base[:, None] + changes + self.shifts_[rows])

    def _directions(self, places: np.ndarray) -> list[np.ndarray]:
        """`(R, len(places))` of each target: how θ moves when the labels kept there are left out."""
        return [models.directions[:, places].astype(np.float64) for models in self.left_out_models_]

    def _places(self, rows: np.ndarray) -> np.ndarray:
        """Where the left-out models of these labels are kept."""
        place = np.full(len(self.left_out_), -1)
        place[self.rows_] = np.arange(len(self.rows_))
        if (place[rows] < 0).any():
            raise InputError(
                f"only {len(self.rows_)} of {len(place)} left-out models are kept; ask for those in rows_."
            )
        return np.asarray(place[rows])

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        return next(self.contributions_of(inputs, np.array([node]), rare_class))

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        self._check_fitted()
        for found in self.design_.shares(inputs, nodes, self.theta_.T):
            total = found.shares.sum(axis=0) + found.base + self.intercept_
            turn, constant = rare_against_rest(total, rare_class)
            base = float((found.base + self.intercept_) @ turn + constant)
            yield Contributions(base, found.names, found.groups, found.shares @ turn)

    def state(self) -> State:
        self._check_fitted()
        return {
            "num_classes": self.num_classes_,
            "penalty": self.penalty_,
            "theta": self.theta_,
            "intercept": self.intercept_,
            "left_out": self.left_out_,
            "rows": self.rows_,
            "directions": np.stack([models.directions for models in self.left_out_models_]),
            "shifts": self.shifts_,
        } | self.design_.state()

    def restore(self, state: State) -> Self:
        design = Design.restore(state)
        theta, left_out = numbers(state, "theta", 2), numbers(state, "left_out", 2)
        intercept = numbers(state, "intercept", 1, size=len(theta))
        num_classes = left_out.shape[1]
        need(state.get("num_classes") == num_classes >= 2, "the number of classes")
        need(theta.shape == (1 if num_classes == 2 else num_classes, design.size), "the coefficients")
        rows = numbers(state, "rows", 1, kind="i")
        need(rows.size > 0 and 0 <= rows.min() and rows.max() < len(left_out), "the rows of left-out models")
        directions = numbers(state, "directions", 3, size=len(theta)).astype(np.float32)
        need(directions.shape[1:] == (design.size, len(rows)), "the left-out models")
        penalty = state.get("penalty")
        need(isinstance(penalty, float) and 0 < penalty < np.inf, "the penalty")
        self.design_, self.theta_, self.intercept_, self.left_out_ = design, theta, intercept, left_out
        self.rows_, self.num_classes_ = rows, num_classes
        self.left_out_models_ = [LeftOutModels(one.T) for one in directions]
        self.shifts_ = restore_shifts(state, (len(left_out), len(theta)))
        self.penalty_ = float(penalty or 0.0)
        return self


def _targets(labels: LabelledNodes) -> np.ndarray:
    """`(K, n)`: the second class of two, or each class against the rest."""
    classes = [1] if labels.num_classes == 2 else range(labels.num_classes)
    return np.stack([(labels.y == k).astype(np.float64) for k in classes])


def _fit(design: Design, penalty: float, targets: np.ndarray, groups: np.ndarray, start: _Fit | None = None) -> _Fit:
    """From where the same design stood, or from what another one says."""
    n, score = len(design.labelled), 0.0
    optima: list[Optimum | None] = []
    for k, target in enumerate(targets):
        if not 0 < target.sum() < n:
            optima.append(None)
            continue
        problem = Problem(design.coordinates, target, np.full(n, 1.0 / n))
        before = start.optima[k] if start else None
        if start and before and start.design is not design:
            before = newton_from(problem, start.design.coordinates @ before.theta + before.intercept, penalty)
        found = fit_logistic(problem, penalty, before, tolerance=_NEAR, fresh=True)
        score += left_out_loss(own_left_out(problem, found, penalty, groups, design.ties), target)
        optima.append(found)
    return _Fit(design, penalty, optima, score)


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
