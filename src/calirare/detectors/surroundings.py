"""Logistic regression on what comes along the edges of the attributes of many nodes around.

With Z `(N, R)` the attributes as normal scores, or what edges and structure say where there are none, and P = D^-1 A the mean over
neighbours, every node has

    t = P g ,    g = Σ_s (αP)^s Z ,    s = 0 … 23 ,

up to its scale a mean over nodes up to two dozen steps away: a step further counts α = 0.95 times as much, and a node's own attributes not at all but
by way of others. Where like keeps to like that is far steadier than a node's own words and those of its neighbours, and with a handful
of labels nothing tells more; where it does not, left-out labels say so.

A score is θᵀt + b, a mean over neighbours of θᵀg + b, and that is what every node of the fit passes on (`calirare.detectors.passing`).
Labels are left out in folds, whose scores are passed on beside those of all labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import logit

from calirare.data.checks import check_count, is_number
from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.left_out.contrast import against_others, as_logits, class_targets
from calirare.detectors.left_out.folds import spread_over_folds
from calirare.detectors.left_out.level import other_nodes
from calirare.detectors.left_out.loss import CLEARLY, loss_by_class
from calirare.detectors.logistic.optimum import LogisticProblem, fit_logistic
from calirare.detectors.passing import Passed, scale_of, spread
from calirare.detectors.registry import register
from calirare.detectors.regression.squash import Squash
from calirare.detectors.stored import need, numbers
from calirare.detectors.threads import blas_for
from calirare.errors import InputError, LabelError
from calirare.features.relations import Relation
from calirare.features.structure import neighbours

ATTRIBUTES_AROUND = "attributes around it"
"""The name of this detector's one reason."""
_PENALTIES = (1e-1, 1e-2, 1e-3)
"""The strongest first: a weaker one must be clearly better."""
_BLOCK_NUMBERS = 8_000_000


@register
class Surroundings(Detector):
    """Attributes spread along the edges; more than two classes: each against the rest.

    It reads the own columns of the nodes around, not the node's. Of a node all whose neighbours are new it says nothing but the shares
    of the labels, and so of every node of another network. Labels count alike, whatever `LabelledNodes.weights` say.

    Args:
        alpha: α, how much a step further counts.
        steps: How far attributes go.
        penalty: λ, relative to a mean loss; `"left_out"`: of a few the one under which left-out labels are likeliest.
    """

    name: ClassVar[str] = "surroundings"

    def __init__(self, alpha: float = 0.95, steps: int = 24, penalty: float | Literal["left_out"] = "left_out") -> None:
        self.alpha, self.steps, self.penalty = alpha, steps, penalty

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        self._check()
        labels.require_two_classes()
        sent, there = self._spread(inputs, seed)
        targets, n = class_targets(labels.y, labels.num_classes), len(labels)
        self.shares_ = (targets.sum(axis=1) + 0.5) / (n + 1)
        self.folds_ = spread_over_folds(labels, seed)
        read = np.flatnonzero(~inputs.alone[labels.nodes])
        if not read.size:
            raise LabelError("no labelled node has neighbours.")
        others = other_nodes(inputs.num_nodes, labels.nodes, seed)
        others = others[~inputs.alone[others]]
        level = there[others].mean(axis=0) if others.size else np.zeros(there.shape[1])
        found: tuple[float, np.ndarray, np.ndarray] | None = None
        with blas_for(n):
            for penalty in _PENALTIES if self.penalty == "left_out" else (float(self.penalty),):
                theta, left_out = self._in_folds(there[labels.nodes], targets, read, level, penalty)
                loss = loss_by_class(left_out, labels.y)
                if found is None or loss < found[0] - CLEARLY / n:
                    found = loss, theta, left_out
        assert found is not None
        _, theta, self.left_out_ = found
        joined = np.flatnonzero(~inputs.alone)
        self.passed_ = Passed.of(inputs, joined, sent[joined] @ theta[:-1] + theta[-1], seed)
        return self

    def _spread(self, inputs: DetectorInputs, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(g, t) `(N, R)`: both less the mean of t and over the root mean square of its rows, where nodes have neighbours."""
        values = inputs.columns.values
        assert inputs.recipe is not None
        first, _, whose = inputs.recipe.propagated
        self.reads_attributes_ = "own" in whose
        places = [first + k for k, one in enumerate(whose) if one == ("own" if self.reads_attributes_ else "main")]
        if not places or inputs.alone.all():
            raise InputError("there is no column about which neighbours could be asked, or nobody has any.")
        scores = Squash.learn(values[:, places], seed)(values[:, places])
        adjacency = neighbours(inputs.graph)
        scale = scale_of(adjacency)[:, None]
        start = (scores / scale).astype(np.float32)
        before, last = spread(adjacency, start, self.alpha, self.steps)
        sent, there = (start + before) * scale, (before + last) * scale / self.alpha
        joined = there[~inputs.alone]
        middle = joined.mean(axis=0)
        size = float(np.sqrt(np.square(joined - middle).sum(axis=1).mean())) or 1.0
        return (sent - middle) / size, (there - middle) / size

    def _in_folds(
        self, columns: np.ndarray, targets: np.ndarray, read: np.ndarray, level: np.ndarray, penalty: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """(θ over b, `(R + 1, (F + 1) K)` of every fold on the level of all labels, which come last; left-out logits `(n, C)`).

        Args:
            columns: `(n, R)` t of the labelled nodes.
            targets: `(K, n)` 0 or 1.
            read: Rows of the labels whose nodes have neighbours.
            level: `(R,)` the mean of t over other nodes.
            penalty: λ.
        """
        count, found = int(self.folds_.max()) + 1, list[np.ndarray]()
        for fold in range(count + 1):
            kept = read[self.folds_[read] != fold]
            found += [_regression(columns[kept], target[kept], penalty) for target in targets]
        theta = np.stack(found, axis=1)
        levels = (level @ theta[:-1] + theta[-1]).reshape(count + 1, -1)
        theta[-1] += (levels[-1] - levels).ravel()
        scores = np.tile(logit(self.shares_), (len(columns), 1))
        by_fold = (columns[read] @ theta[:-1] + theta[-1]).reshape(len(read), count + 1, -1)
        scores[read] = by_fold[np.arange(len(read)), self.folds_[read]]
        return theta, as_logits(scores)

    def _check(self) -> None:
        if not (is_number(self.alpha) and 0 < self.alpha < 1):
            raise InputError(f"alpha must lie between 0 and 1; got {self.alpha!r}.")
        check_count(self.steps, "steps")
        if self.penalty != "left_out" and not (is_number(self.penalty) and float(self.penalty) > 0):
            raise InputError(f"penalty must be 'left_out' or a positive number; got {self.penalty!r}.")

    @property
    def nothing(self) -> np.ndarray:
        self._check_fitted()
        return as_logits(logit(self.shares_))

    def skip(self) -> str | None:
        return None if self.reads_attributes_ else "nodes have no attributes"

    @property
    def pairs(self) -> np.ndarray:
        return self.passed_.pairs

    @property
    def over(self) -> Relation:
        return Relation()

    def passes_on(self, keys: np.ndarray, degree: np.ndarray) -> np.ndarray:
        """`(n, (F + 1) K + 1)`: the scores, and 1 for nodes of the fit, so that the mean is over these."""
        self._check_fitted()
        sent, known = self.passed_.by(keys)
        return np.concatenate([sent, known[:, None]], axis=1)

    def _scores(self, inputs: DetectorInputs, nodes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """`(n, F + 1, K)` by every fold and, last, by all labels; NaN where no neighbour is of the fit."""
        arrived = inputs.from_neighbours(self)[nodes]
        count = np.where(arrived[:, -1:] > 0, arrived[:, -1:], np.nan)
        return (arrived[:, :-1] / count).reshape(len(arrived), -1, len(self.shares_))

    def _as_logits(self, scores: np.ndarray) -> np.ndarray:
        return as_logits(np.where(np.isnan(scores), logit(self.shares_), scores))

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        return self._as_logits(self._scores(inputs)[:, -1])

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        scores, block = self._scores(inputs), max(1, _BLOCK_NUMBERS // max(1, inputs.num_nodes))
        for start in range(0, len(rows), block):
            some = np.asarray(rows)[start : start + block]
            yield some, self._as_logits(scores[:, self.folds_[some]])

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        return self._as_logits(self._scores(inputs, nodes)[:, self.folds_[np.asarray(rows)]])

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        return next(self.contributions_of(inputs, np.array([node]), rare_class))

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        logits = np.vstack([self.nothing, self._as_logits(self._scores(inputs, nodes)[:, -1])])
        base, *found = against_others(logits, rare_class)
        for against in found:
            yield Contributions(float(base), (ATTRIBUTES_AROUND,), ("neighbours",), np.array([against - base]))

    def state(self) -> State:
        self._check_fitted()
        return self.passed_.state() | {"shares": self.shares_, "folds": self.folds_, "left_out": self.left_out_}

    def restore(self, state: State) -> Self:
        passed, left_out, shares = Passed.restore(state), numbers(state, "left_out", 2), numbers(state, "shares", 1)
        n, num_classes = left_out.shape
        need(len(shares) == (1 if num_classes == 2 else num_classes) and num_classes >= 2, "the number of classes")
        need(bool(((shares > 0) & (shares < 1)).all()), "the shares of the classes")
        folds = numbers(state, "folds", 1, size=n, kind="i")
        need(passed.values.shape[1] % len(shares) == 0, "the scores of the folds")
        need(n > 0 and 0 <= folds.min() and folds.max() < passed.values.shape[1] // len(shares) - 1, "the folds")
        self.passed_, self.left_out_, self.shares_, self.folds_ = passed, left_out, shares, folds
        return self


def _regression(columns: np.ndarray, target: np.ndarray, penalty: float) -> np.ndarray:
    """θ over b; zeros where the labels have a single class, for the level is that of all labels anyhow."""
    n = len(target)
    if not 0 < target.sum() < n:
        return np.zeros(columns.shape[1] + 1)
    found = fit_logistic(LogisticProblem(columns.astype(np.float64), target, np.full(n, 1.0 / n)), penalty)
    return np.append(found.theta, found.intercept)
