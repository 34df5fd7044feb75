"""Tables and a model that the tests of several commands share."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.data.synthetic import make_transactions
from calirare.data.tables.files import write_tables


@pytest.fixture(scope="session")
def network():
    """Six hundred accounts, a quarter of them labelled."""
    return make_transactions(600, rare_share=0.1, labelled_share=0.25, seed=1)


@pytest.fixture(scope="session")
def tables(network, tmp_path_factory):
    """Paths of its node and edge tables, as CSV."""
    nodes, edges = write_tables(network, tmp_path_factory.mktemp("tables"), format="csv")
    return str(nodes), str(edges)


@pytest.fixture(scope="session")
def model(tables, tmp_path_factory):
    """The folder of a small model fitted on them."""
    folder = tmp_path_factory.mktemp("fitted") / "model"
    words = ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--out", str(folder)]
    answer = CliRunner().invoke(app, [*words, "--detector", "gcn", "--epochs", "30", "--weight-decay", "0.005"])
    assert answer.exit_code == 0, answer.output
    return folder
