"""Tables and a model that the tests of several commands share."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import pytest
import typer.testing
from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.data.synthetic import make_transactions
from calirare.data.tables.files import write_tables

SEEING_RUNS = {"test_monitor", "test_watching_properties", "test_crashes", "test_refit", "test_pipes"}


@pytest.fixture(scope="session", autouse=True)
def _one_program():
    """The runner puts all commands together anew for each command line; once is enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture(autouse=True)
def _quick(few_sentences, random_labels, quick_networks, same_code, monkeypatch):
    """A command shows figures and reasons; whether they are right is asked elsewhere. So is whether the edges help, for
    which two further models are fitted."""
    monkeypatch.setattr("calirare.evaluation.graph_value.graph_value", lambda *_: None)


@pytest.fixture(autouse=True)
def _no_runs(request, monkeypatch):
    """Commands that score do not measure their scores as a run for the series, but in the files that look at it."""
    if request.path.stem not in SEEING_RUNS:
        monkeypatch.setattr("calirare.cli.watching.Watching.take", lambda *_, **__: None)


@pytest.fixture(scope="session")
def network():
    """Three hundred accounts, forty in a hundred of them labelled; of their payments, who paid whom."""
    return make_transactions(300, rare_share=0.1, labelled_share=0.4, seed=1, with_payments=False)


@pytest.fixture(scope="session")
def tables(network, tmp_path_factory):
    """Paths of its node and edge tables, as CSV."""
    nodes, edges = write_tables(network, tmp_path_factory.mktemp("tables"), format="csv")
    return str(nodes), str(edges)


@pytest.fixture(scope="session")
def payments(tmp_path_factory):
    """Paths of such tables with all that payments say, which are five columns in six."""
    whole = make_transactions(300, rare_share=0.1, labelled_share=0.4, seed=1)
    nodes, edges = write_tables(whole, tmp_path_factory.mktemp("payments"), format="csv")
    return str(nodes), str(edges)


@pytest.fixture(scope="session")
def cheaply(briefly):
    """The same for the models that tests share."""

    @contextmanager
    def quick():
        with briefly(), pytest.MonkeyPatch.context() as patch:
            patch.setattr("calirare.evaluation.graph_value.graph_value", lambda *_: None)
            yield

    return quick


@pytest.fixture(scope="session")
def model(tables, tmp_path_factory, cheaply):
    """The folder of a small model fitted on them."""
    folder = tmp_path_factory.mktemp("fitted") / "model"
    words = ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--out", str(folder)]
    with cheaply():
        answer = CliRunner().invoke(app, [*words, "--detector", "gcn", "--epochs", "30", "--weight-decay", "0.005"])
    assert answer.exit_code == 0, answer.output
    return folder


@pytest.fixture(params=["missing", "folder", "file"])
def no_model(request, tmp_path):
    """A path that holds no model."""
    path = tmp_path / request.param
    if request.param == "folder":
        path.mkdir()
    if request.param == "file":
        path.write_text("x")
    return path
