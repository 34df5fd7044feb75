"""Scores in parts against those of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import calirare as cr
from calirare.features.recipe import ColumnRecipe
from calirare.scoring.in_parts import score_in_parts


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
