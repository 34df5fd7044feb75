"""from_pyg and to_pyg."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from calirare.data.graph import RareGraph
from calirare.data.pyg import from_pyg
from calirare.data.split import Split
from calirare.data.synthetic import make_transactions
from calirare.errors import InputError, LabelError


def test_round_trip_keeps_the_graph():
    graph = make_transactions(100, labelled_share=0.8, seed=0)
    data = graph.to_pyg()
    again = from_pyg(data, rare_class=1)
    for name in ("x", "edge_index", "y", "node_ids"):
        assert np.array_equal(getattr(graph, name), getattr(again, name))
    assert data.validate() and not data.is_directed()
    data.x[0, 0] = 99.0
    assert graph.x[0, 0] != 99.0


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
@pytest.mark.filterwarnings("ignore:Sparse CS:UserWarning")
def test_sparse_features_stay_sparse(layout):
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    data = Data(x=x.to_sparse(layout=layout), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1, 0]))
    graph = from_pyg(data)
    assert sp.issparse(graph.x) and np.array_equal(graph.x.toarray(), x.numpy())
    back = graph.to_pyg()
    assert back.x.layout == torch.sparse_csr and torch.equal(back.x.to_dense(), x)


def test_weights_masks_and_odd_labels_are_understood():
    data = Data(
        x=torch.ones(4, 1),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_attr=torch.tensor([[2.0], [2.0], [3.0], [3.0]]),
        y=torch.tensor([[0.0], [1.0], [2.0], [float("nan")]]),
        train_mask=torch.tensor([[1, 0], [0, 0], [0, 0], [0, 0]]).bool(),
        val_mask=torch.tensor([[0, 0], [1, 0], [0, 0], [0, 0]]).bool(),
        test_mask=torch.tensor([[0, 0], [0, 0], [1, 0], [0, 0]]).bool(),
    )
    graph = from_pyg(data, rare_class=2)
    assert graph.y.tolist() == [0, 1, 2, -1] and graph.class_names == ("0", "1", "2")
    assert graph.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert graph.public_split.train.tolist() == [0] and graph.public_split.test.tolist() == [2]
    masks = graph.to_pyg()
    assert masks.train_mask.tolist() == [True, False, False, False]
    binary = graph.against_rest()
    assert binary.y.tolist() == [0, 0, 1, -1] and binary.class_names == ("not 2", "2")


def test_rare_class_zero_of_two_is_named_rare():
    data = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]))
    graph = from_pyg(data, rare_class=0)
    assert graph.class_names == ("rare", "normal") and graph.rare_class == 0


def test_what_is_missing_is_said():
    edges = torch.tensor([[0], [1]])
    with pytest.raises(InputError, match="data must have y; this one has .*edge_index"):
        from_pyg(Data(x=torch.ones(2, 1), edge_index=edges))
    with pytest.raises(LabelError, match=r"rare_class must be one of the labels \[0, 1\]; got 3"):
        from_pyg(Data(x=torch.ones(2, 1), edge_index=edges, y=torch.tensor([0, 1])), rare_class=3)
    with pytest.raises(InputError, match="one label per node"):
        from_pyg(Data(x=torch.ones(2, 1), edge_index=edges, y=torch.ones(2, 3)))
    with pytest.raises(InputError, match="whole numbers"):
        from_pyg(Data(x=torch.ones(2, 1), edge_index=edges, y=torch.tensor([0.5, 1.0])))
    with pytest.raises(InputError, match="finite"):
        from_pyg(Data(x=torch.full((2, 1), float("nan")), edge_index=edges, y=torch.tensor([0, 1])))


def test_to_pyg_carries_weights_truth_and_split():
    graph = RareGraph(
        x=np.eye(3), edge_index=np.array([[0], [1]]), y=np.array([0, 1, 1]), edge_weight=np.array([4.0]),
        true_probability=np.array([0.1, 0.5, 0.9]), public_split=Split(train=np.array([2])),
    )  # fmt: skip
    data = graph.to_pyg()
    assert data.edge_weight.tolist() == [4.0, 4.0]
    assert data.true_probability.tolist() == [0.1, 0.5, 0.9]
    assert data.train_mask.tolist() == [False, False, True] and not data.test_mask.any()
