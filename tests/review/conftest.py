"""A small model folder, a desk on it, and a private PostgreSQL where the machine has one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
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
    """A fitted model with its graph; 400 nodes, 120 of them labelled, two with names that try to be code."""
    graph = cr.make_transactions(num_nodes=400, labelled_share=0.3, rare_share=0.1, seed=1)
    clf = cr.RareCategoryClassifier(epochs=30, hidden=8).fit(graph)
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


def find_postgres() -> Path | None:
    """The folder with PostgreSQL's programs, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory):
    """The address of a server of our own, on loopback, gone when the tests are done."""
    programs = find_postgres()
    if programs is None:
        pytest.skip("no PostgreSQL server on this machine")
    user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        try:
            user = {"user": pwd.getpwnam("postgres").pw_uid, "group": pwd.getpwnam("postgres").pw_gid}
        except KeyError:
            pytest.skip("running as root, and there is no user postgres to start the server as")
    folder = tmp_path_factory.mktemp("postgres")
    if user:
        os.chown(folder, user["user"], user["group"])
        for parent in folder.parents:  # pytest's folders are closed to other users
            if parent.owner() == "root" and str(parent).startswith(str(tmp_path_factory.getbasetemp().parents[1])):
                parent.chmod(parent.stat().st_mode | 0o111)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def call(program: str, *words: str) -> None:
        done = subprocess.run(
            [programs / program, *words], cwd=folder, capture_output=True, text=True, timeout=120, **user
        )
        assert done.returncode == 0, done.stderr

    data = folder / "data"
    call("initdb", "-D", str(data), "-U", "desk", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c max_connections=200"
    subprocess.run(
        [programs / "pg_ctl", "-D", data, "-o", options, "-w", "-l", folder / "log", "start"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True, **user,
    )  # fmt: skip
    try:
        yield f"postgresql://desk@127.0.0.1:{port}/postgres"
    finally:
        call("pg_ctl", "-D", str(data), "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'decisions.sqlite'}"
        return
    import psycopg

    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS calirare_decisions")
    yield url


@pytest.fixture
def store(database):
    store = DecisionStore.open(database)
    yield store
    store.close()
