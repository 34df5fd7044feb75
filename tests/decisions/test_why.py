"""Reasons are facts of the tables, chosen by shares of the logit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import calirare as cr
from calirare.data.arrays import UNKNOWN
from calirare.decisions.facts import Facts
from calirare.decisions.why import FULL, Reasons
from calirare.decisions.wording import wording_of
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
        found, whole = reasons.facts(node), clf.column_shares(graph, node)
        sizes = [abs(fact.share) for fact in found]
        assert sizes == sorted(sizes, reverse=True)
        families = {}
        for name, group, share in zip(whole.names, whole.groups, whole.shares, strict=True):
            key = (name.split(", ")[0], group)
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
        if rare:
            assert said.startswith(f"{rare} of {near.size} neighbour") and said.endswith("known mule")
        else:
            assert said == (f"none of its {known} labelled neighbours is mule" if known > 1 else "")


def test_of_many_nodes_the_cleared_are_told_by_their_neighbours_alone(reasons, graph):
    nodes = np.arange(FULL + 1)
    said = reasons.write(nodes, ["clear"] * nodes.size, np.zeros(nodes.size, dtype=bool))
    assert not any("balance" in one for one in said)


def test_a_network_on_a_large_graph_is_told_by_what_is_unusual(graph, monkeypatch):
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=5, hidden=4)).fit(graph)
    reasons = Reasons(clf, graph, labels_read(graph, None), wording_of(clf, 0.9))
    assert any(fact.share for fact in reasons.facts(0)) and clf.columns(graph) is None
    monkeypatch.setattr("calirare.decisions.why._LARGEST_FOR_NETWORKS", 10)
    column = graph.x.toarray()[:, 0] if hasattr(graph.x, "toarray") else graph.x[:, 0]
    odd = int(np.argmax(column))
    other = Reasons(clf, graph, labels_read(graph, None), wording_of(clf, 0.9))
    assert other.facts(odd) and all(fact.share == 0 for fact in other.facts(odd))
    assert other.write(np.array([odd]), ["alert"], np.zeros(1, dtype=bool))[0].startswith("Unusual: ")
