"""Decisions belong to a network, whatever its nodes are called."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calirare as cr
from calirare.errors import DataError
from calirare.review.app import open_desk
from calirare.review.refit import read_decisions
from calirare.review.store.decisions import DecisionStore
from calirare.review.store.events import EventLog
from calirare.review.store.network import check_network, fingerprint, join_network


@pytest.fixture(scope="module")
def networks():
    """Two networks whose nodes have the same names."""
    return [cr.make_transactions(num_nodes=300, rare_share=0.2, seed=seed) for seed in (0, 1)]


def log_of(store):
    return EventLog(store.database, store.network)


def decide(store, node="A1"):
    store.record(node, "rare", reviewer="ada", model_version="m", seen=0, action_key=node)


def test_a_foreign_network_is_refused_though_its_ids_are_the_same(store, database, networks):
    first, second = networks
    assert np.array_equal(first.ids, second.ids)
    join_network(log_of(store), first)
    decide(store)
    with pytest.raises(DataError, match="another network.*another --db.*--network"):
        join_network(log_of(store), second)
    with pytest.raises(DataError, match="another network.*another --decisions"):
        read_decisions(database, second)
    join_network(log_of(store), first)
    assert len(log_of(store).since()) == 2  # its edges, and its labels


def test_where_nothing_was_decided_any_network_may_move_in(store, networks):
    first, second = networks
    join_network(log_of(store), first)
    join_network(log_of(store), second)
    decide(store)
    with pytest.raises(DataError, match="another network"):
        join_network(log_of(store), first)


def test_another_week_is_known_by_its_labels(store, networks):
    """The same accounts with edges that are all new; a twentieth of the labels were corrected, some are gone."""
    first, second = networks
    join_network(log_of(store), first)
    decide(store)
    y = first.y.copy()
    y[first.known[::20]] = 1 - y[first.known[::20]]
    y[first.known[1::3]] = -1
    week = replace(first, edge_index=second.edge_index, edges=None, y=y)
    join_network(log_of(store), week)
    for unlike in (first.with_labels(np.full(300, -1)), first.with_labels(np.roll(first.y, 1))):
        with pytest.raises(DataError, match="no labels tell"):
            check_network(log_of(store), replace(unlike, edge_index=networks[0].edge_index, edges=None))


def test_a_network_that_grew_or_forgot_is_the_same(store, networks):
    graph = networks[0]
    join_network(log_of(store), graph)
    more = cr.make_transactions(num_nodes=900, rare_share=0.2, seed=3)
    grown = replace(
        more,
        node_ids=np.array([*graph.ids[:300], *(f"new {k}" for k in range(600))]),
        edge_index=np.hstack([graph.edge_index, more.edge_index + 0]),
    )
    join_network(log_of(store), grown)
    half = grown.edge_index[:, np.random.default_rng(0).random(grown.edge_index.shape[1]) < 0.5]
    join_network(log_of(store), replace(grown, edge_index=half))


def test_names_keep_networks_of_one_database_apart(database, networks):
    stores = [DecisionStore.open(database, network=name) for name in ("", "cards", "loans")]
    for store, graph in zip(stores, [*networks, networks[0]], strict=True):
        join_network(log_of(store), graph)
    rows = [
        store.record("A1", decision, reviewer="ada", model_version="m", seen=0, action_key=str(k))
        for k, (store, decision) in enumerate(zip(stores, ["rare", "normal", "unsure"], strict=True))
    ]
    for store, row in zip(stores, rows, strict=True):
        assert store.since() == store.history("A1") == [row] and store.current() == {"A1": row}
        others = [one for one in rows if one is not row]
        with pytest.raises(Exception, match="there is no decision"):
            store.undo(others[0].id, reviewer="ada", model_version="m", action_key="x")
        store.close()


def test_the_order_of_nodes_and_edges_does_not_matter(networks):
    graph = networks[0]
    order = np.random.default_rng(0).permutation(graph.num_nodes)
    back = np.argsort(order)
    mixed = replace(graph, node_ids=graph.ids[order], x=graph.x[order], y=graph.y[order], edge_index=back[graph.edge_index],
                    true_probability=None, original_y=None, edges=None)  # fmt: skip
    assert fingerprint(mixed) == fingerprint(graph)
    assert fingerprint(replace(graph, edge_index=np.zeros((2, 0), dtype=np.int64), edges=None)) != fingerprint(graph)


def test_a_desk_does_not_open_on_decisions_of_another_network(model, tmp_path, networks):
    other = tmp_path / "other"
    cr.RareCategoryClassifier(detector="linear").fit(networks[0]).save(other, networks[0])
    database = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    open_desk(model, database).close()
    store = DecisionStore.open(database)
    decide(store)
    store.close()
    with pytest.raises(DataError, match="another network"):
        open_desk(other, database)
    open_desk(other, database, network="loans").close()
