"""The paper's individual measure: jackknife bounds, ICE and EICE, differentiable.

Know its limit. When the left-out models barely differ, the quantiles of ±r around the same prediction cancel and ICE
tends to 0 whatever the true error. It is the paper's measure, and never the only one to read.
"""

from __future__ import annotations

import torch
from torch import Tensor

from calirare.data.checks import check_coverage

_BLOCK = 8_000_000
"""Values per block of nodes, so that the work arrays stay small beside the table."""


def _quantile(values: Tensor, level: float) -> Tensor:
    """torch.quantile over the second axis, by partial selection from the nearer end instead of a full sort."""
    last = values.shape[1] - 1
    rank = level * last
    below = min(int(rank), max(last - 1, 0))
    upper_half = below > last // 2
    selected = values.topk(
        last + 1 - below if upper_half else min(below + 2, last + 1), dim=1, largest=upper_half
    ).values
    first = selected[:, last - below] if upper_half else selected[:, below]
    if last == 0:
        return first
    second = selected[:, last - below - 1] if upper_half else selected[:, below + 1]
    return torch.lerp(first, second, rank - below)


def jackknife_bounds(
    left_out: Tensor, residuals: Tensor, *, coverage: float = 0.9, clip: bool = False
) -> tuple[Tensor, Tensor]:
    """Lower and upper jackknife bounds of one class's probability.

    lower(v) = Quantile_{(1-q)/2} { f(v; θ₋ᵢ) - r_i }_i ,  upper(v) = Quantile_{1-(1-q)/2} { f(v; θ₋ᵢ) + r_i }_i

    Args:
        left_out: `(V, n)` f(v; θ₋ᵢ), the probability of the class at node v without label i.
        residuals: `(n,)` r_i = |1[y_i = c] - f(i; θ₋ᵢ)|.
        coverage: q.
        clip: Cut the bounds to [0, 1].

    >>> low, high = jackknife_bounds(torch.full((1, 3), 0.4), torch.tensor([0.1, 0.1, 0.1]))
    >>> round(low.item(), 6), round(high.item(), 6)
    (0.3, 0.5)
    """
    check_coverage(coverage)
    tail = (1 - coverage) / 2
    blocks = left_out.split(max(1, _BLOCK // max(1, left_out.shape[1])))
    lower = torch.cat([_quantile(block - residuals, tail) for block in blocks])
    upper = torch.cat([_quantile(block + residuals, 1 - tail) for block in blocks])
    return (lower.clamp(0, 1), upper.clamp(0, 1)) if clip else (lower, upper)


def individual_calibration_error(
    probabilities: Tensor,
    left_out: Tensor,
    own_left_out: Tensor,
    y: Tensor,
    *,
    coverage: float = 0.9,
    clip: bool = False,
) -> Tensor:
    """ICE(v) = |uncer(v) - conf(v)|, `(V,)`, at each node's predicted class.

    uncer(v) is the middle of the jackknife bounds of the predicted class, conf(v) the largest probability.

    Args:
        probabilities: `(V, C)` p_v.
        left_out: `(V, n, C)` p_v(θ₋ᵢ).
        own_left_out: `(n, C)` p_i(θ₋ᵢ) of the labelled nodes.
        y: `(n,)` their classes.
        coverage: q.
        clip: Cut the bounds to [0, 1] first.

    Note:
        The paper's published code set an interval of class 1 against the confidence of the predicted class; here
        both speak of the same class.

    >>> p = torch.tensor([[0.3, 0.7]])
    >>> individual_calibration_error(p, p[None].expand(1, 2, 2), torch.tensor([[0.8, 0.2], [0.2, 0.8]]), torch.tensor([0, 1])).round(decimals=6)
    tensor([0.])
    """
    confidence, predicted = probabilities.max(dim=1)
    target = torch.nn.functional.one_hot(y, probabilities.shape[1]).to(own_left_out)
    residuals = (target - own_left_out).abs()
    uncertainty = torch.empty_like(confidence)
    for c in range(probabilities.shape[1]):
        rows = predicted == c
        if rows.any():
            lower, upper = jackknife_bounds(left_out[:, :, c][rows], residuals[:, c], coverage=coverage, clip=clip)
            uncertainty = uncertainty.masked_scatter(rows, (lower + upper) / 2)
    return (uncertainty - confidence).abs()


def expected_individual_calibration_error(
    probabilities: Tensor,
    left_out: Tensor,
    own_left_out: Tensor,
    y: Tensor,
    *,
    coverage: float = 0.9,
    clip: bool = False,
) -> Tensor:
    """EICE: the mean of ICE over the nodes given. See `individual_calibration_error`.

    >>> p, own = torch.tensor([[0.3, 0.7]]), torch.tensor([[0.8, 0.2], [0.2, 0.8]])
    >>> left_out = torch.tensor([[[0.4, 0.6], [0.4, 0.6]]])  # every removal moves the node by 0.1
    >>> round(expected_individual_calibration_error(p, left_out, own, torch.tensor([0, 1])).item(), 6)
    0.1
    """
    return individual_calibration_error(probabilities, left_out, own_left_out, y, coverage=coverage, clip=clip).mean()
