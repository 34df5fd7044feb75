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


@pytest.mark.parametrize("y", [None, torch.full((4,), -1), torch.full((4,), float("nan"))])
def test_nodes_to_score_need_no_labels(y):
    graph = from_pyg(some(y=y), rare_class=0)
    assert not graph.known.size and graph.rare_class == 0 and graph.class_names == ("rare", "normal")
    assert from_pyg(some(y=y), rare_class=2).class_names == ("0", "1", "2")
    for wrong in (-1, 10**9, "rare", None):
        with pytest.raises(InputError, match="rare_class must be"):
            from_pyg(some(y=y), rare_class=wrong)


def test_what_is_missing_is_said():
    edges = torch.tensor([[0], [1]])
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


def some(**given):
    """Four nodes, three edges in one direction each."""
    parts = {"x": torch.eye(4), "edge_index": torch.tensor([[0, 1, 3], [1, 2, 0]]), "y": torch.tensor([0, 1, 1, 0])}
    return Data(**parts | given)


def test_direction_is_kept_where_there_is_one():
    assert from_pyg(some()).edges.source.tolist() == [0, 1, 3]
    assert from_pyg(some()).edges.directed
    both = torch.tensor([[0, 1, 2, 1], [1, 0, 1, 2]])
    assert from_pyg(some(edge_index=both)).edges is None


def test_edges_listed_once_have_no_direction():
    once = torch.tensor([[0, 0, 1], [1, 2, 2]])
    for edges in (once, once.flip(0)):
        assert from_pyg(some(edge_index=edges)).edges is None
        kept = from_pyg(some(edge_index=edges, edge_attr=torch.tensor([-1.0, 0.0, 2.0]))).edges
        assert not kept.directed and kept.columns[0].values.tolist() == [-1.0, 0.0, 2.0]


def test_edges_that_say_the_same_both_ways_stand_once():
    both = torch.tensor([[0, 1, 2, 1], [1, 0, 1, 2]])
    kept = from_pyg(some(edge_index=both, edge_attr=torch.tensor([-1.0, -1.0, 3.0, 3.0]))).edges
    assert not kept.directed and kept.source.tolist() == [0, 1] and kept.columns[0].values.tolist() == [-1.0, 3.0]
    apart = from_pyg(some(edge_index=both, edge_attr=torch.tensor([-1.0, 4.0, 3.0, 3.0]))).edges
    assert apart.directed and len(apart) == 4


def test_types_of_edges_and_nodes_are_kept():
    from torch_geometric.data import HeteroData

    graph = from_pyg(some(edge_type=torch.tensor([7, 2, 7])))
    assert graph.edges.type.tolist() == [1, 0, 1] and graph.edges.type_names == ("2", "7")
    data = HeteroData()
    data["user"].x, data["user"].y, data["shop"].x = torch.eye(3), torch.tensor([0, 1, 0]), torch.eye(3)
    data["user", "buys at", "shop"].edge_index = torch.tensor([[0, 1], [2, 2]])
    with pytest.raises(InputError, match="got HeteroData; data.to_homogeneous"):
        from_pyg(data)
    graph = from_pyg(data.to_homogeneous())
    assert graph.node_type_names == ("user", "shop") and graph.scored.tolist() == [0, 1, 2]
    assert graph.edges.type_names == ("user buys at shop",) and graph.edges.target.tolist() == [5, 5]


@pytest.mark.parametrize("values", [[-2.0, 1.0, 3.0], [0.0, 1.0, 2.0], [float("nan"), 1.0, 2.0]])
@pytest.mark.parametrize("columns", [(3,), (3, 1)])
def test_a_number_per_edge_that_is_no_weight_is_a_column(values, columns):
    """A rating can be negative, and an edge whose type is number 0 is an edge."""
    graph = from_pyg(some(edge_attr=torch.tensor(values).reshape(columns)))
    assert graph.edge_weight is None and graph.num_edges == 3
    assert graph.edges.columns[0].name == "edge_attr"
    np.testing.assert_array_equal(graph.edges.columns[0].values, values)


def test_weights_and_attributes_may_come_together_and_from_numpy():
    graph = from_pyg(some(edge_weight=torch.ones(3, dtype=torch.bfloat16), edge_attr=np.array([5.0, 6.0, 7.0])))
    assert graph.edge_weight.tolist() == [1.0] * 6 and graph.edges.columns[0].values.tolist() == [5.0, 6.0, 7.0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y": ["no", "yes", "yes", "no"]}, "must hold whole numbers, .* return_inverse=True"),
        ({"y": torch.tensor([0.0, 1.0, float("inf"), 0.0])}, "must hold whole numbers"),
        ({"y": torch.tensor([0, 10**12, 0, 0])}, "must number the classes 0, 1, …; got 1000000000000"),
        ({"train_mask": torch.tensor([2, 3])}, "train_mask must hold one truth value per node"),
        ({"train_mask": torch.tensor([0, 1, 2, 3])}, "train_mask must hold one truth value per node"),
        ({"edge_attr": torch.ones(2, 2)}, "edge_attr must hold a row of numbers per edge, 3 rows"),
        ({"edge_type": torch.zeros(2, dtype=torch.long)}, "edge_type must hold one type per edge, 3 in all; got 2"),
        ({"x": torch.ones(4, 1, dtype=torch.complex64)}, "x must hold real numbers; got torch.complex64"),
        ({"edge_attr": torch.ones(3, 2, 2)}, "edge_attr must hold a row of numbers per edge"),
        ({"edge_index": torch.tensor([[0, 1], [1, 2], [3, 0]])}, r"shape \(2, E\); got \(3, 2\)"),
        ({"edge_index": torch.eye(4).to_sparse()}, "to_edge_index makes it from a sparse matrix"),
        ({"edge_index": None, "adj_t": torch.eye(4).to_sparse()}, "data must have edge_index; .*flip"),
        ({"x": None}, "data must have x; .* torch.empty"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(given, said):
    with pytest.raises(InputError, match=said):
        from_pyg(some(**given))


def test_what_is_no_data_is_refused():
    with pytest.raises(InputError, match=r"must be a torch_geometric.data.Data; got dict\."):
        from_pyg({"x": 1})
