"""The labels around a node, spread along the edges: key `zhou2004`.

With Y `(N, C)` the labels, one column per class, and S = D^-½ A D^-½,

    t = Σ_s (αS)^s Y,   s = 1 … 24,        z_c(v) = log(t_c(v) + m π_c)

where π are the shares of the classes among the labels. What has come to v is weighed against m = 0.01 labels of the usual mixture:
where little comes, little is said, and where nothing comes, nothing but that mixture.

What every node of the fit passes on, g = Y + Σ_s (αS)^s Y up to the last step but one, is kept (`calirare.detectors.passing`). Then
t = αS g is a sum over neighbours: in the graph of the fit it is the t above.

Of several types of edges some may join like with like and the others anybody: then labels go along those types alone. Where
amounts tell who is close, A holds them, and D their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from calirare.data.checks import check_count, is_number
from calirare.data.edge_table import EITHER, EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.node_keys import places_of
from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.left_out.contrast import against_others
from calirare.detectors.left_out.folds import spread_over_folds
from calirare.detectors.left_out.loss import losses_by_class
from calirare.detectors.passing import Passed, scale_of, spread
from calirare.detectors.registry import register
from calirare.detectors.stored import need, numbers
from calirare.errors import InputError
from calirare.features.ends import inverse_root
from calirare.features.relations import Relation, relation_matrix, weight_names
from calirare.features.weights import plan_weights

LABELS_AROUND = "labels around it"
"""The name of this detector's one reason."""
_NUM_FOLDS = 10
_FEW_FOLDS = 4
"""Enough folds to choose by."""
_SURELY = 2.0
"""Standard errors by which a gain must exceed zero."""
_FEWEST = 0.01
"""Share of the edges that a kind must have to be tried alone."""
_USUAL = 0.01
"""m: this many labels of the usual mixture are there before any arrive."""
_NONE = 1e-6
"""Smaller amounts have not arrived at all: they may be rounding errors of a difference."""
_FAINT = 1e-4
"""What comes from a single label is not followed further once it is smaller than this."""
_DENSE = 30
"""A product of two sparse matrices takes so many times as long as one with a dense matrix, for each number in it."""
_BLOCK_NUMBERS = 4_000_000


@register
class Spreading(Detector):
    """Labels spread along edges; attributes are not read. Of nodes that no label reaches it says nothing but the shares of the labels.

    Nothing is trained. Left-out logits come from ten folds: what comes to a label from the other nine.

    Args:
        alpha: α, what is left of a label after each step.
        steps: How far labels go.
        along: A type of edges, a category of a column, `channel = wire`, or several, `channel = wire | channel = card`: labels
            go along no others. "": along all. `"left_out"`: along those under which left-out labels are likeliest.
        by: A number of the edges, or "number of edges", that neighbours count by; "": all count alike. `"left_out"`: that
            under which left-out labels are likeliest.
    """

    name: ClassVar[str] = "spreading"

    def __init__(self, alpha: float = 0.95, steps: int = 24, along: str = "left_out", by: str = "left_out") -> None:
        self.alpha, self.steps, self.along, self.by = alpha, steps, along, by

    def fit(
        self, inputs: DetectorInputs, labels: LabelledNodes, *, seed: int = 0, progress: Progress | None = None
    ) -> Self:
        self._check(inputs.graph.edges)
        labels.require_two_classes()
        self.shares_ = np.bincount(labels.y, minlength=labels.num_classes) / len(labels)
        self.along_, self.by_ = self._choose(inputs.graph, labels, seed)
        field, self.left_out_ = self._in_folds(inputs.graph, self.over, labels, seed, _NUM_FOLDS)
        self.label_keys_, self.y_ = inputs.keys[labels.nodes], labels.y.copy()
        reached = np.flatnonzero(field.any(axis=1))
        self.passed_ = Passed.of(inputs, reached, field[reached], seed)
        return self

    def _in_folds(
        self, graph: RareGraph, over: Relation, labels: LabelledNodes, seed: int, num_folds: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(g, `(N, C)`; left-out logits `(n, C)`: what comes to a label from the folds that it is not of)."""
        fold, count = spread_over_folds(labels, seed, num_folds), labels.num_classes
        start = np.zeros((graph.num_nodes, (int(fold.max()) + 1) * count), dtype=np.float32)
        start[labels.nodes, fold * count + labels.y] = 1.0
        before, last = spread(relation_matrix(graph, over), start, self.alpha, self.steps)
        arrived = (before + last)[labels.nodes].reshape(len(labels), -1, count)
        field = (start + before).reshape(len(start), -1, count).sum(axis=1)
        return field, self._logits_of(_sum_of_others(arrived, fold))

    def _choose(self, graph: RareGraph, labels: LabelledNodes, seed: int) -> tuple[str, str]:
        """(along which edges, by what neighbours count): all edges, and all alike, unless left-out labels speak for others."""

        @cache
        def lose(along: str, by: str = "") -> np.ndarray:
            over = Relation(type=along, weight=by)
            return losses_by_class(self._in_folds(graph, over, labels, seed, _FEW_FOLDS)[1], labels.y)

        along = self._best_kinds(graph, lose) if self.along == "left_out" else self.along
        if self.by != "left_out":
            return along, self.by
        weighed = {by: lose(along, by) for by in plan_weights(graph.edges)}
        if not weighed:
            return along, ""
        best = min(weighed, key=lambda by: float(weighed[by].sum()))
        return along, best if _surely_less(weighed[best], lose(along)) else ""

    def _best_kinds(self, graph: RareGraph, lose: Callable[[str], np.ndarray]) -> str:
        """The best kind, and one after the other those that make it better still; "" where all edges are no worse."""
        alone = {kind: lose(kind) for kind in _kinds(graph)}
        if not alone:
            return ""
        best, *others = sorted(alone, key=lambda kind: float(alone[kind].sum()))
        losses = alone[best]
        for kind in others:
            both = lose(best + EITHER + kind)
            if both.sum() < losses.sum():
                best, losses = best + EITHER + kind, both
        return best if _surely_less(losses, lose("")) else ""

    def _check(self, table: EdgeTable | None) -> None:
        weights = list(weight_names(table))
        if self.by not in ("left_out", "", *weights):
            raise InputError(f"by must be 'left_out', '' or a number of the edges, such as {weights}; got {self.by!r}.")
        if self.along not in ("left_out", "") and (table is None or not table.of_kind(self.along).any()):
            known = [] if table is None else list(table.kinds)
            raise InputError(f"along must be 'left_out', '' or a kind of edges, such as {known}; got {self.along!r}.")
        if not (is_number(self.alpha) and 0 < self.alpha < 1):
            raise InputError(f"alpha must lie between 0 and 1; got {self.alpha!r}.")
        check_count(self.steps, "steps")

    @property
    def nothing(self) -> np.ndarray:
        self._check_fitted()
        return self._logits_of(np.zeros((1, len(self.shares_))))[0]

    def skip(self) -> str | None:
        return None if (self.left_out_ != self.nothing).any() else "no label reaches another along the edges"

    @property
    def pairs(self) -> np.ndarray:
        return self.passed_.pairs

    @property
    def over(self) -> Relation:
        """To which neighbours labels go, and what these count."""
        return Relation(type=self.along_, weight=self.by_)

    def passes_on(self, keys: np.ndarray, degree: np.ndarray) -> np.ndarray:
        """`(n, C)` what nodes with these keys, whose neighbours count so much together, pass on."""
        self._check_fitted()
        return self.passed_.by(keys)[0] * (self.alpha * inverse_root(degree))[:, None]

    def _arrived(self, inputs: DetectorInputs) -> np.ndarray:
        """t `(N, C)`."""
        self._check_fitted()
        return inputs.from_neighbours(self)

    def _logits_of(self, arrived: np.ndarray) -> np.ndarray:
        """`(…, C)`; a class without labels has the share of the rarest that has some."""
        shares = np.where(self.shares_ > 0, self.shares_, self.shares_[self.shares_ > 0].min())
        z = np.log1p(np.where(arrived < _NONE, 0.0, arrived) / (_USUAL * shares)) + np.log(shares)
        return np.asarray(z - z.mean(axis=-1, keepdims=True), dtype=np.float64)

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        return self._logits_of(self._arrived(inputs))

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rows = np.asarray(rows)
        every = np.arange(inputs.num_nodes)
        block = max(1, _BLOCK_NUMBERS // max(1, inputs.num_nodes))
        for start in range(0, len(rows), block):
            some = rows[start : start + block]
            yield some, self.logits_without_at(inputs, some, every)

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """What comes of a label is followed from here to there until it is faint, so the rest of the graph is not touched.

        Nor is it followed to nodes at which nothing has arrived, as in another network.
        """
        rows = np.asarray(rows)
        whole = self._arrived(inputs)[nodes]
        arrived, some = np.repeat(whole[:, None], len(rows), axis=1), np.flatnonzero((whole >= _NONE).any(axis=1))
        if some.size:
            order = np.argsort(inputs.keys)
            at, there = places_of(self.label_keys_[rows], inputs.keys[order])
            came = _from_each(
                relation_matrix(inputs.graph, self.over), self.alpha, self.steps, nodes[some], order[at[there]]
            )
            place = np.flatnonzero(there)[came.col]
            arrived[some[came.row], place, self.y_[rows[place]]] -= came.data  # each pair stands there once
        return self._logits_of(arrived)

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        return next(self.contributions_of(inputs, np.array([node]), rare_class))

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        logits = np.vstack([self.nothing, self._logits_of(self._arrived(inputs)[nodes])])
        by = f" by {self.by_}" if self.by_ else ""
        called = LABELS_AROUND + by + (f" ({self.along_})" if self.along_ else "")
        base, *found = against_others(logits, rare_class)
        for against in found:
            yield Contributions(float(base), (called,), ("labels",), np.array([against - base]))

    def state(self) -> State:
        self._check_fitted()
        return self.passed_.state() | {
            "shares": self.shares_,
            "label_keys": self.label_keys_,
            "y": self.y_,
            "left_out": self.left_out_,
            "along": self.along_,
            "by": self.by_,
        }

    def restore(self, state: State) -> Self:
        left_out, shares = numbers(state, "left_out", 2), numbers(state, "shares", 1)
        n, num_classes = left_out.shape
        passed, label_keys = Passed.restore(state), numbers(state, "label_keys", 1, size=n, kind="i")
        y = numbers(state, "y", 1, size=n, kind="i")
        need(num_classes >= 2 and shares.shape == passed.values.shape[1:] == (num_classes,), "the number of classes")
        need(
            bool((passed.values >= 0).all() and (shares >= 0).all() and shares.any()),
            "what nodes pass on is below zero",
        )
        need(bool(((y >= 0) & (y < num_classes)).all()), "the classes of the labels")
        self.passed_, self.shares_ = passed, shares
        self.label_keys_, self.y_, self.left_out_ = label_keys, y, left_out
        self.along_ = state.get("along", "")  # from 0.16 on
        self.by_ = state.get("by", "")  # from 0.29 on
        need(isinstance(self.along_, str) and isinstance(self.by_, str), "'along' and 'by' must be texts")
        return self


def _kinds(graph: RareGraph) -> tuple[str, ...]:
    """Kinds of edges that may be worth going along alone: those that are more than a few."""
    if graph.edges is None:
        return ()
    kinds = [kind for kind in graph.edges.kinds if EITHER not in kind]
    return tuple(kind for kind in kinds if graph.edges.of_kind(kind).mean() >= _FEWEST)


def _surely_less(losses: np.ndarray, others: np.ndarray) -> bool:
    """By far more than the gain scatters from label to label."""
    gains = others - losses
    return bool(gains.sum() > _SURELY * np.linalg.norm(gains))


def _sum_of_others(arrived: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """`(n, C)`: what came `(n, F, C)` to each label from the folds that it is not of."""
    return (arrived * (np.arange(arrived.shape[1]) != fold[:, None])[:, :, None]).sum(axis=1)


def _from_each(
    adjacency: sp.csr_array, alpha: float, steps: int, nodes: np.ndarray, labelled: np.ndarray
) -> sp.coo_array:
    """`(len(nodes), len(labelled))`: what comes to each node from a label at each labelled one, faint parts dropped."""
    if len(labelled) < len(nodes):  # S is symmetric
        return _from_each(adjacency, alpha, steps, labelled, nodes).T
    scale = scale_of(adjacency)
    adjacency.data = alpha * adjacency.data * np.repeat(scale, np.diff(adjacency.indptr)) * scale[adjacency.indices]
    now, there = adjacency[nodes], adjacency[:, labelled]
    found = now[:, labelled]
    for left in range(steps - 1, 0, -1):
        now.data[now.data < _FAINT] = 0.0
        now.eliminate_zeros()
        if not now.nnz:
            break
        if _DENSE * now.nnz > len(nodes) * adjacency.shape[0]:
            return sp.coo_array(found + _from_many(adjacency, left, now, labelled))
        found = found + now @ there  # not read off the next product: most of its columns are nobody's
        now = now @ adjacency
    return sp.coo_array(found)


def _from_many(adjacency: sp.csr_array, steps: int, reached: sp.csr_array, labelled: np.ndarray) -> np.ndarray:
    """The rest of `_from_each`, in so many steps, where much of the graph is reached; a few nodes at a time."""
    found, block = np.zeros((reached.shape[0], len(labelled))), max(1, _BLOCK_NUMBERS // adjacency.shape[0])
    for start in range(0, reached.shape[0], block):
        now = reached[start : start + block].T.toarray()
        for _ in range(steps):
            now = adjacency @ now  # S is symmetric
            found[start : start + block] += now[labelled].T
            now[now < _FAINT] = 0.0
    return found
