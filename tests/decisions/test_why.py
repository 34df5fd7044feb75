"""Reasons are facts of the tables, chosen by shares of the logit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import calirare as cr
from calirare.data.arrays import UNKNOWN
from calirare.decisions import why as module
from calirare.decisions.facts import Facts
from calirare.decisions.why import FULL, Fact, Reasons
from calirare.decisions.wording import Wording, wording_of
from calirare.detectors.base import Contributions
from calirare.estimator import left_out
from calirare.estimator.evidence import labels_read


@pytest.fixture(scope="module")
def tables():
    """Accounts that send money; the fraudulent send twenty times as much, and are of one country."""
    rng = np.random.default_rng(0)
    n = 300
    fraud = rng.random(n) < 0.2
    nodes = pl.DataFrame(
        {
            "id": [f"a{k}" for k in range(n)],
            "balance": np.round(1000 + 100 * rng.standard_normal(n), 2),
            "country": np.where(fraud & (rng.random(n) < 0.8), "XX", "NO"),
            "fraud": [("yes" if fraud[k] else "no") if k % 2 else None for k in range(n)],
        }
    )
    source, target = rng.integers(0, n, 1500), rng.integers(0, n, 1500)
    amount = np.round(np.where(fraud[source], 2000, 100) * np.exp(0.2 * rng.standard_normal(1500)), 2)
    edges = pl.DataFrame({"from": [f"a{k}" for k in source], "to": [f"a{k}" for k in target], "amount": amount})
    return nodes, edges


@pytest.fixture(scope="module")
def graph(tables):
    return cr.read_tables(*tables, label="fraud", rare="yes")


@pytest.fixture(scope="module")
def clf(graph):
    return cr.RareCategoryClassifier(detector="linear").fit(graph)


@pytest.fixture(scope="module")
def reasons(clf, graph):
    return Reasons(clf, graph, labels_read(graph, clf.labelled_nodes_), wording_of(clf, 0.9))


def test_progress_grows_with_the_reasons_and_then_with_the_pulls(clf, graph, monkeypatch):
    monkeypatch.setattr(left_out, "_BLOCK_NUMBERS", 20 * len(clf.detector_.left_out_rows))  # twenty nodes at once
    some = np.flatnonzero(graph.y == -1)[:50]
    told, silent = [], cr.triage(clf, graph, nodes=some)
    table = cr.triage(clf, graph, nodes=some, progress=lambda share, what: told.append((share, what)))
    n = len(table)
    assert told == [] and n == 50  # nothing is found before it is asked for
    assert table.reason.tolist() == silent.reason.tolist()
    assert told == [(pytest.approx(k / n / 2), "reasons") for k in range(1, n + 1)]
    assert (table.pulls.node == silent.pulls.node).all()
    assert told[n:] == [(pytest.approx(0.5 + min(k, n) / n / 2), "labels that pull") for k in (20, 40, 60)]


def test_facts_are_the_tables_own_numbers(tables, clf, graph):
    nodes, edges = tables
    facts = Facts(graph, clf.columns(graph))
    sent = edges.group_by("from").agg(pl.col("amount").mean())
    top = sent.sort("amount").tail(1).row(0, named=True)
    node = graph.index_of(top["from"])
    said = facts.say("amount, mean of outgoing", node)
    assert f"is {top['amount']:,.2f}"[:8] in said and said.startswith("mean of outgoing amount is")
    times = top["amount"] / float(
        np.median(clf.columns(graph).values[:, clf.columns(graph).names.index("amount, mean of outgoing")])
    )
    assert f"{times:.1f} times the median" in said or f"{times:,.0f} times the median" in said
    balance = nodes["balance"].to_numpy()
    below = (balance < balance[node]).mean() + (balance == balance[node]).mean() / 2
    expected = f"above {below:.0%}" if below >= 0.5 else f"below {1 - below:.0%}"
    assert expected in facts.say("balance", node)
    share = (nodes["country"] == "XX").mean()
    is_there = nodes["country"][node] == "XX"
    assert facts.say("country = XX", node).startswith(
        "country is XX, as at" if is_there else "country is not XX, as at"
    )
    assert f"{share if is_there else 1 - share:.0%}" in facts.say("country = XX", node)
    assert facts.say("no such column", node) == "no such column"
    means = Facts(graph).say("balance, of neighbours", node)
    around = graph.adjacency().indices[graph.adjacency().indptr[node] : graph.adjacency().indptr[node + 1]]
    assert float(means.split(" is ")[1].split(", ")[0].replace(",", "")) == pytest.approx(
        balance[around].mean(), rel=1e-4
    )


def test_what_speaks_for_a_node_is_what_made_its_logit(reasons, clf, graph):
    p = clf.predict_proba(graph)[:, 1]
    likely, unlikely = int(p.argmax()), int(p.argmin())
    for node in (likely, unlikely):
        found, whole = reasons.facts(node), next(clf.column_shares(graph, np.array([node])))
        sizes = [abs(fact.share) for fact in found]
        assert sizes == sorted(sizes, reverse=True)
        families = {}
        for name, group, share in zip(whole.names, whole.groups, whole.shares, strict=True):
            key = (name.split(", ")[0].split(" = ")[0], group)
            families[key] = families.get(key, 0.0) + share
        assert found[0].share == pytest.approx(max(families.values(), key=abs))
    first = reasons.write(np.array([likely, unlikely]), ["alert", "clear"], np.zeros(2, dtype=bool))
    assert "amount" in first[0] and "times the median" in first[0]
    assert first[1].startswith("Against fraud = yes: ")


def test_neighbours_are_counted_by_the_labels_that_were_read(clf, graph):
    label = labels_read(graph, clf.labelled_nodes_)
    named = Reasons(clf, graph, label, replace(wording_of(clf, 0.9), class_names=("ok", "mule"), label_column=None))
    adjacency = graph.adjacency()
    for node in range(graph.num_nodes):
        near = adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]
        near = near[near != node]
        rare, known = int((label[near] == 1).sum()), int((label[near] != UNKNOWN).sum())
        said = named.neighbours(node)
        if 0 < rare < known * (label[label != UNKNOWN] == 1).mean():
            assert said == ""
        elif rare:
            assert said.startswith(f"{rare} of {near.size} neighbour") and said.endswith("known mule")
        else:
            assert said == (f"none of its {known} labelled neighbours is mule" if known > 1 else "")


def test_of_many_nodes_the_cleared_are_told_by_their_neighbours_alone(reasons):
    nodes = np.arange(FULL + 1)
    said = reasons.write(nodes, ["clear"] * nodes.size, np.zeros(nodes.size, dtype=bool))
    assert not any("balance" in one for one in said)


def test_a_network_on_a_large_graph_is_told_by_what_is_unusual(graph, monkeypatch, quick_networks):
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=5, hidden=4)).fit(graph)
    reasons = Reasons(clf, graph, labels_read(graph, None), wording_of(clf, 0.9))
    assert any(fact.share for fact in reasons.facts(0)) and clf.columns(graph) is None
    monkeypatch.setattr("calirare.decisions.why._LARGEST_FOR_NETWORKS", 10)
    column = graph.x.toarray()[:, 0] if hasattr(graph.x, "toarray") else graph.x[:, 0]
    odd = int(np.argmax(column))
    other = Reasons(clf, graph, labels_read(graph, None), wording_of(clf, 0.9))
    assert other.facts(odd) and all(fact.share == 0 for fact in other.facts(odd))
    assert other.write(np.array([odd]), ["alert"], np.zeros(1, dtype=bool))[0].startswith("Unusual: ")


@pytest.fixture
def star(clf):
    """Nodes 1 to 4 around node 0, 5 beside 4; of the first three the labels are known."""
    graph = cr.RareGraph(
        x=np.zeros((6, 1)), edge_index=np.array([[0, 0, 0, 0, 4], [1, 2, 3, 4, 5]]), y=np.array([0, 1, 1, 0, 0, 1])
    )

    def told(label, names=("ok", "mule"), column=None):
        wording = Wording(names, 1, 0.9, label_column=column)
        return Reasons(clf, graph, np.array(label), wording)

    return told


def test_fewer_rare_neighbours_than_chance_brings_are_no_reason(star):
    """A hub that knows everybody: one of four labelled neighbours is rare, and so are two of five labels."""
    assert star([UNKNOWN, 1, 0, 0, 0, 1]).neighbours(0) == ""
    assert star([UNKNOWN, 1, 0, 0, 0, 0]).neighbours(0) == "1 of 4 neighbours is known mule"


def test_neighbours_in_whole_sentences(star):
    known = [UNKNOWN, 1, 1, 0, UNKNOWN, 0]
    assert star(known).neighbours(0) == "2 of 4 neighbours are known mule"
    assert star(known, ("0", "1"), "fraud").neighbours(0) == "2 of 4 neighbours have fraud = 1"
    assert star(known).neighbours(5) == "" == star(known).neighbours(1)
    assert star([1] * 6).neighbours(5) == "1 of 1 neighbour is known mule"
    assert star([1] * 6, ("0", "1"), "fraud").neighbours(5) == "1 of 1 neighbour has fraud = 1"
    assert star([0] * 6).neighbours(0) == "none of its 4 labelled neighbours is mule"
    assert star([0] * 6, ("0", "1"), "fraud").neighbours(0) == "none of its 4 labelled neighbours has fraud = 1"


def test_sentences_by_action(star):
    reasons = star([UNKNOWN, 1, 0, 0, UNKNOWN, UNKNOWN])
    reasons._kept = {
        0: [Fact("a", 3.0), Fact("b", -2.0), Fact("c", 1.0), Fact("d", 0.5), Fact("e", -0.4)],
        4: [],
        5: [Fact("odd", 0.0), Fact("rare", 0.0), Fact("third", 0.0)],
    }
    nodes, no, yes = np.array([0]), np.zeros(1, dtype=bool), np.ones(1, dtype=bool)
    near = "1 of 4 neighbours is known mule"
    assert reasons.write(nodes, ["alert"], no).tolist() == [f"{near}; a; c. Against it: b."]
    assert reasons.write(nodes, ["clear"], no).tolist() == [f"Against mule: b; e. For it: {near}."]
    waits = f"{near}; a; c. Against it: b. The budget goes to cases where a review saves more."
    assert reasons.write(nodes, ["clear"], yes).tolist() == [waits]
    said = reasons.write(np.array([4, 4, 5]), ["alert", "clear", "review"], np.zeros(3, dtype=bool)).tolist()
    assert said == ["No single column speaks for mule.", "Little speaks for mule.", "Unusual: odd; rare."]


def test_of_very_many_those_for_review_are_told_whole_then_alerts(star, monkeypatch):
    monkeypatch.setattr(module, "FULL", 3)
    monkeypatch.setattr(module, "MOST_FULL", 2)
    reasons = star([UNKNOWN] * 6)
    reasons._kept = {node: [Fact(f"fact {node}", 1.0)] for node in range(6)}
    action, waiting = ["clear", "alert", "clear", "review", "alert"], np.array([0, 0, 1, 0, 0], dtype=bool)
    said = reasons.write(np.arange(5), action, waiting)
    assert ["fact" in one for one in said] == [False, True, False, True, False]
    assert said[[2, 4]].tolist() == [
        "The budget goes to cases where a review saves more.",
        "The review desk tells its columns.",
    ]
    monkeypatch.setattr(module, "MOST_FULL", 4)
    assert ["fact" in one for one in reasons.write(np.arange(5), action, waiting)] == [False, True, True, True, True]
    assert ["fact" in one for one in reasons.write(np.arange(3), ["clear"] * 3, waiting[:3])] == [True] * 3


def test_a_family_is_told_once_by_its_loudest_in_the_direction_of_all(graph):
    names = ("amount, sum of edges", "amount, mean of edges", "age", "dust", "amount, sum of edges")
    groups = ("edges", "edges", "own", "own", "other")
    found = Contributions(0.0, names, groups, np.array([2.0, -0.5, -1.0, 0.15, 0.6]))
    told = module._by_share(Facts(graph), found, 0)
    assert [round(fact.share, 9) for fact in told] == [1.5, -1.0, 0.6]
    assert [fact.words for fact in told] == ["sum of amount over all edges", "age", "sum of amount over all edges"]
    many = Contributions(0.0, tuple(f"c{k}" for k in range(12)), ("own",) * 12, np.linspace(1, 2, 12))
    told = module._by_share(Facts(graph), many, 0)
    assert [fact.words for fact in told] == [f"c{k}" for k in range(11, 3, -1)]
    assert module._by_share(Facts(graph), Contributions(0.0, (), (), np.zeros(0)), 0) == []


def test_a_category_is_told_once_by_the_value_that_the_node_has(graph):
    has_lawyer = np.arange(graph.num_nodes) % 3 == 0
    two = replace(graph, x=np.stack([has_lawyer, ~has_lawyer], axis=1).astype(float), feature_names=("lawyer = yes", "lawyer = no"), schema=None)  # fmt: skip
    found = Contributions(0.0, ("lawyer = yes", "lawyer = no"), ("own", "own"), np.array([0.2, 0.9]))
    for node, words in ((0, "lawyer is yes, as at 33% of nodes"), (1, "lawyer is no, as at 67% of nodes")):
        told = module._by_share(Facts(two), found, node)
        assert [(fact.words, round(fact.share, 9)) for fact in told] == [(words, 1.1)]
    third = replace(two, x=np.zeros((graph.num_nodes, 2)), feature_names=("lawyer = yes", "lawyer = no"))
    third.x[5] = third.x[7, :1] = 1.0
    assert [fact.words for fact in module._by_share(Facts(third), found, 0)] == [
        "lawyer is not no, as at 99.7% of nodes"
    ]


def test_what_all_nodes_share_is_no_reason(graph):
    same = replace(graph, x=np.ones((graph.num_nodes, 2)), feature_names=("land = DE", "age"), schema=None)
    same.x[:, 1] = np.arange(graph.num_nodes)
    found = Contributions(0.0, ("land = DE, of neighbours", "age"), ("neighbours", "own"), np.array([-0.9, 0.3]))
    assert [fact.share for fact in module._by_share(Facts(same), found, 0)] == [0.3]


def test_what_lies_in_the_middle_of_all_nodes_is_a_reason_only_where_there_is_no_other(graph):
    n = graph.num_nodes
    own = replace(graph, x=np.stack([np.arange(n), np.roll(np.arange(n), 1)], axis=1).astype(float), feature_names=("age", "size"), schema=None)  # fmt: skip
    facts, middle = Facts(own), n // 2
    own.x[middle, 1] = n + 1.0  # of middle age, and the largest
    assert facts.is_usual("age", middle) and not facts.is_usual("age", n - 1) and not facts.is_usual("nobody knows", 0)
    found = Contributions(0.0, ("age", "size"), ("own", "own"), np.array([0.9, 0.3]))
    assert [fact.share for fact in module._by_share(facts, found, middle)] == [0.3]
    assert [fact.share for fact in module._by_share(facts, found, n - 1)] == [0.9, 0.3]
    alone = Contributions(0.0, ("age",), ("own",), np.array([0.9]))
    assert [fact.share for fact in module._by_share(facts, alone, middle)] == [0.9]


def test_the_three_most_unusual_attributes_are_told_and_usual_ones_are_not():
    unusual = {"a": 0.99, "b": 1.0, "c": 0.97, "d": 0.98, "e": 0.1}
    facts = SimpleNamespace(own=list(unusual), surprise=lambda name, node: unusual[name], say=lambda name, node: name)
    assert [fact.words for fact in module._by_surprise(facts, 0)] == ["b", "a", "d"]
    facts.own = ["e", "b"]
    assert [fact.words for fact in module._by_surprise(facts, 0)] == ["b"]


def test_degree_and_its_logarithm_are_one_reason():
    names, groups = ("degree", "log degree", "core number", "log income", "income"), ("structure",) * 3 + ("own",) * 2
    assert module._families(names, groups)[1].tolist() == [0, 0, 1, 2, 3]
    found = Contributions(0.0, names, groups, np.array([0.1, 0.5, 0.0, 0.4, 0.0]))
    facts = SimpleNamespace(
        tells=lambda name: True, is_usual=lambda *_: False, is_value=lambda *_: False, say=lambda name, node: name
    )
    told = module._by_share(facts, found, 0)
    assert [(one.words, one.share) for one in told] == [("degree", 0.6), ("log income", 0.4)]
