"""Randomised trees, left out by the votes of those that did not see a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import product, starmap
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import joblib
import numpy as np
from sklearn.tree import ExtraTreeClassifier

from calirare.data.arrays import all_below
from calirare.data.checks import check_count
from calirare.detectors.base import DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.left_out.contrast import against_others
from calirare.detectors.left_out.level import restore_shifts
from calirare.detectors.left_out.loss import loss_by_class
from calirare.detectors.registry import register
from calirare.detectors.stored import need, numbers, whole
from calirare.detectors.threads import threads_of
from calirare.detectors.trees.arrays import Trees, from_sklearn
from calirare.detectors.trees.grove import Grove, bootstrap_counts
from calirare.detectors.trees.normal_scores import NormalScores
from calirare.detectors.trees.of_trees import OfTrees

Scale = Literal["values", "normal scores"]
_SCALES: tuple[Scale, ...] = get_args(Scale)
_LEAVES = (1, 3)
"""Labels that a leaf must hold at least: few where classes part cleanly, more where labels are noisy."""
_SMOOTHING = 0.01
"""Share of the prior in every vote, the same for few and for many votes, so that both are on one scale."""
_MOST_COLUMNS = 96
_LIKELIER = 1.0
"""Log-likelihood that trees on own columns must add. Half of what is asked elsewhere: both judge the same labels."""
_BLOCK_NODES = 65_536
_LARGEST_TABLE = 2**26
_ROWS_AT_ONCE = 256


class Sort(NamedTuple):
    """How a tree is grown."""

    scale: Scale
    leaf: int


@register
class Forest(OfTrees):
    """Trees on bootstrap samples of the labels.

    A bootstrap draws groups of labels, as many of each class as there are, so that every tree sees a rare label, and
    about a third of the trees never see any given one: their votes are its left-out evidence.

    Thresholds are drawn at random and the best of the drawn ones is taken ("extremely randomised"): as likely left-out
    labels as exhaustive search, often likelier, in a fraction of the time. Half of the trees
    draw them between values, half between normal scores of these, so that a heavy tail does not take them all; and half of
    either end in leaves of one label, half of three. None is chosen: that would be left to the very labels that are left out.
    Labels weigh what `LabelledNodes.weights` say:
    left-out likelihood after a Platt map was better so than with equal weights wherever it was tried.

    Where most columns are the neighbours', trees that read a node's own columns alone stand beside the others or in their
    place, if left-out labels are likelier so: hundreds of columns of noise hide the few that tell.

    Args:
        trees: How many read all columns; half as many may read the own ones.
        leaf: Labels that a leaf must hold at least; None: 1 in half of the trees, 3 in the others.
        columns: Columns that are looked at for a split; None: half of them, at most 96.
        jobs: Threads; None: as many as this process may use.
    """

    name: ClassVar[str] = "forest"

    def __init__(
        self, trees: int = 200, leaf: int | None = None, columns: int | None = None, jobs: int | None = None
    ) -> None:
        self.trees, self.leaf, self.columns, self.jobs = trees, leaf, columns, jobs

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        self._check(labels)
        rows = np.ascontiguousarray(inputs.columns.values[labels.nodes], dtype=np.float32)
        self.num_classes_, self.groups_ = labels.num_classes, np.unique(labels.groups, return_inverse=True)[1]
        self.prior_ = np.bincount(labels.y, weights=labels.weights, minlength=labels.num_classes)
        table = NormalScores(rows)
        grove = self._grow(table, np.arange(rows.shape[1]), labels, self.trees, [seed, 4])
        own = np.flatnonzero([group != "neighbours" for group in inputs.columns.groups])
        if 0 < len(own) <= rows.shape[1] // 2:
            grove = self._with_own(grove, table, own, labels, seed)
        self.trees_, self.out_of_bag_ = grove.trees, grove.out_of_bag
        self.left_out_, self.shifts_ = self._left_out(grove)
        return self

    def _with_own(self, grove: Grove, table: NormalScores, own: np.ndarray, labels: LabelledNodes, seed: int) -> Grove:
        """The grove, with trees that read only a node's own columns beside it or in its place if left-out labels are likelier so.

        A few are grown first; where they do not help, no more are.
        """
        few, before = max(1, self.trees // 4), self._loss(grove, labels)
        mine = self._grow(table, own, labels, few, [seed, 2])
        if self._loss(grove.beside(mine), labels) >= before:
            return grove
        mine = mine.beside(self._grow(table, own, labels, few, [seed, 3]))
        best = min(grove.beside(mine), mine, key=lambda one: self._loss(one, labels))
        return best if self._loss(best, labels) < before - _LIKELIER / len(labels) else grove

    def _loss(self, grove: Grove, labels: LabelledNodes) -> float:
        """Of left-out labels."""
        return loss_by_class(self._left_out(grove)[0], labels.y)

    def _check(self, labels: LabelledNodes) -> None:
        check_count(self.trees, "trees", least=2)
        if self.leaf is not None:
            check_count(self.leaf, "leaf")
        if self.columns is not None:
            check_count(self.columns, "columns")
        labels.require_two_classes()

    def _grow(
        self, table: NormalScores, columns: np.ndarray, labels: LabelledNodes, trees: int, seed: list[int]
    ) -> Grove:
        """Trees that read some of the columns, as many of each sort."""
        sorts = list(starmap(Sort, product(_SCALES, _LEAVES if self.leaf is None else (self.leaf,))))
        sizes = [len(some) for some in np.array_split(np.arange(trees), len(sorts))]
        turns = [(one, size, [*seed, k]) for k, (one, size) in enumerate(zip(sorts, sizes, strict=True)) if size]
        return reduce(Grove.beside, (self._grow_sort(table, columns, labels, *turn) for turn in turns))

    def _grow_sort(
        self, table: NormalScores, columns: np.ndarray, labels: LabelledNodes, sort: Sort, trees: int, seed: list[int]
    ) -> Grove:
        counts = bootstrap_counts(labels.y, self.groups_, trees, np.random.default_rng(seed))
        seeds = np.random.default_rng([*seed, 1]).integers(0, 2**31 - 1, trees)
        drawn = counts[:, self.groups_] * labels.weights
        leaf = max(1, round(sort.leaf * len(labels) / counts.shape[1]))  # copies count once
        read = np.ascontiguousarray((table.rows if sort.scale == "values" else table.scores)[:, columns])
        one_by_one = joblib.Parallel(n_jobs=threads_of(self.jobs), prefer="threads")(
            joblib.delayed(self._grow_one)(read, columns, labels.y, drawn[k], leaf, int(seeds[k])) for k in range(trees)
        )
        grown = Trees.join(one_by_one, table.rows.shape[1])
        if sort.scale == "normal scores":
            grown = replace(grown, threshold=table.values_at(grown.feature, grown.threshold))
        return Grove.of(grown, counts == 0, table.rows, self.groups_)

    def _grow_one(
        self, read: np.ndarray, columns: np.ndarray, y: np.ndarray, drawn: np.ndarray, leaf: int, seed: int
    ) -> dict[str, Any]:
        width = len(columns)
        looked_at = min(self.columns or min(_MOST_COLUMNS, max(1, width // 2)), width)
        model = ExtraTreeClassifier(max_features=looked_at, min_samples_leaf=leaf, random_state=seed)
        model.fit(read, y, sample_weight=drawn, check_input=False)
        values = np.zeros((model.tree_.node_count, self.num_classes_))
        values[:, model.classes_] = model.tree_.value[:, 0, :]
        return from_sklearn(model.tree_, values, columns)

    def _left_out(self, grove: Grove) -> tuple[np.ndarray, np.ndarray]:
        """`(n, C)` left-out logits, and the shifts by which the level of the trees behind each was taken off."""
        shares, level = grove.shares(self.prior_)
        shifts = self._logits(level.mean(axis=0)) - self._logits(level)
        return self._logits(shares) + shifts, shifts

    def _logits(self, shares: np.ndarray) -> np.ndarray:
        """log of the smoothed shares."""
        prior = np.maximum(self.prior_, 0.5 / len(self.groups_))
        return np.log((1 - _SMOOTHING) * shares + _SMOOTHING * prior / prior.sum())

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        self._check_fitted()
        return self._logits(self.trees_.total(self._values(inputs)) / len(self.trees_))

    def _without(self, values: np.ndarray, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Logits by the votes of the trees that did not see a label."""
        leaves = self.trees_.leaves(values) if len(values) * len(self.trees_) <= _LARGEST_TABLE else None
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            unseen = self.out_of_bag_[:, self.groups_[some]].astype(np.float32)
            count = unseen.sum(axis=0)
            mix = unseen / np.maximum(count, 1)
            shares = np.empty((len(values), len(some), self.num_classes_))
            for first in range(0, len(values), _BLOCK_NODES):
                block = slice(first, first + _BLOCK_NODES)
                ends = self.trees_.leaves(values[block]) if leaves is None else leaves[block]
                for k in range(self.num_classes_):
                    shares[block, :, k] = self.trees_.value[:, k].astype(np.float32)[ends] @ mix
            shares[:, count == 0] = self.prior_
            yield some, self._logits(shares) + self.shifts_[some]

    def _told(self, base: np.ndarray, shares: np.ndarray, rare_class: int) -> Iterator[tuple[float, np.ndarray]]:
        """Shares of P(rare), stretched so that they add up to the logit."""
        start, change = base / len(self.trees_), shares[:, :, rare_class] / len(self.trees_)
        ends = start + shares.sum(axis=1) / len(self.trees_)
        first, *last = against_others(self._logits(np.vstack([start, ends])), rare_class).tolist()
        for end, mine, total in zip(last, change, change.sum(axis=1).tolist(), strict=True):
            yield (first, mine * ((end - first) / total)) if abs(total) > 1e-12 else (end, np.zeros(len(mine)))

    def state(self) -> State:
        self._check_fitted()
        return {
            "prior": self.prior_,
            "left_out": self.left_out_,
            "shifts": self.shifts_,
            "groups": self.groups_,
            "num_groups": self.out_of_bag_.shape[1],
            "out_of_bag": np.packbits(self.out_of_bag_, axis=1),
        } | self.trees_.state()

    def restore(self, state: State) -> Self:
        trees, left_out = Trees.restore(state), numbers(state, "left_out", 2)
        num_classes, num_groups = left_out.shape[1], whole(state, "num_groups", least=1)
        need(num_classes >= 2 and trees.num_values == num_classes, "the number of classes")
        prior = numbers(state, "prior", 1, size=num_classes)
        need(bool((prior >= 0).all()) and abs(prior.sum() - 1) < 1e-6, "the prior")
        need(bool(((trees.value >= 0) & (trees.value <= 1 + 1e-9)).all()), "the votes")
        groups = numbers(state, "groups", 1, size=len(left_out), kind="i")
        need(groups.size > 0 and all_below(groups, num_groups), "groups")
        bits = state.get("out_of_bag")
        need(isinstance(bits, np.ndarray) and bits.dtype == np.uint8 and bits.shape == (len(trees), -(-num_groups // 8)), "which trees saw which labels")  # fmt: skip
        assert isinstance(bits, np.ndarray)
        self.trees_, self.left_out_, self.prior_, self.groups_ = trees, left_out, prior, groups
        self.out_of_bag_ = np.unpackbits(bits, axis=1, count=num_groups).astype(bool)
        self.num_classes_ = num_classes
        self.shifts_ = restore_shifts(state, (len(left_out), num_classes))
        return self
