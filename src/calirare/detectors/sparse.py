"""Logistic regression on a few columns, found one small step at a time.

Some hundred columns are read, and often one of them tells nearly all. A penalty that all share hides it where labels are few. So
coefficients θ begin at zero, and each step moves a single one (componentwise boosting, key `buhlmann2003`): with p the probabilities
so far of labels y, and columns x_j of mean 0 and spread 1,

    g_j = Σ_i x_ij (y_i − p_i) ,   h_j = 1 + Σ_i x_ij² p_i (1 − p_i) ,   j* = argmax g_j² / h_j ,   θ_j* += ν g_j* / h_j*

and the intercept follows by a Newton step. As steps grow, these are nearly the solutions of the lasso. The 1 in h_j is one half of a
squared coefficient: what stands apart at one label alone hardly moves. Labels are left out in folds, each of which chooses columns of its
own; they also say how many steps to take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import expit

from calirare.data.arrays import all_below
from calirare.data.checks import check_count
from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.left_out.contrast import as_logits, class_targets, rare_against_rest
from calirare.detectors.left_out.folds import spread_over_folds
from calirare.detectors.left_out.level import other_nodes, restore_shifts
from calirare.detectors.left_out.loss import CLEARLY, loss_by_class
from calirare.detectors.registry import register
from calirare.detectors.regression.squash import Squash
from calirare.detectors.stored import inside, need, numbers, under, whole
from calirare.detectors.threads import blas_for
from calirare.errors import InputError
from calirare.features.columns import Columns

_MOST_STEPS = 300
_EVERY = 10
"""Steps after which left-out labels are asked."""
_PATIENCE = 6
"""So often without a smaller loss, and no more steps are taken."""
_LEAST_SPREAD = 0.05
"""Of normal scores: columns that vary at hardly any node are not blown up."""
_SEEN = 1_024
"""Nodes, labelled or not, by which columns are brought to mean 0 and spread 1."""
_BLOCK_NUMBERS = 8_000_000


@register
class Sparse(Detector):
    """Logistic regression on a few dense columns; more than two classes: each against the rest.

    Columns become normal scores, so that heavy tails do not decide. Words are not read as they are. Labels count alike, whatever
    `LabelledNodes.weights` say.

    Args:
        steps: How many; `"left_out"`: as many, up to 300, as make the labels of the folds likeliest.
        rate: ν, how much of a Newton step is taken.
    """

    name: ClassVar[str] = "sparse"

    def __init__(self, steps: int | Literal["left_out"] = "left_out", rate: float = 0.15) -> None:
        self.steps, self.rate = steps, rate

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        self._check(labels)
        values = inputs.columns.values
        squash = Squash.learn(values, seed)
        rows, some = squash(values[labels.nodes]), np.random.default_rng(seed).permutation(len(values))[:_SEEN]
        seen = squash(values[np.sort(some)])
        middle, scale = seen.mean(axis=0), 1 / np.maximum(seen.std(axis=0), _LEAST_SPREAD)
        around = squash(values[other_nodes(inputs.num_nodes, labels.nodes, seed)])
        level = ((around.mean(axis=0) - middle) if len(around) else np.zeros_like(middle)) * scale
        self.folds_ = spread_over_folds(labels, seed)
        with blas_for(len(labels)):
            path = _Path(
                (rows - middle) * scale, class_targets(labels.y, labels.num_classes), self.folds_, level, self.rate
            )
            self.steps_ = self._walk(path, labels)
        theta, intercept = path.after[self.steps_]
        self.chosen_ = np.flatnonzero(theta.any(axis=(1, 2)))
        self.num_columns_, self.squash_ = values.shape[1], squash.take(self.chosen_)
        self.middle_, self.scale_ = middle[self.chosen_], scale[self.chosen_]
        self.fold_theta_, self.theta_ = theta[self.chosen_, :-1].swapaxes(0, 1), theta[self.chosen_, -1]
        self.fold_intercept_, self.intercept_ = intercept[:-1], intercept[-1]
        self.left_out_, self.shifts_ = as_logits(path.scores(self.steps_)), path.shifts(self.steps_)
        return self

    def _walk(self, path: _Path, labels: LabelledNodes) -> int:
        """Takes the steps; how many to keep: the fewest by which left-out labels are as likely as by the best, up to chance."""
        if self.steps != "left_out":
            path.walk(int(self.steps))
            return int(self.steps)
        losses = {0: loss_by_class(as_logits(path.scores(0)), labels.y)}
        while path.steps < _MOST_STEPS and path.steps - min(losses, key=losses.__getitem__) < _PATIENCE * _EVERY:
            path.walk(_EVERY)
            losses[path.steps] = loss_by_class(as_logits(path.scores(path.steps)), labels.y)
        best, chance = min(losses.values()), CLEARLY / len(labels)
        if losses[0] - best < 2 * chance:  # the best column of hundreds tells something of any labels
            return 0
        return next(steps for steps, loss in losses.items() if loss <= best + chance)

    def _check(self, labels: LabelledNodes) -> None:
        if self.steps != "left_out":
            check_count(self.steps, "steps")
        if not 0 < self.rate <= 1:
            raise InputError(f"rate must lie above 0 and be at most 1; got {self.rate!r}.")
        labels.require_two_classes()

    def skip(self) -> str | None:
        return None if self.chosen_.size else "no column tells labels that it did not see"

    def _rows(self, columns: Columns, nodes: np.ndarray | slice) -> np.ndarray:
        """`(n, R)` the chosen columns of some nodes."""
        self._check_fitted()
        if columns.values.shape[1] != self.num_columns_:
            raise InputError(
                f"the graph must have the {self.num_columns_} columns of the fit; it has {columns.values.shape[1]}."
            )
        return (self.squash_(columns.values[nodes][:, self.chosen_]) - self.middle_) * self.scale_

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        return as_logits(self._rows(inputs.columns, slice(None)) @ self.theta_ + self.intercept_)

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        found = self._rows(inputs.columns, slice(None))
        block = max(1, _BLOCK_NUMBERS // max(1, inputs.num_nodes))
        for start in range(0, len(rows), block):
            some = np.asarray(rows)[start : start + block]
            yield some, self._without(found, some)

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        return self._without(self._rows(inputs.columns, nodes), np.asarray(rows))

    def _without(self, found: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """`(n, len(rows), C)`: by the fold that missed each label, on the level of all."""
        folds = self.folds_[rows]
        scores = np.einsum("nr,frk->nfk", found, self.fold_theta_)[:, folds]
        return as_logits(scores + self.fold_intercept_[folds] + self.shifts_[rows])

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        return next(self.contributions_of(inputs, np.array([node]), rare_class))

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        columns = inputs.columns
        names = tuple(columns.names[k] for k in self.chosen_)
        groups = tuple(columns.groups[k] for k in self.chosen_)
        for row in self._rows(columns, nodes):
            shares = row[:, None] * self.theta_
            turn, constant = rare_against_rest(shares.sum(axis=0) + self.intercept_, rare_class)
            yield Contributions(float(self.intercept_ @ turn + constant), names, groups, shares @ turn)

    def state(self) -> State:
        self._check_fitted()
        return {
            "steps": self.steps_,
            "num_columns": self.num_columns_,
            "chosen": self.chosen_,
            "middle": self.middle_,
            "scale": self.scale_,
            "theta": self.theta_,
            "intercept": self.intercept_,
            "fold_theta": self.fold_theta_,
            "fold_intercept": self.fold_intercept_,
            "folds": self.folds_,
            "left_out": self.left_out_,
            "shifts": self.shifts_,
        } | under("squash", self.squash_.state())

    def restore(self, state: State) -> Self:
        left_out = numbers(state, "left_out", 2)
        n, num_classes = left_out.shape
        need(num_classes >= 2, "the number of classes")
        num_targets = 1 if num_classes == 2 else num_classes
        num_columns, chosen = whole(state, "num_columns", 1), numbers(state, "chosen", 1, kind="i")
        need(all_below(chosen, num_columns), "which columns are read")
        folds = numbers(state, "folds", 1, size=n, kind="i")
        fold_intercept = numbers(state, "fold_intercept", 2)
        need(folds.size > 0 and all_below(folds, len(fold_intercept)), "the folds")
        theta, fold_theta = numbers(state, "theta", 2), numbers(state, "fold_theta", 3)
        need(theta.shape == (chosen.size, num_targets), "the coefficients")
        need(fold_theta.shape == (len(fold_intercept), *theta.shape), "the coefficients of the folds")
        need(fold_intercept.shape[1] == num_targets, "the intercepts of the folds")
        squash = Squash.restore(inside("squash", state))
        need(len(squash.knots) == chosen.size, "the knots")
        self.intercept_ = numbers(state, "intercept", 1, size=num_targets)
        self.middle_, self.scale_ = (numbers(state, name, 1, size=chosen.size) for name in ("middle", "scale"))
        self.shifts_ = restore_shifts(state, (n, num_targets))
        self.steps_, self.num_columns_, self.chosen_, self.squash_ = whole(state, "steps"), num_columns, chosen, squash
        self.theta_, self.fold_theta_, self.fold_intercept_ = theta, fold_theta, fold_intercept
        self.folds_, self.left_out_ = folds, left_out
        return self


@dataclass(eq=False)
class _Path:
    """The steps of every fold, and of all labels, side by side.

    Args:
        x: `(n, D)` the columns of the labelled nodes.
        targets: `(K, n)` 0 or 1.
        folds: `(n,)` F folds; each misses its labels.
        level: `(D,)` means of the columns among other nodes: what each fold says of these is brought to one level.
        rate: ν.
    """

    x: np.ndarray
    targets: np.ndarray
    folds: np.ndarray
    level: np.ndarray
    rate: float

    def __post_init__(self) -> None:
        n, count = len(self.folds), int(self.folds.max()) + 2
        self.y = np.tile(self.targets.T, count)  # by fold, then by target
        kept = np.ones((n, count))
        kept[np.arange(n), self.folds] = 0.0
        self.read = np.repeat(kept, len(self.targets), axis=1)
        seen = self.read.sum(axis=0)
        share = ((self.read * self.y).sum(axis=0) + 0.5) / (seen + 1)
        self.intercept = np.log(share / (1 - share))
        self.theta = np.zeros((self.x.shape[1], self.y.shape[1]))
        self.z = np.tile(self.intercept, (n, 1))
        self.steps, self.squares = 0, np.square(self.x)
        self.after: dict[int, tuple[np.ndarray, np.ndarray]] = {0: self._now()}

    def _now(self) -> tuple[np.ndarray, np.ndarray]:
        """(θ `(D, F + 1, K)`, intercepts `(F + 1, K)`), those of all labels last."""
        shape = -1, len(self.targets)
        return self.theta.reshape(len(self.theta), *shape).copy(), self.intercept.reshape(shape).copy()

    def walk(self, steps: int) -> None:
        """So many steps more."""
        every, bend = np.arange(self.y.shape[1]), np.empty(0)
        for step in range(steps):
            p = expit(self.z)
            pull = self.read * (self.y - p)
            if step % _EVERY == 0:
                bend = 1.0 + self.squares.T @ (self.read * p * (1 - p))
            slope = self.x.T @ pull
            best = np.argmax(np.square(slope) / bend, axis=0)
            move = self.rate * slope[best, every] / bend[best, every]
            self.theta[best, every] += move
            self.z += self.x[:, best] * move
            p = expit(self.z)
            curve = (self.read * p * (1 - p)).sum(axis=0)
            lift = (self.read * (self.y - p)).sum(axis=0) / (1.0 + curve)
            self.intercept, self.z = self.intercept + lift, self.z + lift
        self.steps += steps
        self.after[self.steps] = self._now()

    def shifts(self, steps: int) -> np.ndarray:
        """`(n, K)` what brings each label's fold to the level of all labels' model."""
        theta, intercept = self.after[steps]
        levels = np.einsum("d,dfk->fk", self.level, theta) + intercept
        found: np.ndarray = (levels[-1] - levels)[self.folds]
        return found

    def scores(self, steps: int) -> np.ndarray:
        """`(n, K)` of the labels, each by the fold that misses it, on one level."""
        theta, intercept = self.after[steps]
        found = np.empty((len(self.folds), len(self.targets)))
        for fold in range(len(intercept) - 1):
            mine = self.folds == fold
            found[mine] = self.x[mine] @ theta[:, fold] + intercept[fold]
        return found + self.shifts(steps)
