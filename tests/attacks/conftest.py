"""What the attacks share: a small model, and a count of what was tried, printed at the end.

pytest -m slow tests/attacks
"""

from __future__ import annotations

import pytest
from private_postgres import NoPostgresError, private_postgres

import calirare as cr


@pytest.fixture(scope="session")
def network():
    return cr.make_transactions(num_nodes=600, rare_share=0.2, labelled_share=0.5, seed=0)


@pytest.fixture(scope="session")
def model(network, tmp_path_factory):
    """The folder of a small model with its network."""
    folder = tmp_path_factory.mktemp("model")
    cr.RareCategoryClassifier("linear").fit(network).save(folder, network)
    return folder


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'decisions.sqlite'}"
        return
    try:
        with private_postgres() as url:
            yield url
    except NoPostgresError as error:
        pytest.skip(str(error))


@pytest.fixture
def count(record_property):
    """Say what was tried and what came of it."""
    return lambda words: record_property("count", words)


def pytest_terminal_summary(terminalreporter):
    done = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, ())]
    counts = [value for report in done for name, value in report.user_properties if name == "count"]
    if counts:
        terminalreporter.section("attacks")
    for words in counts:
        terminalreporter.write_line(words)
