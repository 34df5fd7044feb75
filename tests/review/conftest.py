"""A small model folder, and a desk on it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import calirare as cr
from calirare.review import quality
from calirare.review.app import make_app, open_desk
from calirare.review.security import Access
from calirare.review.store import DecisionStore

SCRIPT_ID = "<script>window.hacked=1</script>"
FORMULA_ID = '=HYPERLINK("http://evil")'


@pytest.fixture(scope="session")
def made_model(tmp_path_factory) -> Path:
    """A fitted model with its graph; 400 nodes, half of them labelled, two with names that try to be code."""
    graph = cr.make_transactions(num_nodes=400, labelled_share=0.5, rare_share=0.15, seed=1)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=40, hidden=4, weight_decay=2e-2)).fit(graph)
    open_nodes = np.flatnonzero(graph.y == -1)
    ranked = open_nodes[np.argsort(-clf.predict_proba(graph)[open_nodes, 1])]
    ids = graph.ids.astype(object)
    ids[ranked[1]], ids[ranked[2]] = SCRIPT_ID, FORMULA_ID
    folder = tmp_path_factory.mktemp("model")
    clf.save(folder, graph=replace(graph, node_ids=ids.astype(str)))
    open_desk(folder).close()  # scores are kept, so that each copy starts at once
    (folder / "decisions.sqlite").unlink()
    return folder


@pytest.fixture
def model(made_model, tmp_path) -> Path:
    """An own copy."""
    return Path(shutil.copytree(made_model, tmp_path / "model"))


@pytest.fixture
def desk(model):
    desk = open_desk(model)
    yield desk
    desk.close()


@pytest.fixture
def client(desk):
    """A browser without a browser, on loopback and without a token."""
    return make_app(desk, Access(reviewer="ada")).server.test_client()


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Intervals around metrics are tested elsewhere; here they only take time."""
    monkeypatch.setattr(quality, "NUM_RESAMPLES", 5)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'decisions.sqlite'}"
        return
    import psycopg

    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS calirare_decisions, calirare_events")
    yield url


@pytest.fixture
def store(database):
    store = DecisionStore.open(database)
    yield store
    store.close()
