"""Which labels each protocol gives."""

import numpy as np
import pytest

from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.data.synthetic import make_transactions


@pytest.fixture(scope="module")
def graph():
    return make_transactions(num_nodes=3_400, rare_share=0.06, seed=0)


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name not in ("paper", "by_score")])
def test_parts_are_disjoint_complete_and_repeatable(graph, name):
    protocol = PROTOCOLS[name]
    for size in protocol.variants:
        drawn, again = (protocol.draw(graph, size, 3) for _ in range(2))
        split = drawn.split
        assert set(np.unique(graph.y[split.train])) == {0, 1} == set(np.unique(graph.y[split.test]))
        assert np.array_equal(split.train, again.split.train) and np.array_equal(split.test, again.split.test)
        timed = np.isfinite(graph.first_seen("time")).sum() if name == "by_time" else graph.num_nodes
        assert split.train.size + split.val.size + split.test.size == timed
        if name != "by_time":
            assert not np.array_equal(split.train, protocol.draw(graph, size, 4).split.train)


def test_counts_of_labels(graph):
    rare = int((graph.y == 1).sum())
    tenth = PROTOCOLS["tenth"].draw(graph, 10, 0).split.train
    assert (graph.y[tenth] == 1).sum() == round(0.1 * rare)
    few = PROTOCOLS["few"].draw(graph, 20, 0).split.train
    assert (graph.y[few] == 1).sum() == 20
    assert abs((graph.y[few] == 1).mean() - graph.rare_share) < 0.005
    drawn = PROTOCOLS["gadbench"].draw(graph, 20, 0)
    for part in (drawn.split.train, drawn.split.val):
        assert np.bincount(graph.y[part]).tolist() == [80, 20]
    assert drawn.rare_share == pytest.approx(graph.rare_share)


def test_by_time_never_trains_on_later_labels(graph):
    split = PROTOCOLS["by_time"].draw(graph, 50, 0).split
    when = graph.first_seen("time")
    assert when[split.train].max() <= when[split.test].min()


def test_by_score_labels_more_of_the_rare(graph):
    split = PROTOCOLS["by_score"].draw(graph, 10, 0).split
    assert (graph.y[split.train] == 1).mean() > 1.5 * graph.rare_share
    assert split.train.size == 310 and split.test.size == graph.num_nodes - 310


def test_graphs_that_lack_what_a_protocol_takes_are_left_out():
    small = make_transactions(num_nodes=300, rare_share=0.1, seed=0)
    assert PROTOCOLS["few"].draw(small, 50, 0) is None
    assert PROTOCOLS["gadbench"].draw(small, 20, 0) is None
    assert PROTOCOLS["by_score"].draw(small, 10, 0) is None
    assert PROTOCOLS["paper"].draw(small, 20, 0) is None
