"""split_labels: sizes, disjointness, determinism, public splits, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.data.splits import split_labels
from calirare.errors import InputError, LabelError


def make_graph(original_y, **kwargs):
    original_y = np.asarray(original_y)
    y = np.where(original_y < 0, -1, (original_y == 0).astype(int))
    n = y.size
    return RareGraph(x=np.ones((n, 1)), edge_index=np.zeros((2, 0), int), y=y, original_y=original_y, **kwargs)


@given(seed=st.integers(0, 2**31), labels=st.integers(1, 8), unknown=st.integers(0, 40))
def test_random_split_has_the_asked_sizes_and_only_known_labels(seed, labels, unknown):
    original = np.arange(200) % 4
    original[:unknown] = -1
    graph = make_graph(original)
    split = split_labels(graph, labels, num_val=30, num_test=50, seed=seed)
    assert np.bincount(original[split.train]).tolist() == [labels] * 4
    assert (split.val.size, split.test.size) == (30, 50)
    everything = np.concatenate([split.train, split.val, split.test])
    assert np.unique(everything).size == everything.size
    assert (original[everything] >= 0).all()


def test_same_seed_same_nodes_and_other_seed_other_nodes():
    graph = make_graph(np.arange(200) % 4)
    first, again, other = (split_labels(graph, 10, num_val=20, num_test=20, seed=s) for s in (3, 3, 4))
    for part in ("train", "val", "test"):
        assert np.array_equal(getattr(first, part), getattr(again, part))
        assert not np.array_equal(getattr(first, part), getattr(other, part))


def test_public_split_is_returned_as_it_is_and_extended_from_the_rest():
    original = np.arange(300) % 3
    public = Split(train=np.arange(60), val=np.arange(60, 90), test=np.arange(90, 150))
    graph = make_graph(original, public_split=public)
    same = split_labels(graph, 20, num_val=30, num_test=60, seed=7)
    assert np.array_equal(same.train, public.train)
    assert np.array_equal(same.val, public.val) and np.array_equal(same.test, public.test)
    more = split_labels(graph, 30, num_val=30, num_test=60, seed=7)
    assert set(public.train) < set(more.train)
    assert set(more.train) - set(public.train) <= set(range(150, 300))
    assert np.bincount(original[more.train]).tolist() == [30, 30, 30]
    assert np.array_equal(more.val, public.val) and np.array_equal(more.test, public.test)
    fewer = split_labels(graph, 5, num_val=10, num_test=60, seed=7)
    assert set(fewer.train) < set(public.train) and set(fewer.val) < set(public.val)
    assert np.bincount(original[fewer.train]).tolist() == [5, 5, 5]


@settings(deadline=None)  # a busy machine is no bug
@given(
    sizes=st.lists(st.integers(4, 60), min_size=2, max_size=4),
    train=st.floats(0.2, 0.6),
    val=st.floats(0.0, 0.3),
)
def test_fractions_are_kept_within_one_node_per_class(sizes, train, val):
    original = np.repeat(np.arange(len(sizes)), sizes)
    split = split_labels(make_graph(original), train_fraction=train, val_fraction=val)
    for c, size in enumerate(sizes):
        assert abs((original[split.train] == c).sum() - train * size) <= 1
        assert abs((original[split.val] == c).sum() - val * size) <= 1
    assert split.train.size + split.val.size + split.test.size == original.size


def test_classes_come_from_y_when_there_is_no_original_and_hidden_truth_is_not_drawn():
    y = np.array([0] * 30 + [1] * 10)
    plain = RareGraph(x=np.ones((40, 1)), edge_index=np.zeros((2, 0), int), y=y)
    assert np.bincount(y[split_labels(plain, 5, num_val=5, num_test=5).train]).tolist() == [5, 5]
    hidden = RareGraph(
        x=np.ones((40, 1)), edge_index=np.zeros((2, 0), int), y=np.where(np.arange(40) % 2, y, -1), original_y=y
    )
    split = split_labels(hidden, 5, num_val=5, num_test=5)
    assert (np.concatenate([split.train, split.val, split.test]) % 2 == 1).all()


def test_too_few_nodes_are_named():
    graph = make_graph([0] * 5 + [1] * 100)
    with pytest.raises(LabelError, match="class 0 has 5 to draw from"):
        split_labels(graph, 6, num_val=5, num_test=5)
    with pytest.raises(LabelError, match="num_test=500 needs that many .* 90 are left"):
        split_labels(graph, 5, num_val=5, num_test=500)
    with pytest.raises(LabelError, match="leaves no training node of class 0"):
        split_labels(graph, train_fraction=0.01)
    with pytest.raises(LabelError, match="this graph has none"):
        split_labels(make_graph([-1, -1]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels_per_class": 0}, "labels_per_class must be a whole number, 1 or more; got 0"),
        ({"labels_per_class": 2.5}, "labels_per_class"),
        ({"num_val": -1}, "num_val"),
        ({"seed": -1}, "seed"),
        ({"val_fraction": 0.1}, "train_fraction must be given"),
        ({"train_fraction": 1.5}, "between 0 and 1"),
        ({"train_fraction": float("nan")}, "between 0 and 1"),
        ({"train_fraction": 0.8, "test_fraction": 0.4}, "at most 1"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        split_labels(make_graph([0, 1] * 50), **arguments)
