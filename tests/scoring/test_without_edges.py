"""Nodes without edges get the same scores from memory, in parts and live: networks are silent there in each.

Their intervals are the same too: these know how many neighbours a node has, whatever its edges weigh.
"""

import numpy as np
import polars as pl
import pytest

import calirare as cr
from calirare.scoring.in_parts import score_in_parts
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.table import read_for, score_table

NUMBERS = ("probability", "lower", "upper")
pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.mark.parametrize("weight", [pytest.param(None, marks=pytest.mark.slow), "strength"])
def test_all_ways_of_scoring_agree_on_nodes_without_edges(tmp_path, weight):
    nodes, edges = cr.make_transactions(400, rare_share=0.25, labelled_share=0.6, seed=3).to_polars()
    lonely = nodes["id"].to_list()[::15]
    edges = edges.filter(~pl.col("source").is_in(lonely) & ~pl.col("target").is_in(lonely))
    edges = edges.with_columns(strength=pl.lit(2.0))
    tables = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"
    nodes.write_parquet(tables[0])
    edges.write_parquet(tables[1])
    graph = cr.read_tables(*tables, label="label", rare="fraud", weight=weight)
    detector = cr.detectors.Stack(["linear", cr.detectors.GCN(epochs=10, hidden=4, weight_decay=5e-3)])
    classifier = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
    assert classifier.detector_.silence_.silent.any()
    want = score_table(classifier, graph)
    score_in_parts(classifier, *tables, tmp_path / "s.parquet", partitions=3)
    parts = pl.read_parquet(tmp_path / "s.parquet")
    live = LiveScores(classifier, read_for(classifier, *tables))
    asked = live.score(nodes.filter(pl.col("id").is_in(lonely)))
    for name in NUMBERS:
        np.testing.assert_allclose(parts[name].to_numpy(), want[name], atol=2e-6)
        np.testing.assert_allclose(asked[name], want[name][::15], atol=2e-6)
    mine, theirs = live.explain(lonely[3]), classifier.explain(graph, lonely[3])
    shares = dict(zip(theirs.column, theirs.share, strict=True))
    np.testing.assert_allclose(mine.share, [shares[column] for column in mine.column], atol=1e-4)
    gains = edges.head(1).with_columns(source=pl.lit(lonely[3]))
    moved = live.score(edges=gains, also=[lonely[3]])
    grown = score_table(classifier, read_for(classifier, nodes, pl.concat([edges, gains])))
    row = graph.index_of(lonely[3])
    for name in NUMBERS:
        np.testing.assert_allclose(moved[name], grown[name][[row]], atol=2e-6)
