"""What the model would say without each label, from one Newton step instead of a retraining.

Removing a *label* takes the node's term out of the loss; the node and its edges stay in the graph. That is the
question asked here. Removing the *node* would also change the graph and is another question.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from calirare.data.around import inputs_around, size_around
from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.influence.curvature import (
    LEAST_LEFT_OVER,
    Curvature,
    DualCurvature,
    PrimalCurvature,
    Step,
)
from calirare.detectors.networks.influence.iterative import IterativeCurvature
from calirare.detectors.networks.influence.jacobian import Moves, contrast_basis, has_two_layers, make_jacobian
from calirare.detectors.networks.influence.label_terms import label_terms
from calirare.detectors.networks.influence.model import evaluating, predict_logits
from calirare.errors import InputError, NumericalError

logger = logging.getLogger(__name__)
Solver = Literal["auto", "dual", "primal", "iterative"]
_SOLVERS: dict[str, type[DualCurvature] | type[PrimalCurvature] | type[IterativeCurvature]] = {
    "dual": DualCurvature,
    "primal": PrimalCurvature,
    "iterative": IterativeCurvature,
}
_LARGEST_DENSE = 8_192
"""Side of the largest matrix that is factorised (0.5 GB in float64)."""
_SMALLEST_DAMPING = 1e-6
_ALIKE = 1e-4
"""Logits of copies differ by less, which is rounding."""
_PUSH_BYTES = 128 * 2**20


def choose_solver(num_labels: int, num_contrasts: int, num_parameters: int) -> Literal["dual", "primal", "iterative"]:
    """The smaller dense system that fits, else conjugate gradients.

    >>> choose_solver(640, 1, 23_000), choose_solver(20_000, 1, 600), choose_solver(20_000, 1, 75_000)
    ('dual', 'primal', 'iterative')
    """
    dual, primal = num_labels * num_contrasts, num_parameters
    if min(dual, primal) > _LARGEST_DENSE:
        return "iterative"
    return "dual" if dual <= primal else "primal"


class LeaveOneOut:
    """Left-out logits of the labelled nodes, and the effect of each removal anywhere.

    With J_i = ∂z_i/∂θ, Λ_i and ρ_i the curvature and gradient of node i's loss term and M_i = J_i H⁻¹ J_iᵀ,

        z_v(θ₋ᵢ) ≈ z_v + J_v H⁻¹ J_iᵀ (I - Λ_i M_i)⁻¹ ρ_i ,

    logits being meant up to a constant per node, which softmax does not see. `step="influence"` leaves the inverse
    out, as the paper does. Copies have the same J, so those that are left out together are one label i whose Λ_i and ρ_i
    are the sums of theirs.

    Args:
        model: A trained model; read in eval mode.
        inputs: The graph it was trained on.
        nodes: `(n,)` the nodes whose labels trained it.
        y: `(n,)` their classes.
        weights: `(n,)` their weights in the loss, which sum to one.
        weight_decay: λ as trained. Below 1e-6 the curvature says too little and 1e-6 is used, with a log line.
        step: `"newton"` or `"influence"`.
        solver: `"auto"`, `"dual"`, `"primal"` or `"iterative"`.
        groups: `(n,)` copies have the same number and are left out together; None: there are none.

    Attributes:
        place: `(n,)` which of the labels that `curvature` knows each one is.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: GraphInputs,
        nodes: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        weight_decay: float,
        *,
        step: Step = "newton",
        solver: Solver = "auto",
        groups: np.ndarray | None = None,
    ) -> None:
        if step not in ("newton", "influence"):
            raise InputError(f"step must be 'newton' or 'influence'; got {step!r}.")
        if solver != "auto" and solver not in _SOLVERS:
            raise InputError(f"solver must be 'auto' or one of {sorted(_SOLVERS)}; got {solver!r}.")
        self.nodes, self.y, self.step = np.asarray(nodes, dtype=np.int64), np.asarray(y), step
        self.damping = max(float(weight_decay), _SMALLEST_DAMPING)
        if self.damping > weight_decay:
            logger.warning("weight_decay %g is too small for leave-one-out; %g is used.", weight_decay, self.damping)
        self._model, self._inputs, device = model, inputs, inputs.device
        self.logits = predict_logits(model, inputs).double()
        self.basis = contrast_basis(self.logits.shape[1]).to(device)
        self.index = torch.from_numpy(self.nodes).to(device)
        terms = label_terms(
            self.logits[self.index],
            torch.from_numpy(np.asarray(y, dtype=np.int64)).to(device),
            torch.from_numpy(np.asarray(weights, dtype=np.float64)).to(device),
        )
        each = np.arange(len(self.nodes)) if groups is None else groups
        self._first, self.place = np.unique(each, return_index=True, return_inverse=True)[1:]
        if len(self._first) < len(self.nodes):
            terms = terms.added(torch.from_numpy(self.place).to(device), len(self._first))
        self.jacobian = make_jacobian(model, inputs)
        self.solver = self._smallest_solver() if solver == "auto" else solver
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found and said by the solvers
            distinct = self.nodes[self._first]
            self.curvature: Curvature = _SOLVERS[self.solver](self.jacobian, distinct, terms, self.damping)
        self._say_if_unstable()

    def _smallest_solver(self) -> Literal["dual", "primal", "iterative"]:
        """As `choose_solver`; says so where nothing dense fits."""
        size = self.jacobian.num_parameters
        found = choose_solver(len(self._first), self.jacobian.num_contrasts, size)
        if found == "iterative":
            logger.warning("%d labels and %d parameters: solving by iteration.", len(self.nodes), size)
        return found

    def _say_if_unstable(self) -> None:
        """Log how many labels hold up a direction of the parameters all alone, where one Newton step means little."""
        largest = self.curvature.leverage.diagonal(dim1=1, dim2=2).amax(dim=1)
        alone = int((largest > 1 - 10 * LEAST_LEFT_OVER).sum())
        if alone:
            logger.warning(
                "the curvature is unstable: %d of %d labels hold the model up alone (leverage 1), and what it would say "
                "without them is only known to be far off; raise weight_decay or scale the features.",
                alone,
                len(largest),
            )

    @cached_property
    def _own_changes(self) -> Tensor:
        return self.curvature.own_change(self.step)

    @property
    def tells_copies_apart(self) -> bool:
        """Whether the model says different things of copies; then they are more than one label, and the step is none."""
        said = self.logits[self.index]
        return bool(((said - said[self._first][self.place]).abs() > _ALIKE * said.abs().amax().clamp(min=1.0)).any())

    @cached_property
    def left_out_logits(self) -> Tensor:
        """`(n, C)` float64: the logits of each labelled node by the model that never saw its label."""
        logits = self.logits[self.index] + self._own_changes[self.place] @ self.basis.T
        if not bool(logits.isfinite().all()):
            raise NumericalError(
                "left-out predictions are NaN or infinite; raise weight_decay, or scale the features and the edge weights."
            )
        return logits

    @property
    def may_bend(self) -> float | None:
        """`Moves.most_bent`; None where `stepped_logits` take a forward pass for each label."""
        return self.jacobian.most_bent if isinstance(self.jacobian, Moves) else None

    def stepped_logits(self, rows: np.ndarray) -> Tensor:
        """`(len(rows), C)` float64: what the network itself says of these labels' nodes at θ₋ᵢ.

        `left_out_logits` follow its tangent from θ instead, which costs no pass.
        """
        block = max(1, _PUSH_BYTES // (8 * self.jacobian.num_parameters))
        blocks = [rows[start : start + block] for start in range(0, len(rows), block)]
        return torch.cat([self._at_steps(self.nodes[some], self._directions(some)) for some in blocks])

    def _directions(self, rows: np.ndarray) -> Tensor:
        return self.curvature.directions(self.place[rows], self.step)

    def _at_steps(self, nodes: np.ndarray, steps: Tensor) -> Tensor:
        """What the network says of each node with its parameters moved by that node's step."""
        if isinstance(self.jacobian, Moves):
            return self.jacobian.moved(nodes, steps)
        said, parameters = [], dict(self._model.named_parameters())
        sizes = [value.numel() for value in parameters.values()]
        with evaluating(self._model), torch.no_grad():
            inputs, places = self._read_for(nodes)
            for place, step in zip(places, steps, strict=True):
                pieces = zip(parameters.items(), step.split(sizes), strict=True)
                moved = {name: value + piece.view_as(value).to(value) for (name, value), piece in pieces}
                said.append(functional_call(self._model, moved, (inputs,))[place])
        return torch.stack(said).double()

    def _read_for(self, nodes: np.ndarray) -> tuple[GraphInputs, np.ndarray]:
        """Inputs that hold all that the logits of these nodes depend on, and where the nodes stand in them."""
        if has_two_layers(self._model) and 4 * size_around(self._inputs, nodes).sum() < self._inputs.adjacency.nnz:
            return inputs_around(self._inputs, nodes).inputs, np.arange(len(nodes))
        return self._inputs, nodes

    @cached_property
    def level_changes(self) -> Tensor:
        """`(n, C)`: how far the removal of each label moves the other labelled nodes' logits on average, copies counted once."""
        mean, n = self.curvature.mean_change(self.step), len(self._first)
        return ((n * mean - self._own_changes) / max(n - 1, 1) @ self.basis.T)[self.place]

    def changes_among_labelled(self) -> Tensor:
        """`(n, n, C)`: change of labelled node v's logits (first axis) by the removal of label i (second axis)."""
        changes = self.curvature.changes_among_labelled(self.step)[self.place][:, :, self.place]
        return torch.einsum("vpi,cp->vic", changes, self.basis)

    def changes(
        self, rows: np.ndarray | None = None, targets: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, Tensor]]:
        """For blocks of labelled `rows`, the change of the logits of `targets` (default: all nodes).

        Yields `(rows, (targets, len(rows), C))`; a block is sized so that the work arrays stay near 128 MB.
        """
        rows = np.arange(len(self.nodes)) if rows is None else np.asarray(rows)
        block = max(1, min(len(rows), _PUSH_BYTES // (8 * self.logits.shape[0] * self.jacobian.push_width)))
        index = None if targets is None else torch.from_numpy(np.asarray(targets)).to(self.index.device)
        for start in range(0, len(rows), block):
            chunk = rows[start : start + block]
            pushed = self.jacobian.push(self._directions(chunk))
            if index is not None:
                pushed = pushed[index]
            yield chunk, torch.einsum("vpi,cp->vic", pushed, self.basis.to(pushed))
