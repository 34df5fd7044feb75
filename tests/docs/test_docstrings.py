"""Every public name carries an example, and every example runs (`--doctest-modules`)."""

from __future__ import annotations

import inspect

import pytest

import calirare as cr

FUNCTIONS = [name for name in cr.__all__ if inspect.isfunction(getattr(cr, name)) or inspect.isclass(getattr(cr, name))]
METHODS = [
    name
    for name, member in inspect.getmembers(cr.RareCategoryClassifier)
    if not name.startswith("_")
    and getattr(member, "__module__", "") == "calirare.estimator.classifier"
    and callable(member)
]
METRICS = [name for name in cr.metrics.__all__ if inspect.isfunction(getattr(cr.metrics, name))]


def has_example(documented: object) -> bool:
    text = inspect.getdoc(documented) or ""
    return ">>>" in text or "for an example" in text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_name_has_an_example(name):
    assert has_example(getattr(cr, name))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_estimator_has_an_example(name):
    assert has_example(getattr(cr.RareCategoryClassifier, name))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_an_example(name):
    assert has_example(getattr(cr.metrics, name))
