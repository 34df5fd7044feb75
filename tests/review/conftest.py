"""A small model folder, and a desk on it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import calirare as cr
from calirare.data.tables.reading import read_tables
from calirare.review.app import DeskServer, make_app, open_desk
from calirare.review.store.decisions import DecisionStore
from calirare.scoring.service.access import Access

SCRIPT_ID = "<script>window.hacked=1</script>"
FORMULA_ID = '=HYPERLINK("http://evil")'


@pytest.fixture(scope="session")
def made_model(tmp_path_factory, briefly) -> Path:
    """A fitted model with its graph; 400 nodes, half of them labelled, two with names that try to be code."""
    graph = cr.make_transactions(num_nodes=400, labelled_share=0.5, rare_share=0.15, seed=1)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=40, hidden=4, weight_decay=2e-2)).fit(graph)
    open_nodes = np.flatnonzero(graph.y == -1)
    ranked = open_nodes[np.argsort(-clf.predict_proba(graph)[open_nodes, 1])]
    ids = graph.ids.astype(object)
    ids[ranked[1]], ids[ranked[2]] = SCRIPT_ID, FORMULA_ID
    folder = tmp_path_factory.mktemp("model")
    clf.save(folder, graph=replace(graph, node_ids=ids.astype(str)))
    with briefly():  # as the tests ask it; the model itself is trained whole, for it must have skill
        open_desk(folder).close()  # scores are kept, so that each copy starts at once
    (folder / "decisions.sqlite").unlink()
    return folder


@pytest.fixture
def model(made_model, tmp_path) -> Path:
    """An own copy."""
    return Path(shutil.copytree(made_model, tmp_path / "model"))


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Path:
    """A folder with two tables with what tables have (money, dates, codes, words, gaps), and a model of them."""
    rng, folder, n = np.random.default_rng(0), tmp_path_factory.mktemp("tables"), 120
    amount = rng.lognormal(4, 1, n)
    rare = np.log(amount) + rng.normal(0, 0.5, n) > 4.4  # large accounts, mostly
    nodes = pl.DataFrame(
        {
            "account": [f"A{k:03d}" for k in range(n)],
            "amount": [None if k % 10 == 3 else round(float(v), 2) for k, v in enumerate(amount)],
            "country": rng.choice(["NO", "SE", "DE"], n),
            "opened": [f"2024-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(n)],
            "branch": [f"{k % 7:04d}" for k in range(n)],
            "owner": [f"Person {k}" for k in range(n)],
            "fraud": [("yes" if r else "no") if k % 5 < 3 else None for k, r in enumerate(rare)],
        }
    )
    pairs = rng.integers(0, n, (2, 300))
    edges = pl.DataFrame(
        {
            "payer": [f"A{k:03d}" for k in pairs[0]],
            "payee": [f"A{k:03d}" for k in pairs[1]],
            "value": np.round(rng.lognormal(3, 1, 300), 2),
            "when": [f"2026-03-{1 + k % 28:02d}T0{k % 10}:30:00" for k in range(300)],
            "channel": rng.choice(["card", "wire"], 300),
        }
    )
    nodes.write_csv(folder / "nodes.csv")
    edges.write_csv(folder / "edges.csv")
    graph = read_tables(
        folder / "nodes.csv", folder / "edges.csv", label="fraud", rare="yes", source="payer", target="payee"
    )
    cr.RareCategoryClassifier(detector="linear").fit(graph).save(folder / "model", graph)
    return folder


@pytest.fixture
def own_desk(model):
    desk = open_desk(model)
    yield desk
    desk.close()


@pytest.fixture
def desk(own_desk):
    return own_desk


@pytest.fixture(scope="session")
def shown_desk(made_model, tmp_path_factory):
    """For tests that only look: nobody decides here, and the sentences about its cases are written once."""
    desk = open_desk(shutil.copytree(made_model, tmp_path_factory.mktemp("shown") / "model"))
    yield desk
    desk.close()


@pytest.fixture
def client(desk):
    """A browser without a browser, on loopback and without a token."""
    return make_app(desk, Access(reviewer="ada")).server.test_client()


@pytest.fixture(scope="session")
def shown_client(shown_desk):
    """A browser on it."""
    return make_app(shown_desk, Access(reviewer="ada")).server.test_client()


@pytest.fixture(autouse=True)
def _quick(random_labels, quick_networks, monkeypatch):
    """A desk shows figures; whether they are right is asked elsewhere. Dash has looked for hooks of other packages once."""
    monkeypatch.setattr("dash._hooks.HooksManager._registered", True)


@pytest.fixture(autouse=True)
def _no_runs(request, monkeypatch):
    """A desk that opens does not measure its scores as a run for the series; test_feed.py and browsers look at it."""
    if request.path.stem != "test_feed" and not request.node.get_closest_marker("browser"):
        monkeypatch.setattr("calirare.review.feed.Feed.run", lambda self, snapshot: None)


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


@pytest.fixture
def serve(model):
    """Starts desks, on the same copy of the model unless told otherwise, and closes them."""
    servers = []

    def start(folder=model, table=None, links=(), **access):
        server = DeskServer(open_desk(folder, table=table, links=links), Access(port=0, **access))
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def there():
    """Waits until the case that the address names is on screen: head, cards and decision."""
    from playwright.sync_api import expect

    def wait(page, name=None):
        if name is not None:
            expect(page.locator("#case-id")).to_have_text(name)
        expect(page.locator("#decision-card:not(.waiting)")).to_be_visible()

    return wait


@pytest.fixture
def open_page(browser):
    """Pages that fail the test when the browser complains, a blocked script or a stranger's address included."""
    contexts, complaints = [], []

    def open_one(address, size=(1280, 800), scheme="light"):
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        ours = ("data:", "blob:", "/".join(address.split("/")[:3]))
        page.on("request", lambda asked: None if asked.url.startswith(ours) else complaints.append(asked.url))
        page.goto(address)
        return page

    yield open_one
    for context in contexts:
        context.close()
    refused_on_purpose = ("status of 400", "status of 401", "status of 409", "status of 502")
    assert [line for line in complaints if not any(part in line for part in refused_on_purpose)] == []
