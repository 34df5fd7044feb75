"""Boosted trees, left out by folds that also say how many of them there should be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import ClassVar, Literal, Self

import numpy as np

from calirare.data.arrays import all_below
from calirare.data.checks import check_count
from calirare.detectors.base import DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.left_out.contrast import as_logits, rare_against_rest
from calirare.detectors.left_out.folds import folds, spread_over_folds
from calirare.detectors.left_out.level import other_nodes, restore_shifts
from calirare.detectors.left_out.loss import CLEARLY, loss_by_class
from calirare.detectors.registry import register
from calirare.detectors.stored import inside, need, numbers, under, whole
from calirare.detectors.threads import threads_of
from calirare.detectors.trees.arrays import Trees
from calirare.detectors.trees.boosters import Growth, grow, per_round
from calirare.detectors.trees.of_trees import OfTrees
from calirare.detectors.trees.stages import Stages
from calirare.errors import InputError

_MOST_ROUNDS = 300
_AT_A_TIME = 50
_STEP = 10
_HARDLY = CLEARLY / 4
"""Nats, over all labels, that the last rounds must have added to the best before them for more to be grown."""
_MUCH = 2 * CLEARLY
"""Nats, over all labels, by which the best splits must do better than random ones to be taken: they learn by heart sooner."""
_LEAF = 5
_FEWEST = 15
"""Labels of each class below which a stack leaves boosting out: leaves of five labels, grown on four folds of five, tell little
from fewer."""


@register
class Boosting(OfTrees):
    """Small trees, each on a part of the labels and of the columns, each correcting what those before it got wrong.

    Labels count alike, whatever `LabelledNodes.weights` say: with cost-sensitive weights the left-out likelihood after a
    Platt map was the same or worse.

    Args:
        rounds: How many trees; `"left_out"`: as many, up to 300, as make the labels of the folds likeliest after their
            logits are scaled and shifted as a calibrator will do.
        leaves: Of a tree.
        learning_rate: How much of each tree is added.
        splits: `"random"`: each column offers one threshold by chance; `"best"`: the best one, which finds narrow bands;
            `"left_out"`: the best ones where the labels of the folds are far likelier after the first rounds; not of words.
        jobs: Threads, one fold each; None: as many as this process may use.
    """

    name: ClassVar[str] = "boosting"

    def __init__(
        self,
        rounds: int | Literal["left_out"] = "left_out",
        leaves: int = 8,
        learning_rate: float = 0.05,
        splits: Literal["left_out", "random", "best"] = "left_out",
        jobs: int | None = None,
    ) -> None:
        self.rounds, self.leaves, self.learning_rate = rounds, leaves, learning_rate
        self.splits, self.jobs = splits, jobs

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        self._check(labels)
        rows = np.ascontiguousarray(inputs.columns.values[labels.nodes], dtype=np.float32)
        leaf = max(1, round(_LEAF * len(labels) / len(np.unique(labels.groups))))  # copies count once

        def growing(kept: np.ndarray, rounds: int, best: bool) -> Iterator[Trees]:
            growth = Growth(rounds, self.leaves, self.learning_rate, labels.num_classes, leaf, seed, best)
            return grow(growth, rows[kept], labels.y[kept])

        self.num_classes_, self.folds_ = labels.num_classes, spread_over_folds(labels, seed)
        at_a_time = _AT_A_TIME if self.rounds == "left_out" else int(self.rounds)
        around = inputs.columns.values[other_nodes(inputs.num_nodes, labels.nodes, seed)]
        values, threads = per_round(labels.num_classes), threads_of(self.jobs)
        either = self.splits == "left_out" and self.rounds == "left_out" and inputs.columns.words is None
        with ExitStack() as open_stages:
            kinds = {}
            for best in (False, True) if either else (self.splits == "best",):
                of_folds = [growing(kept, at_a_time, best) for _, kept, _ in folds(self.folds_)]
                made = Stages(of_folds, self.folds_, rows, around, values, threads)
                kinds[best] = open_stages.enter_context(made)
                kinds[best].grow()
            self.best_splits_ = max(kinds) and (not either or self._much_better(kinds[True], kinds[False], labels))
            stages = kinds[self.best_splits_]
            self.rounds_ = self._grow(stages, labels)
        self.trees_ = next(growing(np.arange(len(labels)), self.rounds_, self.best_splits_))
        self.fold_trees_ = stages.trees(self.rounds_)
        self.left_out_, self.shifts_ = as_logits(stages.scores(self.rounds_)), stages.shifts(self.rounds_)
        return self

    def _much_better(self, one: Stages, other: Stages, labels: LabelledNodes) -> bool:
        """Whether the labels of the folds are far likelier by one than by the other, each after as many rounds as suit it."""
        least = [min(_losses(stages, labels, 0)) for stages in (one, other)]
        return least[1] - least[0] > _MUCH / len(labels)

    def _grow(self, stages: Stages, labels: LabelledNodes) -> int:
        """As many rounds as are asked for, or until more hardly help; how many to keep."""
        if self.rounds != "left_out":
            return stages.rounds
        losses: list[float] = []
        while True:
            before = min(losses[: -_AT_A_TIME // _STEP], default=np.inf)
            losses += _losses(stages, labels, len(losses))
            if stages.rounds >= _MOST_ROUNDS or before - min(losses) < _HARDLY / len(labels):
                return _STEP * (1 + _first_as_good_as_the_best(losses, len(labels)))
            stages.grow()

    def skip_with(self, labels: LabelledNodes) -> str | None:
        fewest = min(len(np.unique(labels.groups[labels.y == c])) for c in np.unique(labels.y))
        return (
            None if fewest >= _FEWEST else f"it needs {_FEWEST} labels of each class beside others; there are {fewest}"
        )

    def _check(self, labels: LabelledNodes) -> None:
        if self.rounds != "left_out":
            check_count(self.rounds, "rounds")
        check_count(self.leaves, "leaves", least=2)
        if self.splits not in ("left_out", "random", "best"):
            raise InputError(f"splits must be 'left_out', 'random' or 'best'; got {self.splits!r}.")
        if not 0 < self.learning_rate <= 1:
            raise InputError(f"learning_rate must lie above 0 and be at most 1; got {self.learning_rate!r}.")
        labels.require_two_classes()

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        self._check_fitted()
        return as_logits(self.trees_.total(self._values(inputs)))

    def _without(self, values: np.ndarray, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Logits by the trees of the fold that missed a label, and others with it."""
        for fold in np.unique(self.folds_[rows]):
            some = rows[self.folds_[rows] == fold]
            scores = self.fold_trees_[fold].total(values)[:, None] + self.shifts_[some]
            yield some, as_logits(scores)

    def _told(self, base: np.ndarray, shares: np.ndarray, rare_class: int) -> Iterator[tuple[float, np.ndarray]]:
        for mine in shares:
            turn, constant = rare_against_rest(base + mine.sum(axis=0), rare_class)
            yield float(base @ turn + constant), mine @ turn

    def state(self) -> State:
        self._check_fitted()
        found: State = {
            "rounds": self.rounds_,
            "folds": self.folds_,
            "left_out": self.left_out_,
            "shifts": self.shifts_,
        }
        for k, part in enumerate(self.fold_trees_):
            found |= under(f"fold_{k}", part.state())
        return found | under("all", self.trees_.state())

    def restore(self, state: State) -> Self:
        left_out = numbers(state, "left_out", 2)
        num_classes = left_out.shape[1]
        need(num_classes >= 2, "the number of classes")
        folds = numbers(state, "folds", 1, size=len(left_out), kind="i")
        need(folds.size > 0 and all_below(folds, len(folds)), "the folds")
        names = ["all", *(f"fold_{k}" for k in range(int(folds.max()) + 1))]
        every = [Trees.restore(inside(name, state)) for name in names]
        wanted = per_round(num_classes)
        need(all(trees.num_values == wanted for trees in every), "the number of classes")
        need(len({trees.num_features for trees in every}) == 1, "the columns that trees ask for")
        self.shifts_ = restore_shifts(state, (len(left_out), wanted))
        self.rounds_, self.num_classes_ = whole(state, "rounds", 1), num_classes
        self.trees_, self.fold_trees_, self.folds_, self.left_out_ = every[0], every[1:], folds, left_out
        return self


def _losses(stages: Stages, labels: LabelledNodes, known: int) -> list[float]:
    """Left-out losses after each step of rounds, but for the first few that are known."""
    tried = range(_STEP * (known + 1), stages.rounds + 1, _STEP)
    return [loss_by_class(as_logits(stages.scores(rounds)), labels.y) for rounds in tried]


def _first_as_good_as_the_best(losses: list[float], labels: int) -> int:
    """The first of the left-out losses that is as small as the smallest, up to chance.

    The best of many is a little too good for labels that mean nothing, and its evidence would flatter.

    >>> _first_as_good_as_the_best([0.9, 0.52, 0.5, 0.51], labels=100)
    1
    """
    return int(np.flatnonzero(np.array(losses) <= min(losses) + CLEARLY / labels)[0])
