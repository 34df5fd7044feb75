"""A small model on a network whose names try to run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calirare as cr

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
def clf(graph, split, briefly):
    with briefly():
        return cr.RareCategoryClassifier(detector="linear").fit(graph, split)


@pytest.fixture(scope="module", autouse=True)
def _quick(quick_networks_here, random_labels):
    """A page shows figures; whether they are right is asked elsewhere. So is whether the edges help, for which two further
    models are fitted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calirare.evaluation.graph_value.graph_value", lambda *_: None)
        yield
