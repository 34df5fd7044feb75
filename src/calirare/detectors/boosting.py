"""Boosted trees, left out by folds that also say how many of them there should be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import joblib
import numpy as np

from calirare.data.checks import check_count
from calirare.detectors.base import Contributions, DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.boosters import Growth, grow
from calirare.detectors.contrast import as_logits, rare_against_rest
from calirare.detectors.folds import spread_over_folds
from calirare.detectors.left_out_loss import CLEARLY, loss_by_class
from calirare.detectors.level import other_nodes, restore_shifts
from calirare.detectors.of_trees import OfTrees
from calirare.detectors.registry import register
from calirare.detectors.stored import inside, need, numbers, under, whole
from calirare.detectors.threads import threads_of
from calirare.detectors.trees import Trees
from calirare.errors import InputError

_MOST_ROUNDS = 300
_STEP = 10
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
        jobs: Threads, one fold each; None: as many as this process may use.
    """

    name: ClassVar[str] = "boosting"

    def __init__(
        self,
        rounds: int | Literal["left_out"] = "left_out",
        leaves: int = 8,
        learning_rate: float = 0.05,
        jobs: int | None = None,
    ) -> None:
        self.rounds, self.leaves, self.learning_rate, self.jobs = rounds, leaves, learning_rate, jobs

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        self._check(labels)
        rows = np.ascontiguousarray(inputs.columns.values[labels.nodes], dtype=np.float32)
        folds = spread_over_folds(labels, seed)
        leaf = max(1, round(_LEAF * len(labels) / len(np.unique(labels.groups))))  # copies count once
        most = _MOST_ROUNDS if self.rounds == "left_out" else int(self.rounds)

        def grown(kept: np.ndarray, rounds: int) -> Trees:
            growth = Growth(rounds, self.leaves, self.learning_rate, labels.num_classes, leaf, seed)
            return grow(growth, rows[kept], labels.y[kept])

        numbers_of_folds = range(int(folds.max()) + 1)
        of_folds = joblib.Parallel(n_jobs=threads_of(self.jobs), prefer="threads")(
            joblib.delayed(grown)(np.flatnonzero(folds != fold), most) for fold in numbers_of_folds
        )
        per_round = 1 if labels.num_classes == 2 else labels.num_classes
        staged, levels = np.empty((most + 1, len(labels), per_round)), []
        around = inputs.columns.values[other_nodes(inputs.num_nodes, labels.nodes, seed)]
        for fold in numbers_of_folds:
            mine = folds == fold
            unseen = np.concatenate([rows[mine], around])
            found = _after_each_round(of_folds[fold], unseen, per_round, most)
            staged[:, mine] = found[:, : mine.sum()]
            levels.append(found.mean(axis=1))
        shifts = (np.mean(levels, axis=0) - levels)[folds].swapaxes(0, 1)
        staged += shifts
        self.rounds_ = self._choose(staged, labels) if self.rounds == "left_out" else most
        self.num_classes_, self.folds_ = labels.num_classes, folds
        self.trees_ = grown(np.arange(len(labels)), self.rounds_)
        self.fold_trees_ = [_first(trees, self.rounds_, per_round) for trees in of_folds]
        self.left_out_, self.shifts_ = as_logits(staged[self.rounds_]), shifts[self.rounds_]
        return self

    def skip_with(self, labels: LabelledNodes) -> str | None:
        fewest = min(len(np.unique(labels.groups[labels.y == c])) for c in np.unique(labels.y))
        return (
            None if fewest >= _FEWEST else f"it needs {_FEWEST} labels of each class beside others; there are {fewest}"
        )

    def _check(self, labels: LabelledNodes) -> None:
        if self.rounds != "left_out":
            check_count(self.rounds, "rounds")
        check_count(self.leaves, "leaves", least=2)
        if not 0 < self.learning_rate <= 1:
            raise InputError(f"learning_rate must lie above 0 and be at most 1; got {self.learning_rate!r}.")
        labels.require_two_classes()

    def _choose(self, staged: np.ndarray, labels: LabelledNodes) -> int:
        """The fewest rounds after which left-out labels are as likely as after the best number, up to chance.

        The best of many numbers is a little too good for labels that mean nothing, and its evidence would flatter.
        """
        tried = np.arange(_STEP, len(staged), _STEP)
        losses = [loss_by_class(as_logits(staged[rounds]), labels.y) for rounds in tried]
        good = np.flatnonzero(np.array(losses) <= min(losses) + CLEARLY / len(labels))
        return int(tried[good[0]])

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        self._check_fitted()
        return as_logits(self.trees_.total(self._values(inputs)))

    def _without(self, values: np.ndarray, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Logits by the trees of the fold that missed a label, and others with it."""
        for fold in np.unique(self.folds_[rows]):
            some = rows[self.folds_[rows] == fold]
            scores = self.fold_trees_[fold].total(values)[:, None] + self.shifts_[some]
            yield some, as_logits(scores)

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        self._check_fitted()
        columns = inputs.columns
        base, shares = self.trees_.path_shares(self._values(inputs)[node])
        turn, constant = rare_against_rest(base + shares.sum(axis=0), rare_class)
        return Contributions(float(base @ turn + constant), columns.names, columns.groups, shares @ turn)

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
        need(folds.size > 0 and 0 <= folds.min() and folds.max() < len(folds), "the folds")
        names = ["all", *(f"fold_{k}" for k in range(int(folds.max()) + 1))]
        every = [Trees.restore(inside(name, state)) for name in names]
        wanted = 1 if num_classes == 2 else num_classes
        need(all(trees.num_values == wanted for trees in every), "the number of classes")
        need(len({trees.num_features for trees in every}) == 1, "the columns that trees ask for")
        self.shifts_ = restore_shifts(state, (len(left_out), wanted))
        self.rounds_, self.num_classes_ = whole(state, "rounds", 1), num_classes
        self.trees_, self.fold_trees_, self.folds_, self.left_out_ = every[0], every[1:], folds, left_out
        return self


def _after_each_round(trees: Trees, rows: np.ndarray, per_round: int, most: int) -> np.ndarray:
    """`(most + 1, n, K)`: the scores after 0, 1, … rounds; rounds that were not grown add nothing."""
    added = trees.value[trees.leaves(rows)].transpose(1, 0, 2)
    rounds = len(added) // per_round
    summed = np.add.reduceat(added, np.arange(0, len(added), per_round), axis=0) if rounds else added
    found = np.zeros((most + 1, len(rows), per_round))
    found[1 : rounds + 1] = summed.cumsum(axis=0)
    found[rounds + 1 :] = found[rounds]
    return found


def _first(trees: Trees, rounds: int, per_round: int) -> Trees:
    return trees.take(np.arange(min(len(trees), rounds * per_round)))
