"""How the logits move with the parameters, for any module, through autograd.

Softmax does not see a constant added to all logits of a node, so everything here lives in the C - 1 *contrasts*
z̃ = Bᵀ z, where the columns of B are orthonormal and orthogonal to the vector of ones. In shapes, `contrasts` is C - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from calirare.data.inputs import GraphInputs
from calirare.data.node_keys import places_of
from calirare.detectors.networks.influence.factors import with_itself
from calirare.detectors.networks.influence.model import evaluating
from calirare.detectors.networks.influence.row_products import MOST_ADDED

_BLOCK_BYTES = 64 * 2**20
"""Size of the largest dense block of Jacobian rows kept at a time."""
MOST_KEPT = 2**26
"""Numbers of a Jacobian that is kept as a whole: 256 MB in single precision."""


def contrast_basis(num_classes: int) -> Tensor:
    """Helmert contrasts: `(C, C - 1)`, orthonormal columns that each sum to zero.

    >>> basis = contrast_basis(3)
    >>> torch.allclose(basis.T @ basis, torch.eye(2, dtype=torch.float64)), basis.sum(0).abs().max().item() < 1e-15
    (True, True)
    """
    basis = torch.zeros(num_classes, num_classes - 1, dtype=torch.float64)
    for k in range(1, num_classes):
        basis[:k, k - 1] = -1.0
        basis[k, k - 1] = float(k)
        basis[:, k - 1] /= (k + k * k) ** 0.5
    return basis


class Jacobian(Protocol):
    """J = ∂z̃/∂θ of a model on a graph, never held as a whole.

    `rows` gives it block by block; `gram` gives J Jᵀ of some nodes; `pull` gives Jᵀ a; `push` gives J d.
    """

    num_parameters: int
    num_contrasts: int
    float_type: type[np.floating[Any]]
    """The type in which long sums are made."""

    @property
    def push_width(self) -> int:
        """Numbers per node and direction that `push` holds at once."""

    def rows(self, nodes: np.ndarray) -> Iterator[Tensor]:
        """Blocks `(b, contrasts, P)` of the rows of `nodes`, in order."""

    def gram(self, nodes: np.ndarray) -> Tensor:
        """`(n·contrasts, n·contrasts)` float64: J Jᵀ."""

    def pull(self, nodes: np.ndarray, coefficients: Tensor) -> Tensor:
        """`(columns, P)`: Jᵀ a for each column a of `coefficients` `(n, contrasts, columns)`."""

    def push(self, directions: Tensor) -> Tensor:
        """`(N, contrasts, columns)`: J d at every node of the graph, for each row d of `directions` `(columns, P)`."""


@runtime_checkable
class Moves(Protocol):
    """A Jacobian that also knows the network a step away, each node with a step of its own, without a forward pass each.

    Attributes:
        most_bent: How far, of the length of a step, the network may lie from its tangent so that what it says there is near
            refits (measured by `benchmarks/left_out_evidence.py`).
    """

    most_bent: float

    def moved(self, nodes: np.ndarray, directions: Tensor) -> Tensor:
        """`(n, C)` float64: the logits of each node, the parameters moved along its row of `directions` `(n, P)`."""


_CLOSED_FORMS: dict[type[nn.Module], Callable[..., Jacobian]] = {}


def register_closed_form(model: type[nn.Module], jacobian: Callable[..., Jacobian]) -> None:
    """Use `jacobian(model, inputs)` for models of exactly this type, of two layers; autograd serves all others."""
    _CLOSED_FORMS[model] = jacobian


def has_two_layers(model: nn.Module) -> bool:
    """Whether a node's logits are known to depend on its neighbours and theirs alone."""
    return type(model) in _CLOSED_FORMS


def make_jacobian(model: nn.Module, inputs: GraphInputs) -> Jacobian:
    """The closed form where one is registered for the model, autograd elsewhere."""
    return _CLOSED_FORMS.get(type(model), AutogradJacobian)(model, inputs)


class _Kept(NamedTuple):
    """Rows of some nodes, `(n, contrasts, L)`, over the `(L,)` parameters that move any of them: units can be dead."""

    nodes: np.ndarray
    live: Tensor
    values: Tensor

    def spread(self, values: Tensor, size: int) -> Tensor:
        """`(…, size)`: what stands over the live parameters, over all."""
        if len(self.live) == size:
            return values
        found = values.new_zeros(*values.shape[:-1], size)
        found[..., self.live] = values
        return found


class AutogradJacobian:
    """The Jacobian of any module: one backward pass per row, and one per direction.

    Rows are costly, so those asked for last are kept, in the model's own precision, where they are few enough; the Gram
    matrix and `pull` are then products of them.
    """

    def __init__(self, model: nn.Module, inputs: GraphInputs) -> None:
        self.model, self.inputs = model, inputs
        self.parameters = {name: value.detach() for name, value in model.named_parameters()}
        self.num_parameters = sum(value.numel() for value in self.parameters.values())
        first = next(iter(self.parameters.values()))
        with evaluating(model), torch.no_grad():
            num_classes = int(model(inputs).shape[1])
        self.basis = contrast_basis(num_classes).to(first)
        self.num_contrasts = num_classes - 1
        self.float_type = np.float64 if self.basis.dtype == torch.float64 else np.float32
        self._kept: _Kept | None = None

    @property
    def push_width(self) -> int:
        return 4 * self.num_contrasts

    def _contrasts(self, parameters: dict[str, Tensor]) -> Tensor:
        return functional_call(self.model, parameters, (self.inputs,)) @ self.basis

    def _backward(self) -> Callable[[Tensor], Tensor]:
        """From a cotangent `(N, contrasts)` to the flat gradient, over one recorded forward pass."""
        leaves = {name: value.clone().requires_grad_() for name, value in self.parameters.items()}
        contrasts = self._contrasts(leaves)

        def pull_one(cotangent: Tensor) -> Tensor:
            gradients = torch.autograd.grad(
                contrasts, list(leaves.values()), cotangent, retain_graph=True, materialize_grads=True
            )
            return torch.cat([gradient.reshape(-1) for gradient in gradients])

        return pull_one

    def _keep(self, nodes: np.ndarray) -> _Kept | None:
        """The rows of `nodes`, if they are few enough."""
        if self._kept is not None and np.array_equal(self._kept.nodes, nodes):
            return self._kept
        if len(nodes) * self.num_contrasts * self.num_parameters > MOST_KEPT:
            return None
        self._kept = None
        rows = torch.cat([block.to(self.basis) for block in self._fresh_rows(nodes)])
        live = (rows.abs().amax(dim=(0, 1)) > 0).nonzero()[:, 0]
        self._kept = _Kept(nodes.copy(), live, rows if len(live) == self.num_parameters else rows[:, :, live])
        return self._kept

    def rows(self, nodes: np.ndarray) -> Iterator[Tensor]:
        places = None if self._kept is None else self._places(nodes)
        kept = self._kept if places is not None or len(nodes) == 1 else self._keep(nodes)
        if kept is None or places is None and len(nodes) == 1:
            yield from self._fresh_rows(nodes)
            return
        values = kept.values if places is None else kept.values[places]
        yield from (kept.spread(some, self.num_parameters) for some in values.split(self._block))

    @property
    def _block(self) -> int:
        return max(1, _BLOCK_BYTES // (8 * self.num_parameters * self.num_contrasts))

    def _places(self, nodes: np.ndarray) -> Tensor | None:
        """Where these nodes stand among those kept; None if one of them is not there."""
        assert self._kept is not None
        known = self._kept.nodes
        order = np.argsort(known, kind="stable")
        at, there = places_of(nodes, known[order])
        return torch.from_numpy(order[at]).to(self.basis.device) if there.all() else None

    def _fresh_rows(self, nodes: np.ndarray) -> Iterator[Tensor]:
        block = self._block
        with evaluating(self.model):
            backward = self._backward()
            for start in range(0, len(nodes), block):
                chunk = nodes[start : start + block]
                result = self.basis.new_zeros(len(chunk), self.num_contrasts, self.num_parameters)
                for row, node in enumerate(chunk):
                    for contrast in range(self.num_contrasts):
                        cotangent = self.basis.new_zeros(self.inputs.num_nodes, self.num_contrasts)
                        cotangent[int(node), contrast] = 1.0
                        result[row, contrast] = backward(cotangent)
                yield result

    def gram(self, nodes: np.ndarray) -> Tensor:
        kept, size = self._keep(nodes), len(nodes) * self.num_contrasts
        result = torch.zeros(size, size, dtype=torch.float64, device=self.basis.device)
        if kept is not None:
            for some in kept.values.reshape(size, -1).split(MOST_ADDED, dim=1):
                result += with_itself(some.T)
            return result
        top = 0
        for upper in self.rows(nodes):
            flat = upper.reshape(-1, self.num_parameters).double()
            left = 0
            # Rows are made again for each pair of blocks: time is paid so that memory stays at two blocks.
            others = [upper] if len(flat) == size else self.rows(nodes[: top // self.num_contrasts + len(upper)])
            for other in others:
                product = flat @ other.reshape(-1, self.num_parameters).double().T
                result[top : top + len(flat), left : left + product.shape[1]] = product
                result[left : left + product.shape[1], top : top + len(flat)] = product.T
                left += product.shape[1]
            top += len(flat)
        return result

    def pull(self, nodes: np.ndarray, coefficients: Tensor) -> Tensor:
        columns = coefficients.shape[2]
        if self._kept is not None and np.array_equal(self._kept.nodes, nodes):
            whole = self._kept.values.reshape(-1, len(self._kept.live))
            return self._kept.spread(coefficients.to(self.basis).reshape(-1, columns).T @ whole, self.num_parameters)
        result = self.basis.new_empty(columns, self.num_parameters)
        index = torch.from_numpy(nodes).to(self.basis.device)
        with evaluating(self.model):
            backward = self._backward()
            for column in range(columns):
                cotangent = self.basis.new_zeros(self.inputs.num_nodes, self.num_contrasts)
                cotangent.index_add_(0, index, coefficients[:, :, column].to(self.basis))
                result[column] = backward(cotangent)
        return result

    def push(self, directions: Tensor) -> Tensor:
        # Jᵀu is linear in u, so its derivative in u along d is J d: one backward pass through the recorded backward
        # pass. Forward mode would run the model again for each direction, which took two to five times as long.
        leaves = {name: value.clone().requires_grad_() for name, value in self.parameters.items()}
        sizes = [value.numel() for value in leaves.values()]
        pushed = []
        with evaluating(self.model):
            contrasts = self._contrasts(leaves)
            cotangent = torch.zeros_like(contrasts, requires_grad=True)
            pulled = torch.autograd.grad(
                contrasts, list(leaves.values()), cotangent, create_graph=True, materialize_grads=True
            )
            for direction in directions.to(self.basis):
                pieces = zip(direction.split(sizes), leaves.values(), strict=True)
                tangents = [piece.reshape(value.shape) for piece, value in pieces]
                pushed.append(torch.autograd.grad(pulled, cotangent, tangents, retain_graph=True)[0])
        return torch.stack(pushed, dim=-1)
