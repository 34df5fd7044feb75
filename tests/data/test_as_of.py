"""Time: graphs as they were, and splits in which earlier labels train and later ones test."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from calirare.data.as_of import edges_before, moment
from calirare.data.splits import split_labels
from calirare.data.synthetic import make_transactions
from calirare.data.tables.reading import read_tables
from calirare.errors import InputError, LabelError

NODES = {"id": list("abcd"), "x": [1, 2, 3, 4], "y": [0, 1, 0, 1]}
EDGES = {
    "source": list("aabc"), "target": list("bccd"), "time": [1, 5, 9, None], "w": [1.0, 2.0, 4.0, 8.0],
    "day": ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"],
}  # fmt: skip


def test_only_edges_before_the_moment_are_there():
    graph = read_tables(NODES, EDGES, label="y", rare=1, weight="w")
    early = graph.as_of(9)
    assert early.edges.source.tolist() == [0, 0] and early.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    assert early.edge_weight.tolist() == [1.0, 2.0, 1.0, 2.0] and graph.num_edges == 4
    assert early.y.tolist() == graph.y.tolist() and early.x.shape == graph.x.shape
    assert edges_before(graph.edges, "2024-01-03", time="day").columns[1].values.tolist() == [1.0, 2.0]
    assert graph.as_of(np.datetime64("2024-01-02T00:00:01"), "day").num_edges == 2
    assert graph.as_of(0).num_edges == 0 and graph.as_of(float("inf")).num_edges == 3
    for wrong, says in (
        (("x",), "a moment must be"),
        ((None,), "a moment must be"),
        ((pd.NaT,), "a moment must be"),
        ((3, "dya"), "did you mean 'day'"),
    ):
        with pytest.raises(InputError, match=says):
            graph.as_of(*wrong)
    with pytest.raises(InputError, match="must have a column of times"):
        make_transactions(50, with_payments=False).as_of(3)


def test_dates_of_python_and_pandas_are_moments():
    noon = datetime(2024, 1, 2, 12)
    assert moment(noon) == moment(pd.Timestamp(noon)) == moment("2024-01-02T12:00") == 1704196800.0
    assert moment(noon.date()) == moment("2024-01-02")
    in_oslo = datetime(2024, 1, 2, 13, tzinfo=timezone(timedelta(hours=1)))
    assert moment(in_oslo) == moment(pd.Timestamp(in_oslo)) == moment(noon)


def test_columns_as_of_a_moment_do_not_see_what_came_later():
    from dataclasses import replace

    from calirare.features.recipe import ColumnRecipe

    graph = make_transactions(60, seed=0)
    cut = moment("2024-02-01")
    later = graph.edges.columns[1].values >= cut
    assert later.any() and not later.all()
    rng = np.random.default_rng(0)
    shuffled = replace(
        graph.edges,
        target=np.where(later, rng.permutation(graph.edges.target), graph.edges.target),
        columns=tuple(
            replace(
                column,
                values=np.where(later & (column.name == "amount"), 1e6, column.values).astype(column.values.dtype),
            )
            for column in graph.edges.columns
        ),
    )
    other = replace(graph, edges=shuffled)
    recipe = ColumnRecipe.learn(graph.as_of(cut))
    np.testing.assert_array_equal(recipe.apply(graph.as_of(cut)).values, recipe.apply(other.as_of(cut)).values)


def test_a_node_comes_with_its_first_edge():
    graph = read_tables(NODES, EDGES, label="y", rare=1)
    np.testing.assert_array_equal(graph.first_seen(), [1, 1, 5, np.nan])
    nodes = {**NODES, "opened": ["2024-01-04", None, "2024-01-02", "2024-01-01"]}
    graph = read_tables(nodes, EDGES, label="y", rare=1, time="opened")
    assert np.array_equal(graph.first_seen("opened"), graph.node_time, equal_nan=True)
    np.testing.assert_array_equal(graph.first_seen("time"), [1, 1, 5, np.nan])


def test_earlier_labels_train_and_later_ones_test():
    graph = make_transactions(400, rare_share=0.2, labelled_share=0.5, seed=0)
    when = np.random.default_rng(0).random(400)
    split = split_labels(graph, by_time=when, train_fraction=0.6, val_fraction=0.2)
    assert when[split.train].max() < when[split.val].min() and when[split.val].max() < when[split.test].min()
    parts = np.sort(np.concatenate([split.train, split.val, split.test]))
    assert parts.tolist() == graph.known.tolist()
    assert abs(split.train.size - 0.6 * parts.size) <= 1 and abs(split.val.size - 0.2 * parts.size) <= 1
    named = split_labels(graph, by_time="time")
    seen = graph.first_seen("time")
    assert seen[named.train].max() <= seen[named.test].min() and named.val.size == 0
    days = split_labels(graph, by_time=np.datetime64("2024-01-01") + np.arange(400), train_fraction=0.5)
    assert days.train.max() < days.test.min()


def test_labels_without_a_moment_are_said(caplog):
    graph = make_transactions(200, rare_share=0.3, labelled_share=0.5, seed=0)
    when = np.random.default_rng(0).random(200)
    when[graph.known[:7]] = np.nan
    split = split_labels(graph, by_time=when)
    assert split.train.size + split.test.size == graph.known.size - 7
    assert "7 labelled nodes without a moment" in caplog.text
    caplog.clear()
    split_labels(graph, by_time=np.nan_to_num(when))
    assert not caplog.text


def test_labels_of_one_moment_stay_together_and_classes_must_be_there():
    graph = make_transactions(60, rare_share=0.3, seed=0)
    when = np.repeat([1.0, 2.0, 3.0], 20)
    split = split_labels(graph, by_time=when, train_fraction=0.5)
    assert set(when[split.train]) == {1.0, 2.0} or set(when[split.train]) == {1.0}
    assert not set(when[split.train]) & set(when[split.test])
    with pytest.raises(LabelError, match="hold none of class 1"):
        split_labels(graph, by_time=np.where(graph.original_y == 1, 9.0, 1.0), train_fraction=0.5)
    for wrong in (np.zeros(3), np.array(["a"] * 60), "amountt"):
        with pytest.raises(InputError):
            split_labels(graph, by_time=wrong)
    with pytest.raises(LabelError, match="knows of none"):
        split_labels(graph, by_time=np.full(60, np.nan))
