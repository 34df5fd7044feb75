"""What a network would say of its labelled nodes without their labels: by one Newton step, or by refits in folds.

One step from rest speaks for a refit as long as the network has more labels than freedom. Where it could learn its labels
whatever they are, or did not come to rest, the step's answer means little, and folds are refitted instead.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from calirare.data.arrays import all_below
from calirare.data.inputs import GraphInputs
from calirare.detectors.base import LabelledNodes, gather_blocks
from calirare.detectors.left_out.folds import folds
from calirare.detectors.left_out.level import restore_shifts
from calirare.detectors.left_out.ranks import curve, same_rank
from calirare.detectors.networks.influence.jacobian import AutogradJacobian, contrast_basis, make_jacobian
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.influence.model import LARGEST_LOGIT, bounded, predict_logits
from calirare.detectors.stored import need, network_weights, numbers, under
from calirare.errors import NumericalError

Blocks = Iterator[tuple[np.ndarray, np.ndarray]]
_MOST_LEFT_OUT = 1_024
_LARGEST_DIRECTIONS = 32_000_000
_FEWEST_LEFT_OUT = 128
_PUSH_BYTES = 128 * 2**20


def centred(logits: np.ndarray) -> np.ndarray:
    """Logits without their mean, and bounded where a Newton step overshoots.

    A node that alone holds up a direction of the parameters has leverage near one, and its Newton step leaves the
    range in which one step means anything. Its logits are cut at ±30: still as wrong as a prediction can be.
    """
    return np.clip(logits - logits.mean(axis=-1, keepdims=True), -LARGEST_LOGIT, LARGEST_LOGIT)


def step_logits(engine: LeaveOneOut, said: Tensor | None = None) -> np.ndarray:
    """`(n, C)`: what one step says of each label without it, at a common level; `said`: in place of the tangent's answer."""
    said = engine.left_out_logits if said is None else said
    return centred((said - engine.level_changes).cpu().numpy())


class StepEvidence:
    """The left-out models as shifts of the trained parameters.

    Args:
        logits: `(n, C)` left-out logits of the labelled nodes.
        rows: `(m,)` the labels whose shifts are kept, in random order; all of them unless memory forbids.
        directions: `(m, P)` float32: θ₋ᵢ - θ; or what gives them when they are first asked for.
        shifts: `(n, C)` to a common level.
    """

    def __init__(
        self,
        logits: np.ndarray,
        rows: np.ndarray,
        directions: np.ndarray | Callable[[], np.ndarray],
        shifts: np.ndarray,
    ) -> None:
        self.logits, self.rows, self.shifts = logits, rows, shifts
        self._directions = directions

    @classmethod
    def from_engine(cls, engine: LeaveOneOut, logits: np.ndarray, seed: int) -> StepEvidence:
        """Keep what later questions need, in bounded memory; what is large and may never be asked for waits."""
        n, size = len(engine.nodes), engine.jacobian.num_parameters
        kept = min(n, _MOST_LEFT_OUT, max(_FEWEST_LEFT_OUT, _LARGEST_DIRECTIONS // size))
        rows = np.random.default_rng(seed).permutation(n)[:kept]
        curvature, step, places = engine.curvature, engine.step, engine.place[rows]
        later = curvature.later(places, step)
        directions: np.ndarray | Callable[[], np.ndarray] = (
            partial(_gathered, later, kept, size)
            if later is not None
            else _gathered(lambda some: curvature.directions(places[some], step), kept, size)
        )
        return cls(logits, rows, directions, -engine.level_changes.cpu().numpy())

    def __getstate__(self) -> dict[str, Any]:
        """With the directions themselves: what gives them knows the whole graph."""
        return vars(self) | {"_directions": self.directions}

    @property
    def directions(self) -> np.ndarray:
        """`(m, P)` float32: θ₋ᵢ - θ."""
        if not isinstance(self._directions, np.ndarray):
            self._directions = self._directions()
        return self._directions

    def logits_without(self, model: nn.Module, inputs: GraphInputs, rows: np.ndarray) -> Blocks:
        """Blocks `(rows, (N, b, C))`, to first order in the parameters."""
        place = {int(row): at for at, row in enumerate(self.rows)}
        asked = np.array([place[int(row)] for row in rows if int(row) in place], dtype=np.int64)
        jacobian, logits = make_jacobian(model, inputs), predict_logits(model, inputs)
        basis = contrast_basis(logits.shape[1]).to(logits)
        block = max(1, min(len(asked), _PUSH_BYTES // (4 * len(logits) * jacobian.push_width)))
        for start in range(0, len(asked), block):
            chosen = asked[start : start + block]
            pushed = jacobian.push(torch.from_numpy(self.directions[chosen]).to(logits))
            shifted = bounded(logits[:, None] + torch.einsum("vpi,cp->vic", pushed, basis))
            if not bool(shifted.isfinite().all()):
                raise NumericalError(
                    "the left-out models give NaN or infinite logits; raise weight_decay, or scale the features and the edge weights."
                )
            yield self.rows[chosen], shifted.cpu().numpy() + self.shifts[self.rows[chosen]].astype(np.float32)

    def logits_without_at(
        self, model: nn.Module, inputs: GraphInputs, rows: np.ndarray, nodes: np.ndarray
    ) -> np.ndarray:
        """`(len(nodes), len(rows), C)`: the logits of a few nodes, from their own rows of the Jacobian."""
        jacobian = make_jacobian(model, inputs)
        if type(jacobian) is AutogradJacobian and len(nodes) > len(rows):  # a pass for each row is then dearer
            return gather_blocks(self.logits_without(model, inputs, rows), rows, nodes)
        place = {int(row): at for at, row in enumerate(self.rows)}
        asked = np.array([place[int(row)] for row in rows], dtype=np.int64)
        logits = predict_logits(model, inputs)[torch.from_numpy(nodes)].double()
        directions, basis = (
            torch.from_numpy(self.directions[asked]).to(logits),
            contrast_basis(logits.shape[1]).to(logits),
        )
        changes = [basis @ (block.to(logits) @ directions.T) for block in jacobian.rows(nodes)]
        return bounded(logits[:, None] + torch.cat(changes).mT).cpu().numpy() + self.shifts[rows]

    def state(self) -> dict[str, np.ndarray]:
        return {"logits": self.logits, "rows": self.rows, "directions": self.directions, "shifts": self.shifts}


def _gathered(directions: Callable[[slice], Tensor], count: int, size: int) -> np.ndarray:
    """`(count, size)` float32, made a block at a time."""
    found = np.empty((count, size), dtype=np.float32)
    block = max(1, _PUSH_BYTES // (16 * size))
    for start in range(0, count, block):
        found[start : start + block] = directions(slice(start, start + block)).float().cpu().numpy()
    return found


@dataclass(frozen=True, eq=False)
class FoldEvidence:
    """The left-out models as networks refitted without each fold.

    Args:
        logits: `(n, C)` left-out logits of the labelled nodes.
        fold: `(n,)` the fold that leaves each label out.
        models: The refitted networks, one per fold.
        curves: `(folds, K, C)` where the logits of each lie; see `calirare.detectors.left_out.ranks`.
        common: `(K, C)` where those of the network of all labels do, in whose words all are read.
    """

    logits: np.ndarray
    fold: np.ndarray
    models: tuple[nn.Module, ...]
    curves: np.ndarray
    common: np.ndarray

    @classmethod
    def refit(
        cls,
        fit: Callable[[np.ndarray], nn.Module],
        model: nn.Module,
        inputs: GraphInputs,
        labels: LabelledNodes,
        fold: np.ndarray,
    ) -> FoldEvidence:
        """`fit` gives a fresh network trained on the labels of some rows; `model` was trained on them all."""
        others = np.setdiff1d(np.arange(inputs.num_nodes), labels.nodes)
        logits = np.empty((len(labels), labels.num_classes))
        models, curves = [], []
        for _, kept, left in folds(fold):
            models.append(fit(kept))
            found = _said(models[-1], inputs)
            logits[left] = found[labels.nodes[left]]
            curves.append(curve(found[others] if others.size else logits[left]))
        common = curve(_said(model, inputs)[others]) if others.size else np.mean(curves, axis=0)
        for number, _, left in folds(fold):
            logits[left] = same_rank(logits[left], curves[number], common)
        return cls(centred(logits), fold, tuple(models), np.stack(curves), common)

    @property
    def rows(self) -> np.ndarray:
        return np.arange(len(self.fold))

    def logits_without(self, model: nn.Module, inputs: GraphInputs, rows: np.ndarray) -> Blocks:
        """Blocks `(rows, (N, 1 or more, C))`: the labels of a fold share a network."""
        for number in range(len(self.models)):
            left = rows[self.fold[rows] == number]
            if left.size:
                yield left, self._logits_of(number, inputs)[:, None].repeat(len(left), axis=1)

    def logits_without_at(
        self, model: nn.Module, inputs: GraphInputs, rows: np.ndarray, nodes: np.ndarray
    ) -> np.ndarray:
        """`(len(nodes), len(rows), C)`: the logits of a few nodes; a fold has thousands of labels and one network."""
        fold = self.fold[rows]
        found = np.empty((len(nodes), len(rows), self.logits.shape[1]))
        for number in np.unique(fold).tolist():
            found[:, fold == number] = self._logits_of(number, inputs)[nodes, None]
        return found

    def _logits_of(self, number: int, inputs: GraphInputs) -> np.ndarray:
        said = _said(self.models[number].to(inputs.device), inputs)
        return same_rank(said, self.curves[number], self.common)

    def state(self) -> dict[str, np.ndarray]:
        stacked = {
            name: np.stack([dict(model.state_dict())[name].cpu().numpy() for model in self.models])
            for name in self.models[0].state_dict()
        }
        read = {"curves": self.curves, "common": self.common}
        return {"logits": self.logits, "fold": self.fold} | read | under("models", stacked)


def _said(model: nn.Module, inputs: GraphInputs) -> np.ndarray:
    return bounded(predict_logits(model, inputs)).double().cpu().numpy()


Evidence = StepEvidence | FoldEvidence


def restore_evidence(state: dict[str, np.ndarray], model: nn.Module, num_classes: int) -> Evidence:
    """From what `state` gave, checked; `model` is the trained network, whose shape the folds' networks share."""
    logits = numbers(state, "logits", 2)
    need(logits.shape[1] == num_classes and len(logits) > 0, "'logits' must have a column for each class")
    shifts = restore_shifts(state, logits.shape)
    if "fold" not in state:
        rows, directions = numbers(state, "rows", 1, kind="i"), numbers(state, "directions", 2, size=len(state["rows"]))
        need(len(np.unique(rows)) == len(rows) > 0, "'rows' must differ")
        need(all_below(rows, len(logits)), "'rows' are out of range")
        size = sum(value.numel() for value in model.parameters() if value.requires_grad)
        need(directions.shape[1] == size, f"'directions' must have {size} columns")
        return StepEvidence(logits, rows, state["directions"], shifts)
    fold = numbers(state, "fold", 1, size=len(logits), kind="i")
    weights = network_weights("models", state)
    count = int(fold.max()) + 1
    need(fold.min() >= 0 and len(np.unique(fold)) == count and bool(weights), "'fold' is out of range")
    for name, value in weights.items():
        need(value.shape[:1] == (count,), f"{name!r} must have {count} rows")
    models = []
    for number in range(count):
        models.append(copy.deepcopy(model))
        models[-1].load_state_dict({name: torch.from_numpy(value)[number] for name, value in weights.items()})
    if "curves" not in state:
        return FoldEvidence(logits, fold, tuple(models), *_straight(state, fold, shifts))
    curves, common = numbers(state, "curves", 3, size=count), numbers(state, "common", 2)
    need(curves.shape[1:] == common.shape and common.shape[1] == num_classes, "'curves' must be as long as 'common'")
    need(all(bool((np.diff(one, axis=-2) >= 0).all()) for one in (curves, common)), "'curves' and 'common' must rise")
    return FoldEvidence(logits, fold, tuple(models), curves, common)


def _straight(state: dict[str, np.ndarray], fold: np.ndarray, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The curves of models stored before 0.23, which had a unit and a level: one line for each fold, through two points."""
    factors = numbers(state, "factors", 1, size=len(fold)) if "factors" in state else np.ones(len(fold))
    need(bool((factors > 0).all()), "'factors' must be above zero")
    first = np.unique(fold, return_index=True)[1]
    factor, shift = factors[first, None], (shifts - shifts.mean(axis=1, keepdims=True))[first]
    common = np.outer([-1.0, 1.0], np.full(shifts.shape[1], (factor * LARGEST_LOGIT + np.abs(shift)).max()))
    return (common - shift[:, None]) / factor[:, None], common
