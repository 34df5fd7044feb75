"""A small model on a network whose names try to run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calirare as cr
from calirare.data.tables.audit import audit_graph
from calirare.report import contents

SCRIPT = "<script>window.hacked = 1</script>"


@pytest.fixture(scope="session")
def graph():
    plain = cr.make_transactions(num_nodes=500, rare_share=0.1, seed=0)
    ids = np.array([f"{SCRIPT}{i}" for i in range(plain.num_nodes)], dtype=object)
    return replace(plain, node_ids=ids, class_names=("normal", "<img src=x onerror=hacked=1>"), name=f"net {SCRIPT}")


@pytest.fixture(scope="session")
def split(graph):
    return cr.split_labels(graph, train_fraction=0.4, val_fraction=0.0, test_fraction=0.6, seed=0)


@pytest.fixture(scope="session")
def clf(graph, split):
    return cr.RareCategoryClassifier(detector="linear").fit(graph, split)


_audit_once = cache(contents.audit_with_graph)  # it fits two further models


@pytest.fixture(autouse=True)
def _quick(few_resamples, random_labels, few_draws, graph, monkeypatch):
    """A page shows figures; whether they are right is asked elsewhere."""
    monkeypatch.setattr(
        contents, "audit_with_graph", lambda one: _audit_once(one) if one is graph else audit_graph(one)
    )
