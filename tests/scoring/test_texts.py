"""Texts of nodes and edges beside numbers: the same scores from memory, in parts and live, and reasons that name words."""

import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import calirare as cr
from calirare.data.tables.cells.prose import find_words
from calirare.decisions.facts import Facts
from calirare.decisions.numbers import say_share
from calirare.features.own import WIDE
from calirare.features.recipe import ColumnRecipe
from calirare.scoring.in_parts import score_in_parts
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.table import read_for, score_table

NUMBERS = ("probability", "lower", "upper")
WORDS = np.array([f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in ("ran", "tis", "mol", "pek", "vun")])
TOLD = slice(40, 50)
"""Words that rare nodes use more often."""
pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("texts"), np.random.default_rng(0)
    nodes, edges = cr.make_transactions(500, rare_share=0.2, labelled_share=0.6, seed=3).to_polars()
    usual = np.ones(len(WORDS))
    told = usual.copy()
    told[TOLD] = 8.0
    notes = [
        " ".join(rng.choice(WORDS, 12, p=(share := told if bad == "fraud" else usual) / share.sum()))
        for bad in nodes["label"]
    ]
    nodes = nodes.with_columns(note=pl.Series([None, *notes[1:]]))
    bad = set(nodes.filter(pl.col("label") == "fraud")["id"])
    paid = [
        f"{rng.choice(['voucher', 'rent']) if one in bad and rng.random() < 0.6 else rng.choice(['rent', 'food', 'fees'])} {k}"
        for k, one in enumerate(edges["target"])
    ]
    edges = edges.with_columns(reference=pl.Series([*paid[:-1], None]))
    paths = folder / "nodes.parquet", folder / "edges.parquet"
    nodes.write_parquet(paths[0])
    edges.write_parquet(paths[1])
    return paths


@pytest.fixture(scope="module")
def graph(tables):
    return cr.read_tables(*tables, label="label", rare="fraud")


@pytest.fixture(scope="module")
def classifier(graph):
    network = cr.detectors.GCN(epochs=10, hidden=4, weight_decay=5e-3)
    return cr.RareCategoryClassifier(
        cr.detectors.Stack(["linear", cr.detectors.Forest(trees=30), network]), device="cpu"
    ).fit(graph)


def test_words_are_read_as_words_and_numbers_stay_columns(graph, tables):
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    assert WIDE < graph.num_words == recipe.own.num_words < graph.num_features
    words = find_words(pl.read_parquet(tables[0])["note"], graph.schema["columns"][-1]["words"])
    assert abs(columns.words - words).max() == 0
    assert columns.num_spelled == graph.num_words and columns.names[0].startswith("note has ")
    plain = [name for name in graph.feature_names[: -graph.num_words] if name != "note is missing"]  # of one node
    assert {*plain, *(f"{name}, mean over neighbours" for name in plain)} <= set(columns.names)
    assert not any(name.startswith("note has") and "over" in name for name in columns.names)
    like = [name for name in columns.names if name.startswith("words like ")]
    assert len([name for name in like if name.count(", ") == 2]) == 32
    again = ColumnRecipe.restore(recipe.state()).apply(graph)
    assert again.names == columns.names
    np.testing.assert_allclose(again.values, columns.values, atol=1e-5)


def test_a_recipe_of_an_earlier_version_counts_all_attributes_as_words():
    graph = cr.RareGraph(
        x=sp.random_array((60, WIDE + 20), density=0.1, rng=np.random.default_rng(0), format="csr"),
        edge_index=np.array([[0], [1]]),
        y=np.arange(60) % 2,
    )
    recipe = ColumnRecipe.learn(graph)
    state = recipe.state()
    old = {key: value for key, value in state["own"].items() if key != "num_words"} | {"words": True}
    assert ColumnRecipe.restore({**state, "own": old}).own.num_words == WIDE + 20 == recipe.own.num_words


def test_all_ways_of_scoring_agree(graph, classifier, tables, tmp_path):
    want = score_table(classifier, graph)
    score_in_parts(classifier, *tables, tmp_path / "s.parquet", partitions=3)
    parts = pl.read_parquet(tmp_path / "s.parquet")
    nodes = pl.read_parquet(tables[0])
    live = LiveScores(classifier, read_for(classifier, *tables))
    some = nodes[5:9].with_columns(note=nodes["note"][20:24])
    edges = pl.read_parquet(tables[1])
    paid = edges[:8].with_columns(target=pl.concat([some["id"], some["id"]]), reference=pl.lit("voucher, of course"))
    asked = live.score(some, paid)
    changed = pl.concat([nodes[:5], some, nodes[9:]])
    there = score_table(classifier, read_for(classifier, changed, pl.concat([edges, paid])))
    for name in NUMBERS:
        np.testing.assert_allclose(parts[name].to_numpy(), want[name], atol=2e-6)
        np.testing.assert_allclose(asked[name], there[name][5:9], atol=2e-6)
    assert np.abs(there["probability"][5:9] - want["probability"][5:9]).max() > 1e-3


def test_words_of_edges_are_reasons_and_are_kept_with_the_graph(graph, classifier, tmp_path):
    column = next(one for one in graph.edges.columns if one.name == "reference")
    assert (column.kind, column.categories) == ("text", ("fees", "food", "rent", "voucher"))
    name = "reference has voucher, share of incoming"
    columns = ColumnRecipe.learn(graph).apply(graph)
    values = columns.values[:, columns.names.index(name)]
    node = int(np.argmax(np.where(graph.y == 1, values, 0)))
    assert name in classifier.explain(graph, node).column
    assert (
        Facts(graph, columns)
        .say(name, node)
        .startswith(f"share of incoming with 'voucher' in reference is {values[node]:.0%}, above ")
    )
    graph.save(tmp_path / "graph.npz")
    again = next(one for one in cr.RareGraph.load(tmp_path / "graph.npz").edges.columns if one.name == "reference")
    assert (again.kind, again.categories) == (column.kind, column.categories)
    np.testing.assert_array_equal(again.values, column.values)


def test_words_find_and_are_named_as_reasons(graph, classifier, tables):
    table = pl.read_parquet(tables[0])
    without = cr.read_tables(table.drop("note"), tables[1], label="label", rare="fraud")
    nodes = classifier.labelled_nodes_
    rare = graph.y[nodes] == 1
    loss = [
        -np.log(np.where(rare, one.predict_left_out()[:, 1], one.predict_left_out()[:, 0])).mean()
        for one in (classifier, cr.RareCategoryClassifier(cr.detectors.Linear(), device="cpu").fit(without))
    ]
    assert loss[0] < 0.8 * loss[1]
    node = int(np.argmax(classifier.predict_proba(graph)[:, 1]))
    found = classifier.explain(graph, node)
    text = table["note"][node].split()
    named = [
        name.removeprefix("note has ") for name in found.column if name.startswith("note has ") and " over " not in name
    ]
    assert set(text) & set(WORDS[TOLD]) & set(named)


def test_reasons_say_which_words_a_text_has_or_lacks(graph, tables):
    facts = Facts(graph, ColumnRecipe.learn(graph).apply(graph))
    texts = [set((text or "").split()) for text in pl.read_parquet(tables[0])["note"]]
    node = 7
    word = min(texts[node])
    share = np.mean([word in text for text in texts])
    assert facts.say(f"note has {word}", node) == f"note has {word!r}, as at {say_share(share)} of nodes"
    other = min(set(WORDS) - texts[node])
    share = np.mean([other not in text for text in texts])
    assert facts.say(f"note has {other}", node) == f"note lacks '{other}', as at {say_share(share)} of nodes"
    like = next(name for name in ColumnRecipe.learn(graph).names if name.startswith("words like "))
    for node in range(0, 60, 3):
        has = [word for word in like.removeprefix("words like ").split(", ") if word in texts[node]]
        told = f"it has {', '.join(has)}" if has else "it has none of them"
        assert re.fullmatch(rf"{like} \({told}\): (above|below) [\d.]+% of nodes", facts.say(like, node))
    node = 7
    around = facts.say(f"note has {word}, of neighbours", node)
    assert re.fullmatch(rf"note has {word} \(among neighbours\): (more|less) often than at [\d.]+% of nodes", around)


def test_a_saved_model_reads_new_tables_alike(graph, classifier, tables, tmp_path):
    classifier.save(tmp_path / "model")
    again = cr.load(tmp_path / "model")
    later = read_for(again, *tables)
    np.testing.assert_allclose(again.predict_proba(later), classifier.predict_proba(graph), atol=1e-6)
