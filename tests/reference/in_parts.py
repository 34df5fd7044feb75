"""Scores in parts, and live, against those of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import calirare as cr
from calirare.features.recipe import ColumnRecipe
from calirare.scoring.in_parts import score_in_parts
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.table import read_for, score_table


def check_parts(folder: Path, nodes: dict[str, Any], edges: dict[str, Any], label: str, told: str) -> None:
    """A regression says the same of every node of a table of nodes and edges whose columns have `told` in a name."""
    paths = folder / "nodes.parquet", folder / "edges.parquet"
    for table, path in zip((nodes, edges), paths, strict=True):
        pl.DataFrame(table).write_parquet(path)
    graph = cr.read_tables(*paths, label=label, rare="yes")
    classifier = cr.RareCategoryClassifier("linear").fit(graph)
    assert any(told in name for name in ColumnRecipe.learn(graph).names)
    score_in_parts(classifier, *paths, folder / "scores.parquet", partitions=3)
    found = pl.read_parquet(folder / "scores.parquet")["probability"].to_numpy()
    np.testing.assert_allclose(found, classifier.predict_proba(graph)[:, 1], atol=1e-6)


def check_parts_and_live(
    folder: Path, classifier: cr.RareCategoryClassifier, nodes: dict[str, Any], edges: dict[str, Any]
) -> None:
    """Of the tables of its fit the model says the same at once, in parts, and live where the last 30 edges come later."""
    paths = folder / "nodes.parquet", folder / "edges.parquet"
    for table, path in zip((nodes, edges), paths, strict=True):
        pl.DataFrame(table).write_parquet(path)
    score_in_parts(classifier, *paths, folder / "scores.parquet", partitions=4)
    whole = score_table(classifier, read_for(classifier, nodes, edges))
    parts = pl.read_parquet(folder / "scores.parquet")
    np.testing.assert_allclose(parts["probability"], whole["probability"], atol=1e-6)
    first, last = ({name: rows[some] for name, rows in edges.items()} for some in (slice(-30), slice(-30, None)))
    live = LiveScores(classifier, read_for(classifier, nodes, first))
    found = live.score(None, last, also=nodes["id"])
    np.testing.assert_allclose(found["probability"], whole["probability"], atol=1e-6)
