"""Our layer of attention with PyG's `GATConv` as judge."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.nn import GATConv

from calirare.data.sparse.pattern import SparsePattern
from calirare.detectors.networks.backbones.gat import Attention
from calirare.detectors.networks.backbones.layers import elu

SIZE, UNITS, HEADS = 6, 4, 3


def _layers():
    layers = []
    for kind in (Attention, GATConv):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            layers.append(kind(SIZE, UNITS, HEADS).double())
    return layers


def test_a_seed_makes_the_weights_of_pyg_in_the_same_order():
    ours, theirs = (list(layer.named_parameters()) for layer in _layers())
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    for (_, one), (_, other) in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize(("targets", "sources"), [(9, 9), (5, 9)])
def test_outputs_and_gradients_are_those_of_pyg(targets, sources, scale):
    """Over directed edges, of nodes without any, of a part and its halo, and with scores beyond the range of exp."""
    rng = np.random.default_rng(1)
    edges = rng.random((targets, sources)) < 0.3
    edges[np.arange(targets), np.arange(targets)] = edges[2] = False  # the third has none
    to, source = edges.nonzero()
    x = torch.from_numpy(scale * rng.normal(size=(sources, SIZE)))
    upstream = torch.from_numpy(rng.normal(size=(targets, HEADS * UNITS)))
    ours, theirs = _layers()
    pattern = SparsePattern(sp.csr_array(edges | np.eye(targets, sources, dtype=bool)))
    answers = []
    for layer, neighbours in ((ours, pattern), (theirs, torch.from_numpy(np.vstack([source, to])))):
        own = x.clone().requires_grad_()
        given = own if layer is ours else (own, own[:targets])
        output = layer(given, neighbours)
        answers.append([output, *torch.autograd.grad(output, [own, *layer.parameters()], upstream)])
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9 * scale)


def test_a_node_that_looks_at_nobody_says_the_bias():
    layer = _layers()[0]
    pattern = SparsePattern(sp.csr_array(np.diag([1.0, 0.0])))
    x = torch.ones(2, SIZE, dtype=torch.float64, requires_grad=True)
    output = layer(x, pattern)
    torch.testing.assert_close(output[1], layer.bias)
    (gradient,) = torch.autograd.grad(output.sum(), x)
    assert gradient[0].abs().max() > 0 and not gradient[1].any()


def test_the_way_of_a_gpu_gives_the_same():
    rng = np.random.default_rng(2)
    csr = sp.csr_array(rng.random((5, 9)) < 0.5)
    near, far = SparsePattern(csr), SparsePattern(csr)
    assert len(far.row) == len(far.column) == csr.nnz
    far.device = torch.device("cuda")  # its numbers, which are made, stay here
    x = torch.from_numpy(rng.normal(size=(9, SIZE))).requires_grad_()
    layer, answers = _layers()[0], []
    for pattern in (near, far):
        output = layer(x, pattern)
        answers.append([output, *torch.autograd.grad(output.square().sum(), [x, *layer.parameters()])])
    assert not torch.equal(near.copies(HEADS).row.long(), far.copies(HEADS).row)
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other)


def test_elu_is_torchs_with_its_slopes():
    x = torch.linspace(-3, 3, 12, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(elu(x), torch.nn.functional.elu(x))
    assert torch.autograd.gradcheck(elu, x)
    assert torch.autograd.gradgradcheck(elu, x)
