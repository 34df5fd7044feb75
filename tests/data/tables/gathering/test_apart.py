"""Customers and merchants: two kinds of node at the ends of an edge, also where their ids are the same."""

import json

import numpy as np
import pytest

from calirare.data.tables.audit import audit_graph
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.reading import read_tables
from calirare.errors import InputError

USERS = {"user_id": range(20), "age": np.arange(20) * 1.5, "fraud": np.arange(20) % 4 == 0}
BUYS = {"user_id": np.arange(60) % 20, "merchant_id": np.arange(60) % 7, "amount": np.arange(60) * 1.0}
NAMED = {**BUYS, "merchant_id": [f"m{k % 7}" for k in range(60)]}


def read(nodes=USERS, edges=BUYS, **options):
    return read_tables(nodes, edges, label="fraud", rare=True, **options)


def check_two_kinds(graph, merchant):
    """Twenty users, seven merchants behind them, and every row between a user and a merchant."""
    assert graph.num_nodes == 27 and graph.node_type.tolist() == [0] * 20 + [1] * 7
    assert graph.scored.tolist() == list(range(20))
    assert graph.ids[:3].tolist() == ["0", "1", "2"]
    said = [(graph.ids[s], graph.ids[t]) for s, t in zip(graph.edges.source, graph.edges.target, strict=True)]
    assert said == [(str(u), merchant(m)) for u, m in zip(BUYS["user_id"], BUYS["merchant_id"], strict=True)]


def test_ids_that_only_the_edges_name_are_a_kind_of_their_own():
    graph = read(edges=NAMED)
    check_two_kinds(graph, lambda m: f"merchant m{m}")
    assert graph.node_type_names == ("user", "merchant") and graph.schema["nodes"]["apart"] == {
        "merchantid": "merchant"
    }
    assert "nodes of a kind of their own, 'merchant'" in [row["treatment"][4:] for row in describe_schema(graph.schema)]
    own = {
        "user_id": np.arange(60) % 20,
        "card": np.minimum(np.arange(60), 44) + 900,
        "kind": np.where(np.arange(60) % 3, "a", "b"),
    }
    assert read(edges=own).schema["nodes"]["apart"] == {"card": "card"}  # few have two users; a kind is no node
    turned = {"buyer": NAMED["merchant_id"], "seller": NAMED["user_id"]}
    assert read(edges=turned).schema["nodes"]["apart"] == {"buyer": "buyer"}


def test_the_same_ids_are_apart_where_the_user_says_so_and_the_audit_asks():
    one = read()
    assert one.num_nodes == 20 and one.schema["nodes"]["apart"] == {}
    assert [(f.kind, f.column) for f in audit_graph(one).findings if f.kind == "ends"] == [("ends", "merchant_id")]
    two = read(bipartite=True)
    check_two_kinds(two, lambda m: f"merchant {m}")
    assert not [f for f in audit_graph(two).findings if f.kind == "ends"]
    same = {"user_id": BUYS["user_id"], "counterparty_user": BUYS["merchant_id"]}
    assert not [f for f in audit_graph(read(edges=same)).findings if f.kind == "ends"]


def test_new_tables_are_read_as_at_fit():
    schema = json.loads(json.dumps(read(bipartite=True).schema))
    later = read_tables(
        {"user_id": range(5, 25), "age": range(20)}, BUYS | {"user_id": 5 + BUYS["user_id"]}, schema=schema
    )
    assert later.num_nodes == 27 and later.ids[-1] == "merchant 6" and later.scored.size == 20
    schema["nodes"]["apart"] = {"merchantid": 7}
    with pytest.raises(InputError, match="schema"):
        read_tables(USERS, BUYS, schema=schema)


def test_tables_of_several_kinds_may_share_ids_where_ends_tell_the_kind():
    shops = {"merchant_id": range(7), "rent": np.arange(7) * 2.0}
    graph = read({"users": USERS, "shops": shops})
    check_two_kinds(graph, lambda m: f"shops {m}")
    with pytest.raises(InputError, match=r"id columns \['user_id', 'merchant_id'\]"):
        read({"users": USERS, "shops": shops}, {"from": BUYS["user_id"], "to": BUYS["merchant_id"]})


def test_ends_may_be_called_after_the_id_columns():
    users, devices = {"user_id": [0, 1, 2], "bad": ["y", "n", None]}, {"device_id": [0, 1], "make": ["a", "b"]}
    uses = {"user_id": [0, 1], "device_id": [1, 0]}
    pays = {"from_user_id": [0, 2], "to_user_id": [1, 0]}
    graph = read_tables({"u": users, "d": devices}, {"uses": uses, "pays": pays}, label="bad", rare="y")
    assert graph.ids.tolist() == ["0", "1", "2", "d 0", "d 1"]
    ends = graph.ids[np.stack([graph.edges.source, graph.edges.target], axis=1)].tolist()
    assert ends == [["0", "d 1"], ["1", "d 0"], ["0", "1"], ["2", "0"]]
    pays = {"source": [0, 2], "target": [1, 0]}
    with pytest.raises(InputError, match=r"\['source', 'target'\] do not: rename them after the id columns"):
        read_tables({"u": users, "d": devices}, {"uses": uses, "pays": pays}, label="bad", rare="y")


def test_without_a_nodes_table_ends_that_share_no_id_are_two_kinds():
    labels = {"user_id": range(22), "fraud": np.arange(22) % 4 == 0}
    graph = read_tables(None, NAMED, labels=labels, rare=True)
    assert graph.num_nodes == 29 and graph.node_type_names == ("user", "merchant")
    assert graph.scored.size == 22 and graph.known.size == 22  # two users have a label and no edge
    assert read_tables(None, BUYS, labels=labels, rare=True).num_nodes == 22
    assert read_tables(None, BUYS, labels=labels, rare=True, bipartite=True).num_nodes == 29


def test_a_mistake_is_no_kind():
    padded = {**BUYS, "merchant_id": [f"{k:05d}" for k in BUYS["merchant_id"]]}
    with pytest.raises(InputError, match="leading zeros were lost"):
        read(edges=padded)
    some = {**BUYS, "merchant_id": np.where(np.arange(60) < 30, BUYS["merchant_id"], 99)}
    with pytest.raises(InputError, match="must join nodes"):
        read(edges=some)
    with pytest.raises(InputError, match="node_type and bipartite"):
        read({**USERS, "kind": ["x", "y"] * 10}, bipartite=True, node_type="kind")


def test_an_end_of_its_own_kind_is_plain_where_some_ids_of_the_nodes_are_unknown_too():
    some = {**NAMED, "user_id": [user if user < 18 else user + 100 for user in BUYS["user_id"]]}
    with pytest.raises(InputError, match=r"6 of 60 rows name 2 nodes .* \['118', '119'\]\. Keep these nodes"):
        read(edges=some)
    kept, dropped = read(edges=some, keep_unknown_edges=True), read(edges=some, drop_unknown_edges=True)
    assert kept.node_type_names == ("user", "merchant", "outside") and np.bincount(kept.node_type).tolist() == [
        20,
        7,
        2,
    ]
    assert dropped.node_type_names == ("user", "merchant") and len(dropped.edges) == 54
    both = {**some, "merchant_id": ["119" if name == "m3" else name for name in NAMED["merchant_id"]]}
    assert read(edges=both, keep_unknown_edges=True).node_type_names == ("user", "outside")  # 119 stands at both ends


def test_ends_that_seem_to_be_of_two_kinds_are_asked_about_where_nodes_are_unknown():
    more = {**BUYS, "merchant_id": BUYS["merchant_id"] + 16}
    with pytest.raises(InputError, match=r"If 'merchant_id' names another kind of node, say bipartite \(--bipartite\)"):
        read(edges=more)
    for kept in (read(edges=more, keep_unknown_edges=True), read(edges=more, drop_unknown_edges=True)):
        assert [f.column for f in audit_graph(kept).findings if f.kind == "ends"] == ["merchant_id"]
    apart = read(edges=NAMED, keep_unknown_edges=True)
    assert not [f for f in audit_graph(apart).findings if f.kind == "ends"]
