"""A graph that trains in a blink, and a grid on it."""

from __future__ import annotations

import pytest

from calirare.benchmark import DatasetSource, Entry, Grid, Settings
from calirare.data.synthetic import make_transactions

FAST = Settings(epochs=5, hidden=4, weight_decay=2e-2, num_val=80, num_test=120)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The path of a small graph."""
    path = tmp_path_factory.mktemp("graphs") / "tiny.npz"
    make_transactions(num_nodes=300, rare_share=0.15, seed=0, with_payments=False).save(path)
    return path


@pytest.fixture
def make_grid(tiny):
    """A grid of the given entries on that graph."""

    def make(*words, **options):
        arguments = {"labels": (10,), "seeds": 2, "settings": FAST} | options
        return Grid((DatasetSource.parse(str(tiny)),), tuple(Entry.parse(word) for word in words), **arguments)

    return make


@pytest.fixture
def other_processes():
    """For tests that compare with processes of their own, in which nothing is made quick."""


@pytest.fixture(autouse=True)
def _quick(request, same_code):
    """A benchmark fits; how well is asked elsewhere."""
    if "other_processes" not in request.fixturenames:
        request.getfixturevalue("quick_networks")
