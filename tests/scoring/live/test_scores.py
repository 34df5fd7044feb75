"""Scores of what came since, against scoring everything anew."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from growth import join, split

import calirare as cr
from calirare.detectors.stack import Stack
from calirare.errors import InputError
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.table import read_for, score_table

pytestmark = pytest.mark.usefixtures("quick_networks_here")

QUICK = {"epochs": 20, "weight_decay": 5e-3, "hidden": 8}


@pytest.fixture(scope="module")
def tables():
    return split(cr.make_transactions(200, rare_share=0.15, labelled_share=0.5, seed=3), num_new=15)


def members():
    detectors = cr.detectors
    return {
        "linear": "linear",
        "sparse": detectors.Sparse(steps=40),
        "forest": detectors.Forest(trees=20),
        "boosting": detectors.Boosting(rounds=20),
        **{name: detectors.detectors()[name](**QUICK) for name in ("gcn", "sage", "gin", "gat")},
        "auto": Stack(
            [
                "linear",
                "sparse",
                detectors.GCN(**QUICK),
                detectors.Forest(trees=20),
                detectors.Boosting(rounds=20),
                "surroundings",
                "spreading",
            ]
        ),
        "surroundings": "surroundings",
        "spreading": "spreading",
        "spreading along": detectors.Spreading(along="channel = transfer | channel = cash"),
        "spreading by": detectors.Spreading(along="", by="amount"),
    }


def fit(before, detector, **options):
    graph = cr.read_tables(*before, label="is_fraud", rare="yes", **options)
    return cr.RareCategoryClassifier(detector, device="cpu").fit(graph)


@pytest.fixture(scope="module")
def fitted(tables):
    """A detector fitted on the tables as they are, each once."""
    return cache(lambda name: fit(tables[0], members()[name]))


def check(found, want, ids):
    """The rows of these ids are those of a full scoring."""
    place = {one: row for row, one in enumerate(want["id"].tolist())}
    rows = [place[one] for one in ids]
    assert [str(one) for one in found["id"]] == [str(one) for one in ids]
    for name, values in want.items():
        if name in ("probability", "lower", "upper", "disagreement"):
            np.testing.assert_allclose(found[name], values[rows], atol=1e-6, err_msg=name)
        elif name != "id":
            assert found[name].tolist() == values[rows].tolist()


SLOW = ("sage", "gin", "gat", "auto", "boosting")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in members()]
)
def test_every_detector_says_what_a_full_scoring_says(tables, fitted, name):
    before, since = tables
    classifier = fitted(name)
    live = LiveScores(classifier, read_for(classifier, *before))
    known = before[0]["id"][:7]
    found = live.score(*since, also=known)
    whole = read_for(classifier, *(join(*pair) for pair in zip(before, since, strict=True)))
    want = score_table(classifier, whole)
    check(found, want, [*since[0]["id"], *known])
    assert np.ptp(found["probability"]) > 0.01
    one = since[0]["id"][3]
    mine, theirs = live.explain(one, *since), classifier.explain(whole, one)
    assert abs(mine.logit - theirs.logit) < 1e-5 and abs(mine.base - theirs.base) < 1e-4
    shares = dict(zip(theirs.column, theirs.share, strict=True))
    np.testing.assert_allclose(mine.share, [shares[column] for column in mine.column], atol=1e-4)


def test_nodes_of_several_kinds_as_they_stand():
    rng = np.random.default_rng(0)
    kind = ["firm" if k < 300 else "trust" if k < 320 else "person" for k in range(500)]
    rare = rng.random(500) < 0.15
    label = [("yes" if r else "no") if k < 300 and rng.random() < 0.7 else None for k, r in enumerate(rare)]
    nodes = {"id": [f"n{k}" for k in range(500)], "kind": kind, "size": rng.normal(rare), "is_fraud": label}
    owner = np.where(rng.random(600) < 0.1, rng.integers(300, 320, 600), rng.integers(320, 500, 600))
    edges = {"source": [f"n{k}" for k in owner], "target": [f"n{k}" for k in rng.integers(0, 300, 600)]}
    classifier = fit((nodes, edges), "linear", node_type="kind")
    graph = read_for(classifier, nodes, edges)
    live, want = LiveScores(classifier, graph), score_table(classifier, graph)
    check(live.score_update(live._nothing, graph.scored.tolist()), want, want["id"].tolist())


def sellers(rng, first, size, cards):
    """Sellers and their cards, of which some are shared; the shared ones by those who are rare."""
    rare = rng.random(size) < 0.2
    nodes = {
        "seller": [f"s{k}" for k in range(first, first + size)],
        "sales": rng.normal(rare).tolist(),
        "blocked": [("yes" if r else "no") if rng.random() < 0.7 else None for r in rare],
    }
    used = np.where(np.repeat(rare, 2), rng.integers(0, 9, 2 * size), rng.integers(cards, cards + 3 * size, 2 * size))
    rows = {
        "seller": np.repeat(nodes["seller"], 2).tolist(),
        "card": used.tolist(),
        "paid": rng.gamma(2, 9, 2 * size).tolist(),
    }
    return nodes, rows


def test_cards_that_only_the_edges_name_may_be_new():
    rng = np.random.default_rng(0)
    before, since = sellers(rng, 0, 150, 100), sellers(rng, 150, 6, 10_000)
    graph = cr.read_tables(*before, label="blocked", rare="yes")
    detector = Stack(["linear", "spreading", cr.detectors.GCN(**QUICK)])
    classifier = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
    assert graph.node_type_names == ("seller", "card")
    live = LiveScores(classifier, read_for(classifier, *before))
    known = before[0]["seller"][:3]
    since[1]["seller"][0] = known[0]  # who has a new card
    found = live.score(*since, also=known)
    whole = read_for(classifier, *(join(*pair) for pair in zip(before, since, strict=True)))
    check(found, score_table(classifier, whole), [*since[0]["seller"], *known])
    assert live.score(None, since[1] | {"seller": [known[1]] * 12}, also=known)["id"].tolist() == known


def test_new_nodes_without_a_kind_are_of_the_one_that_carries_labels():
    rng = np.random.default_rng(1)
    (nodes, rows), (more, _) = sellers(rng, 0, 150, 100), sellers(rng, 150, 5, 100)
    cards = {"card": sorted(set(rows["card"])), "limit": rng.normal(size=len(set(rows["card"]))).tolist()}
    rows = rows | {"card": [f"c{k}" for k in rows["card"]]}
    cards["card"] = [f"c{k}" for k in cards["card"]]
    tables = {"sellers": nodes, "cards": cards}
    classifier = cr.RareCategoryClassifier("linear", device="cpu").fit(
        cr.read_tables(tables, rows, label="blocked", rare="yes")
    )
    edges = {"seller": more["seller"], "card": rows["card"][:5], "paid": rows["paid"][:5]}
    given = {**more, "limit": [None] * 5}
    live = LiveScores(classifier, read_for(classifier, tables, rows))
    update, found = live.read(given, edges), live.score(given, edges)
    assert [update.node_type_names[code] for code in update.node_type] == ["sellers"] * 5
    whole = read_for(classifier, {"sellers": join(nodes, more), "cards": cards}, join(rows, edges))
    check(found, score_table(classifier, whole), more["seller"])


def test_edges_to_nobody_are_dropped_where_the_fit_dropped_them(tables):
    before, since = tables
    classifier = fit(before, "linear", drop_unknown_edges=True)
    live = LiveScores(classifier, read_for(classifier, *before))
    lost = {name: [*values, values[0]] for name, values in since[1].items()} | {
        "target": [*since[1]["target"], "nobody"]
    }
    for mine, theirs in zip(live.score(since[0], lost).values(), live.score(*since).values(), strict=True):
        assert mine.tolist() == theirs.tolist()


def test_edges_to_nobody_are_kept_where_the_fit_kept_them(tables):
    before, since = ((nodes, dict(edges)) for nodes, edges in tables)
    for some, more in ((before, "abc"), (since, "cd")):
        for k, name in enumerate(more):
            some[1]["target"] = [*some[1]["target"], f"far {name}"]
            for column, values in some[1].items():
                some[1][column] = values if column == "target" else [*values, values[k]]
    classifier = fit(before, "linear", keep_unknown_edges=True)
    graph = read_for(classifier, *before)
    assert graph.node_type_names[graph.node_type[-1]] == "outside" and graph.ids[-1] == "far c"
    assert graph.scored.size == graph.num_nodes - 3
    live = LiveScores(classifier, graph)
    update = live.read(*since)
    assert update.ids[-1] == "far d" and update.node_type_names[update.node_type[-1]] == "outside"
    whole = read_for(classifier, *(join(*pair) for pair in zip(before, since, strict=True)))
    check(live.score(*since), score_table(classifier, whole), since[0]["id"])


@pytest.mark.parametrize("name", ["spreading", "surroundings"])
def test_nothing_spreads_in_another_network_with_the_same_ids(tables, fitted, name):
    classifier = fitted(name)
    before, since = split(cr.make_transactions(200, rare_share=0.15, labelled_share=0.5, seed=4), num_new=15)
    assert before[0]["id"][:9] == tables[0][0]["id"][:9]
    live = LiveScores(classifier, read_for(classifier, *before))
    found = live.score(*since, also=before[0]["id"][:7])
    whole = read_for(classifier, *(join(*pair) for pair in zip(before, since, strict=True)))
    check(found, score_table(classifier, whole), [*since[0]["id"], *before[0]["id"][:7]])
    assert np.ptp(found["probability"]) == 0


@pytest.mark.parametrize("name", ["gcn", pytest.param("auto", marks=pytest.mark.slow)])
def test_weights_and_changed_attributes(tables, name):
    before, since = tables
    before = (
        before[0],
        {**before[1], "weight": np.random.default_rng(0).integers(0, 4, len(before[1]["source"])).tolist()},
    )
    since = since[0], {**since[1], "weight": np.random.default_rng(1).integers(0, 4, len(since[1]["source"])).tolist()}
    again = {name: values[:200] for name, values in before[1].items()}  # pairs that are joined already
    since = since[0], join(since[1], again)
    classifier = fit(before, members()[name], weight="weight")
    live = LiveScores(classifier, read_for(classifier, *before))
    changed = {name: values[:3] for name, values in before[0].items()}
    for name, values in changed.items():
        if name not in ("id", "is_fraud") and isinstance(values[0], float):
            changed[name] = [value * 1.5 + 1 for value in values]
    nodes = join(since[0], changed)
    found = live.score(nodes, since[1])
    rest = {name: values[3:] for name, values in before[0].items()}
    want = score_table(classifier, read_for(classifier, join(join(changed, rest), since[0]), join(before[1], since[1])))
    check(found, want, nodes["id"])


def test_known_nodes_as_they_stand(tables, fitted):
    before, _ = tables
    classifier = fitted("linear")
    graph = read_for(classifier, *before)
    live = LiveScores(classifier, graph)
    want = score_table(classifier, graph)
    check(live.table, want, graph.ids.tolist())
    why, full = live.explain(graph.ids[5]), classifier.explain(graph, graph.ids[5])
    np.testing.assert_allclose(why.share, full.share, atol=1e-9)


def test_mistakes_are_told(tables, fitted):
    before, since = tables
    classifier = fitted("linear")
    graph = read_for(classifier, *before)
    live = LiveScores(classifier, graph)
    with pytest.raises(InputError, match="nodes or edges must be given"):
        live.score()
    with pytest.raises(InputError, match="is neither"):
        live.score(None, since[1])
    with pytest.raises(InputError, match="there is no node 'nobody'"):
        live.score(*since, also=["nobody"])
    with pytest.raises(InputError, match="must come from tables"):
        LiveScores(classifier, cr.RareGraph(x=graph.x, edge_index=graph.edge_index, y=graph.y))


@pytest.mark.parametrize("detector", ["linear", pytest.param("gcn", marks=pytest.mark.slow)])
def test_words(detector, monkeypatch):
    monkeypatch.setattr("calirare.data.tables.schema.learning.SPARSE_WIDTH", 50)
    rng = np.random.default_rng(0)
    size = 120
    words = {f"word {k}": (rng.random(size) < 0.08).astype(int).tolist() for k in range(60)}
    topic = np.array([words[f"word {k}"] for k in range(20)]).sum(axis=0)
    nodes = {"id": [f"n{k}" for k in range(size)], "rare": np.where(topic > 2, "yes", "no").tolist(), **words}
    ends = rng.integers(0, size, (2, 300))
    edges = {name: [f"n{k}" for k in row] for name, row in zip(("source", "target"), ends, strict=True)}
    new, fresh = np.arange(size) >= 110, (ends >= 110).any(axis=0)
    since = ({k: [*np.array(v)[new]] for k, v in nodes.items()}, {k: [*np.array(v)[fresh]] for k, v in edges.items()})
    graph = cr.read_tables(nodes, edges, label="rare", rare="yes")
    detector = detector if detector == "linear" else members()[detector]
    classifier = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
    assert classifier.schema_["sparse"]
    known = ({k: [*np.array(v)[~new]] for k, v in nodes.items()}, {k: [*np.array(v)[~fresh]] for k, v in edges.items()})
    live = LiveScores(classifier, read_for(classifier, *known))
    found = live.score(*since)
    check(found, score_table(classifier, read_for(classifier, nodes, edges)), since[0]["id"])
    why = live.explain("n111", *since)
    assert abs(why.base + why.share.sum() - why.logit) < 1e-9
