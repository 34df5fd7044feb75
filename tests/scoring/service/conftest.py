"""A small service, put together once."""

from __future__ import annotations

import pytest
from asgi import Client
from growth import join, split

import calirare as cr
from calirare.scoring.service.access import Access
from calirare.scoring.service.app import Service
from calirare.scoring.service.loading import Models
from calirare.scoring.table import read_for, score_table


@pytest.fixture(autouse=True)
def _quick(few_draws):
    """A service passes intervals on; whether they are right is asked elsewhere."""


@pytest.fixture(scope="session")
def tables():
    """(before, since)."""
    return split(cr.make_transactions(200, rare_share=0.15, labelled_share=0.5, seed=3), num_new=5)


@pytest.fixture(scope="session")
def model(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "model"
    graph = cr.read_tables(*tables[0], label="is_fraud", rare="yes")
    cr.RareCategoryClassifier("linear", device="cpu").fit(graph).save(folder)
    return folder


@pytest.fixture(scope="session")
def models(model, tables, briefly):
    with briefly():
        return Models(model, lambda classifier: read_for(classifier, *tables[0]))


@pytest.fixture
def service(models):
    found = Service(models, Access())
    yield found
    found.close()


@pytest.fixture
def client(service):
    return Client(service.app)


@pytest.fixture(scope="session")
def whole(model, tables, briefly):
    """What `calirare score` says of all tables, by id."""
    classifier = cr.load(model)
    with briefly():
        table = score_table(classifier, read_for(classifier, *(join(*pair) for pair in zip(*tables, strict=True))))
    return {str(one): {name: values[row] for name, values in table.items()} for row, one in enumerate(table["id"])}
