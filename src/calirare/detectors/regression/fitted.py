"""A penalised logistic regression as it was fitted, and what it would be without each of its labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calirare.data.arrays import all_below
from calirare.detectors.base import Contributions, DetectorInputs, State
from calirare.detectors.left_out.contrast import rare_against_rest
from calirare.detectors.left_out.level import restore_shifts
from calirare.detectors.logistic.optimum import LogisticProblem, Optimum, fit_logistic
from calirare.detectors.logistic.without_groups import LeftOutModels, WithoutGroups
from calirare.detectors.regression.design import Design
from calirare.detectors.stored import need, numbers
from calirare.errors import InputError

_MOST_KEPT = 16_000_000
_FEWEST_KEPT = 1_024
_BLOCK = 64


def problem_of(design: Design, target: np.ndarray) -> LogisticProblem:
    """The problem of a target `(n,)`, 0 or 1; every label counts alike."""
    return LogisticProblem(design.coordinates, target, np.full(len(target), 1.0 / len(target)))


def leave_out(
    problem: LogisticProblem,
    optimum: Optimum,
    penalty: float,
    groups: np.ndarray,
    asked: np.ndarray,
    design: Design,
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, LeftOutModels]:
    """`(n,)` left-out scores of a target, `(n,)` their shifts to a common level, and the left-out models of `rows`."""
    without = WithoutGroups(problem, optimum, penalty, groups, design.ties)
    steps = without.steps(asked)
    kept = LeftOutModels(steps[groups[rows]].astype(np.float32, copy=False), without.root, design.basis)
    shifts = -without.level_changes(steps)[groups]
    return without.left_out(steps) + shifts, shifts, kept


@dataclass(frozen=True, eq=False)
class Regression:
    """Scores of K targets: the second class of two, or each class against the rest.

    Args:
        design: The columns.
        penalty: λ.
        theta: `(K, R)` coefficients.
        intercept: `(K,)`.
        shifts: `(n, K)` what brings the scores without each label to a common level.
        rows: `(m,)` labels whose left-out models are kept.
        models: Those, of each target.
    """

    design: Design
    penalty: float
    theta: np.ndarray
    intercept: np.ndarray
    shifts: np.ndarray
    rows: np.ndarray
    models: Sequence[LeftOutModels]

    @classmethod
    def fit(
        cls,
        design: Design,
        penalty: float,
        near: Sequence[Optimum | np.ndarray | None],
        targets: np.ndarray,
        groups: np.ndarray,
        asked: np.ndarray,
        seed: int,
    ) -> tuple[Self, np.ndarray]:
        """The regression, and `(n, K)` its left-out scores.

        Args:
            design: The columns.
            penalty: λ.
            near: Of each target what `fit_logistic` may start from; None where no label has the class.
            targets: `(K, n)` 0 or 1.
            groups: `(n,)` labels that are left out together.
            asked: `(n,)` labels whose own left-out scores count; of others one Newton step is enough.
            seed: Of which left-out models are kept where they are many.
        """
        (num_targets, n), size = targets.shape, design.size
        rows = np.random.default_rng(seed).permutation(n)[: max(_FEWEST_KEPT, _MOST_KEPT // max(size, 1))]
        theta, intercept = np.zeros((num_targets, size)), np.full(num_targets, np.log(0.5 / (n + 0.5)))
        left_out, shifts = np.tile(intercept, (n, 1)), np.zeros((n, num_targets))
        models = [LeftOutModels(np.zeros((len(rows), size), dtype=np.float32))] * num_targets
        for k, (target, start) in enumerate(zip(targets, near, strict=True)):
            if start is not None:
                problem = problem_of(design, target)
                found = fit_logistic(problem, penalty, start)
                theta[k], intercept[k] = design.in_columns(found.theta), found.intercept
                left_out[:, k], shifts[:, k], models[k] = leave_out(
                    problem, found, penalty, groups, asked, design, rows
                )
        return cls(design, penalty, theta, intercept, shifts, rows, models), left_out

    def rescaled(self, slope: np.ndarray, shift: np.ndarray) -> Regression:
        """With every score, left out or not, replaced by slope · score + shift; both are `(K,)`."""
        models = [
            replace(one, steps=np.float32(a) * one.steps) for a, one in zip(slope.tolist(), self.models, strict=True)
        ]
        intercept = slope * self.intercept + shift
        return replace(
            self, theta=slope[:, None] * self.theta, intercept=intercept, shifts=slope * self.shifts, models=models
        )

    def scores(self, inputs: DetectorInputs, dense: np.ndarray | None = None) -> np.ndarray:
        """`(N, K)`; `dense`: the design's `dense_values`."""
        return self.design.scores(inputs, self.theta.T, dense) + self.intercept

    def scores_at(self, inputs: DetectorInputs, nodes: np.ndarray) -> np.ndarray:
        """`(n, K)`, of a few nodes."""
        return self.design.scores_at(inputs, nodes, self.theta.T) + self.intercept

    def scores_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks `(some of rows, (N, b, K))`."""
        places, dense = self._places(rows), self.design.dense_values(inputs)
        base = self.scores(inputs, dense)
        for start in range(0, len(rows), _BLOCK):
            some, kept = rows[start : start + _BLOCK], self._directions(places[start : start + _BLOCK])
            changes = np.stack([self.design.scores(inputs, one, dense) for one in kept], axis=-1)
            yield some, base[:, None] + changes + self.shifts[some]

    def scores_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """`(len(nodes), len(rows), K)`."""
        kept = self._directions(self._places(rows))
        changes = np.stack([self.design.scores_at(inputs, nodes, one) for one in kept], axis=-1)
        return self.scores_at(inputs, nodes)[:, None] + changes + self.shifts[rows]

    def _directions(self, places: np.ndarray) -> list[np.ndarray]:
        """`(R, len(places))` of each target: how θ moves when the labels kept there are left out."""
        return [models.directions[:, places].astype(np.float64) for models in self.models]

    def _places(self, rows: np.ndarray) -> np.ndarray:
        """Where the left-out models of these labels are kept."""
        place = np.full(len(self.shifts), -1)
        place[self.rows] = np.arange(len(self.rows))
        if (place[rows] < 0).any():
            raise InputError(f"only {len(self.rows)} of {len(place)} left-out models are kept; ask for those in rows.")
        return place[rows]

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        for found in self.design.shares(inputs, nodes, self.theta.T):
            total = found.shares.sum(axis=0) + found.base + self.intercept
            turn, constant = rare_against_rest(total, rare_class)
            base = float((found.base + self.intercept) @ turn + constant)
            yield Contributions(base, found.names, found.groups, found.shares @ turn)

    def state(self) -> State:
        return {
            "penalty": self.penalty,
            "theta": self.theta,
            "intercept": self.intercept,
            "rows": self.rows,
            "directions": np.stack([models.directions for models in self.models]),
            "shifts": self.shifts,
        } | self.design.state()

    @classmethod
    def restore(cls, state: State, num_labels: int, num_targets: int) -> Self:
        design, theta = Design.restore(state), numbers(state, "theta", 2)
        intercept = numbers(state, "intercept", 1, size=num_targets)
        need(theta.shape == (num_targets, design.size), "the coefficients")
        rows = numbers(state, "rows", 1, kind="i")
        need(rows.size > 0 and all_below(rows, num_labels), "the rows of left-out models")
        directions = numbers(state, "directions", 3, size=num_targets).astype(np.float32)
        need(directions.shape[1:] == (design.size, len(rows)), "the left-out models")
        penalty = state.get("penalty")
        need(isinstance(penalty, float) and 0 < penalty < np.inf, "the penalty")
        models = [LeftOutModels(one.T) for one in directions]
        shifts = restore_shifts(state, (num_labels, num_targets))
        return cls(design, float(penalty or 0.0), theta, intercept, shifts, rows, models)
