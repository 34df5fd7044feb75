"""The closed forms of Jacobians and the autograd one, both against torch's whole Jacobian."""

import copy
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graph_cases import exact_inputs, random_weights, small_graph
from leave_one_out import jacobian

from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.backbones.gat import GATBackbone
from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.backbones.gin import GINBackbone
from calirare.detectors.networks.backbones.sage import SAGEBackbone
from calirare.detectors.networks.gat_jacobian import GATJacobian
from calirare.detectors.networks.gcn_jacobian import GCNJacobian
from calirare.detectors.networks.influence.gated_gram import GatedGram
from calirare.detectors.networks.influence.jacobian import AutogradJacobian, contrast_basis, make_jacobian
from calirare.detectors.networks.influence.row_products import gram_of
from calirare.detectors.networks.local_jacobian import GINJacobian, SAGEJacobian

NODES = np.array([4, 29, 0, 13, 21, 8])


MODELS = {SAGEJacobian: SAGEBackbone, GINJacobian: GINBackbone, GATJacobian: partial(GATBackbone, heads=2)}


@cache
def _case(num_classes, *, sparse=True, weighted=False, make=GCNBackbone):
    graph = small_graph(num_classes, sparse=sparse, weighted=weighted)
    hidden = 6 if make is GCNBackbone else 3  # of fewer, every node opens the same
    return random_weights(make(7, num_classes, hidden=hidden)), exact_inputs(graph)


@cache
def _whole(model, inputs):
    """∂z̃/∂θ of every node, `(N, contrasts, P)`."""
    full, logits = jacobian(model, inputs)
    return torch.einsum("ncp,cd->ndp", full, contrast_basis(logits.shape[1]))


@pytest.mark.parametrize(
    ("keeps", "num_classes", "sparse", "weighted"),
    [
        pytest.param(keeps, 4 if more else 2, sparse, weighted, marks=[pytest.mark.slow] * odd)
        for keeps, more, sparse, weighted in product([True, False], repeat=4)
        for odd in [(keeps + more + sparse + weighted) % 2]  # the even half meets any three of the four in every way
    ],
)
@pytest.mark.parametrize("kind", [GCNJacobian, AutogradJacobian, SAGEJacobian, GINJacobian, GATJacobian])
def test_rows_gram_pull_and_push(kind, keeps, num_classes, sparse, weighted, monkeypatch):
    for module in ("influence.jacobian", "local_jacobian"):
        monkeypatch.setattr(f"calirare.detectors.networks.{module}.MOST_KEPT", 2**26 if keeps else 0)
    monkeypatch.setattr("calirare.detectors.networks.local_jacobian._MOST_EDGES", 20)
    monkeypatch.setattr(GatedGram, "_cost", lambda *_: np.inf)
    model, inputs = _case(num_classes, sparse=sparse, weighted=weighted, make=MODELS.get(kind, GCNBackbone))
    whole, found = _whole(model, inputs), kind(model, inputs)
    assert found.num_parameters == whole.shape[2] and found.num_contrasts == num_classes - 1
    some = whole[NODES]
    blocks = list(found.rows(NODES))
    assert len(blocks) > 1 or keeps or kind in (GCNJacobian, AutogradJacobian)
    torch.testing.assert_close(torch.cat(blocks), some, atol=1e-10, rtol=0)
    flat = some.reshape(-1, whole.shape[2])
    torch.testing.assert_close(found.gram(NODES), flat @ flat.T, atol=1e-10, rtol=0)
    generator = torch.Generator().manual_seed(0)
    coefficients = torch.randn(len(NODES), found.num_contrasts, 3, generator=generator, dtype=torch.float64)
    expected = torch.einsum("ndp,ndb->bp", some, coefficients)
    torch.testing.assert_close(found.pull(NODES, coefficients), expected, atol=1e-10, rtol=0)
    directions = torch.randn(3, whole.shape[2], generator=generator, dtype=torch.float64)
    expected = torch.einsum("ndp,bp->ndb", whole, directions)
    torch.testing.assert_close(found.push(directions), expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize(("num_classes", "sparse"), [(2, True), (4, False)])
@pytest.mark.parametrize("kind", [GCNJacobian, SAGEJacobian])
@pytest.mark.parametrize("common", [None, 0, 1, 2, 4], ids=lambda common: f"{common} common patterns")
def test_every_route_to_the_gram_matrix(monkeypatch, common, kind, num_classes, sparse):
    """All nodes' pairs, those of the nodes that show no common pattern, or (None) unit by unit."""
    model, inputs = _case(num_classes, sparse=sparse, make=MODELS.get(kind, GCNBackbone))
    seen, make = [], GatedGram.kernel
    monkeypatch.setattr(GatedGram, "_cost", lambda _, count: -1.0 if count == common else np.inf)
    monkeypatch.setattr(GatedGram, "kernel", lambda self: seen.append(self.common) or make(self))
    flat = _whole(model, inputs)[NODES].reshape(len(NODES) * (num_classes - 1), -1)
    torch.testing.assert_close(kind(model, inputs).gram(NODES), flat @ flat.T, atol=1e-10, rtol=0)
    assert seen == ([] if common is None else [common])


@pytest.mark.parametrize(("odd", "common"), [(0, 1), (3, 1), (400, 0)])
def test_common_patterns_pay_where_most_nodes_show_them(odd, common):
    rng = np.random.default_rng(0)
    gates = np.ones((1, 400, 16))
    gates[:, :odd] = rng.random((odd, 16)) < 0.5
    local = sp.csr_array(sp.random_array((60, 400), density=0.1, rng=rng))
    assert GatedGram(local, rng.normal(size=(400, 30)), gates).common == common


@pytest.mark.parametrize("held", [1, 2**20], ids=["strip by strip", "all strips at once"])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("kind", [GCNJacobian, SAGEJacobian])
def test_pairs_in_blocks_of_a_few_neighbours(monkeypatch, kind, sparse, held):
    monkeypatch.setattr("calirare.detectors.networks.influence.gated_gram._PAIR_BYTES", 4 * 30 * 4)
    monkeypatch.setattr("calirare.detectors.networks.influence.gated_gram._STRIP_BYTES", held)
    monkeypatch.setattr(GatedGram, "_cost", lambda _, common: float(common))
    model, inputs = _case(3, sparse=sparse, make=MODELS.get(kind, GCNBackbone))
    flat = _whole(model, inputs)[NODES].reshape(len(NODES) * 2, -1)
    torch.testing.assert_close(kind(model, inputs).gram(NODES), flat @ flat.T, atol=1e-10, rtol=0)


@pytest.mark.parametrize("cost", [0, 10], ids=["sparse products", "dense products"])
def test_rows_with_themselves_in_blocks_of_columns(monkeypatch, cost):
    monkeypatch.setattr("calirare.detectors.networks.influence.row_products.SPARSE_COST", cost)
    monkeypatch.setattr("calirare.detectors.networks.influence.row_products.MOST_ADDED", 3)
    rows = sp.csr_array(sp.random_array((9, 20), density=0.2, rng=np.random.default_rng(0)))
    expected = rows.toarray() @ rows.toarray().T
    np.testing.assert_allclose(gram_of(rows), expected, atol=1e-14)
    np.testing.assert_allclose(gram_of(rows.toarray()), expected, atol=1e-14)


@pytest.mark.parametrize("kind", [GCNJacobian, AutogradJacobian])
def test_blocks_of_one_node(monkeypatch, kind):
    model, inputs = _case(3)
    monkeypatch.setattr(f"{kind.__module__}._BLOCK_BYTES", 1)
    monkeypatch.setattr("calirare.detectors.networks.influence.jacobian.MOST_KEPT", 0)
    some = _whole(model, inputs)[NODES]
    blocks = list(kind(model, inputs).rows(NODES))
    assert len(blocks) == len(NODES)
    torch.testing.assert_close(torch.cat(blocks), some, atol=1e-10, rtol=0)
    flat = some.reshape(-1, some.shape[2])
    torch.testing.assert_close(kind(model, inputs).gram(NODES), flat @ flat.T, atol=1e-10, rtol=0)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("by_paths", [True, False])
def test_both_orders_of_the_two_steps_of_attention(monkeypatch, by_paths, sparse):
    monkeypatch.setattr(GATJacobian, "_paths_are_cheaper", lambda *_: by_paths)
    monkeypatch.setattr("calirare.detectors.networks.gat_jacobian._MOST_PATHS", 20)
    model, inputs = _case(3, sparse=sparse, make=MODELS[GATJacobian])
    found = torch.cat(list(GATJacobian(model, inputs).rows(NODES)))
    torch.testing.assert_close(found, _whole(model, inputs)[NODES], atol=1e-10, rtol=0)


@pytest.mark.parametrize("star", [True, False])
def test_paths_are_walked_where_they_are_few(monkeypatch, star):
    """Of a star with few columns every leaf reaches all others in two steps; of a chain with many, almost none."""
    ends = np.arange(40)
    edges = np.stack([np.zeros_like(ends) if star else ends, ends + 1])
    graph = RareGraph(x=np.ones((41, 2 if star else 200)), edge_index=edges, y=np.arange(41) % 2)
    chosen, seen = GATJacobian._paths_are_cheaper, []
    monkeypatch.setattr(GATJacobian, "_paths_are_cheaper", lambda *given: seen.append(chosen(*given)) or seen[-1])
    GATJacobian(random_weights(GATBackbone(graph.num_features, 2, hidden=3)), exact_inputs(graph)).gram(np.arange(20))
    assert set(seen) == {not star}


@pytest.mark.parametrize("columns", [1, 40], ids=["few", "many: through the rows"])
def test_a_node_given_twice_counts_twice(columns):
    model, inputs = _case(3)
    nodes = np.array([4, 4, 7])
    coefficients = torch.randn(3, 2, columns, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.einsum("ndp,ndb->bp", _whole(model, inputs)[nodes], coefficients)
    for kind in (GCNJacobian, AutogradJacobian):
        torch.testing.assert_close(kind(model, inputs).pull(nodes, coefficients), expected, atol=1e-10, rtol=0)


def test_the_closed_form_is_used_for_exactly_its_own_model():
    model, inputs = _case(2)

    class Changed(GCNBackbone):
        """A subclass may compute anything."""

    assert isinstance(make_jacobian(model, inputs), GCNJacobian)
    assert isinstance(make_jacobian(random_weights(GATBackbone(7, 2)), inputs), GATJacobian)
    assert type(make_jacobian(random_weights(Changed(7, 2)), inputs)) is AutogradJacobian


@pytest.mark.parametrize("size", [1, 700])
def test_directions_are_pushed_through_blocks_of_nodes(monkeypatch, size):
    """Of dense features, node by node and a few at a time."""
    model, inputs = _case(3, sparse=False)
    monkeypatch.setattr("calirare.detectors.networks.gcn_jacobian._PUSH_BYTES", size)
    whole, found = _whole(model, inputs), GCNJacobian(model, inputs)
    directions = torch.randn(3, whole.shape[2], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = torch.einsum("ndp,bp->ndb", whole, directions)
    torch.testing.assert_close(found.push(directions), expected, atol=1e-10, rtol=0)
    coefficients = torch.randn(len(NODES), 2, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    expected = torch.einsum("ndp,ndb->bp", whole[NODES], coefficients)
    torch.testing.assert_close(found.pull(NODES, coefficients), expected, atol=1e-10, rtol=0)


def test_rows_are_made_once_and_kept(monkeypatch):
    model, inputs = _case(2)
    found, made = AutogradJacobian(model, inputs), []
    fresh = AutogradJacobian._fresh_rows
    monkeypatch.setattr(AutogradJacobian, "_fresh_rows", lambda self, nodes: made.append(nodes) or fresh(self, nodes))
    first = torch.cat(list(found.rows(NODES)))
    gram = found.gram(NODES)
    torch.testing.assert_close(torch.cat(list(found.rows(NODES[::-1].copy()))), first.flip(0), atol=0, rtol=0)
    torch.testing.assert_close(found.gram(NODES), gram, atol=0, rtol=0)
    assert len(made) == 1


@pytest.mark.parametrize("kind", [SAGEJacobian, GINJacobian])
def test_the_gram_matrix_of_rows_that_are_too_many_is_made_unit_by_unit(monkeypatch, kind):
    model, inputs = _case(3, make=MODELS[kind])
    flat = _whole(model, inputs)[NODES].reshape(2 * len(NODES), -1)
    for module in ("influence.jacobian", "local_jacobian"):
        monkeypatch.setattr(f"calirare.detectors.networks.{module}.MOST_KEPT", flat.numel() - 1)
    monkeypatch.setattr(GatedGram, "_cost", lambda *_: np.inf)
    monkeypatch.setattr(kind, "_fresh_rows", None)
    torch.testing.assert_close(kind(model, inputs).gram(NODES), flat @ flat.T, atol=1e-10, rtol=0)


def test_parameters_of_dead_units_are_not_kept():
    model, inputs = _case(2, make=MODELS[GINJacobian])
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.input_bias[1] = -1e6
    some, found = _whole(model, inputs)[NODES], GINJacobian(model, inputs)
    flat = some.reshape(len(NODES), -1)
    torch.testing.assert_close(found.gram(NODES), flat @ flat.T, atol=1e-10, rtol=0)
    assert len(found._kept.live) < flat.shape[1]
    torch.testing.assert_close(torch.cat(list(found.rows(NODES[:3]))), some[:3], atol=1e-10, rtol=0)
    coefficients = torch.randn(len(NODES), 1, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(found.pull(NODES, coefficients), coefficients[:, 0].T @ flat, atol=1e-10, rtol=0)


def test_long_sums_in_single_precision_keep_their_digits():
    wide = np.random.default_rng(0).random((31, 40_000))
    graph = RareGraph(x=wide, edge_index=np.stack([np.arange(30), np.arange(1, 31)]), y=np.arange(31) % 2)
    model, nodes = random_weights(GCNBackbone(40_000, 2, hidden=2), scale=0.01).float(), np.arange(30)
    found = AutogradJacobian(model, GraphInputs(graph))
    rows = torch.cat(list(found.rows(nodes))).double().reshape(30, -1)
    expected = rows @ rows.T
    assert (found.gram(nodes) - expected).abs().max() < 1e-6 * expected.max()
