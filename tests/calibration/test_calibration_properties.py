"""Whatever arrays a calibrator is given: probabilities, or one of our errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graph_cases import small_graph
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import anything, few_or_many, run_property

import calirare as cr
from calirare import calibration
from calirare.calibration import logits_from_probabilities
from calirare.data.inputs import GraphInputs
from calirare.errors import CalirareError

few_or_many_examples = few_or_many(6, 500)
every_calibrator = pytest.mark.parametrize(
    "name",
    ["TemperatureScaling", "VectorScaling", "MatrixScaling", "PlattScaling", "IsotonicCalibration", "CaGCN", "GATS"],
)
SIZE = 12
usual_or_extreme = st.one_of(
    st.floats(-30, 30), st.just(0.0), st.floats(allow_nan=False, allow_infinity=False), st.floats()
)


def fit_and_ask(name, logits, y, **options):
    """Fit and predict on the same logits; None where that was refused."""
    calibrator = getattr(calibration, name)()
    if calibrator.needs_graph:
        calibrator.set_params(epochs=3)
        options["graph"] = GraphInputs(small_graph(2, num_nodes=SIZE))
    try:
        fitted = calibrator.fit(logits, y, **options)
        return fitted.predict_proba(logits, graph=options.get("graph"))
    except CalirareError as error:
        assert str(error)
        return None


def check_probabilities(p):
    assert np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)


@every_calibrator
@few_or_many_examples
def test_logits_of_any_size(name, examples):
    def answers(logits, y, weights):
        p = fit_and_ask(name, logits, y, weights=weights)
        if p is None:
            assert len(np.unique(y)) < 2 or not (np.abs(logits) < 1e30).all() or weights is not None
        else:
            assert p.shape == logits.shape
            check_probabilities(p)

    run_property(
        examples,
        answers,
        logits=hnp.arrays("f8", (SIZE, 2), elements=usual_or_extreme, fill=st.just(1.0)),
        y=hnp.arrays("i8", SIZE, elements=st.integers(0, 1)),
        weights=st.none() | hnp.arrays("f8", SIZE, elements=st.floats(-1, 10)),
    )


@every_calibrator
@few_or_many_examples
def test_anything_for_arrays(name, examples):
    def answers(logits, y, weights, nodes, which):
        good = {
            "logits": np.random.default_rng(0).normal(size=(SIZE, 2)),
            "y": np.arange(SIZE) % 2,
            "weights": None,
            "nodes": None,
        }
        wild = {"logits": logits, "y": y, "weights": weights, "nodes": nodes}
        given = good | {key: wild[key] for key in which}
        p = fit_and_ask(name, given.pop("logits"), given.pop("y"), **given)
        if p is not None:
            check_probabilities(p)

    run_property(
        examples,
        answers,
        logits=anything,
        y=anything,
        weights=anything,
        nodes=anything,
        which=st.sets(st.sampled_from(["logits", "y", "weights", "nodes"]), min_size=1),
    )


@few_or_many_examples
def test_probabilities_of_any_kind(examples):
    def answers(values):
        try:
            logits = logits_from_probabilities(values)
        except CalirareError:
            return
        assert logits.shape == np.shape(values) and np.isfinite(logits).all()
        softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(softmax, values, atol=2e-4)

    tables = hnp.arrays("f8", st.tuples(st.integers(0, 4), st.integers(0, 3)), elements=st.floats(-0.1, 1.1))
    exact = st.lists(st.floats(0, 1), max_size=5).map(lambda p: [[one, 1 - one] for one in p])
    run_property(examples, answers, values=st.one_of(anything, tables, exact))


@pytest.mark.parametrize(
    "output",
    [
        lambda logits: logits[:, :1],
        lambda logits: logits[:, [0, 1, 1]],
        lambda logits: logits[:5],
        lambda logits: logits[:, 0],
        lambda logits: logits * float("nan"),
        lambda logits: logits.argmax(dim=1, keepdim=True).repeat(1, 2),
        lambda logits: (logits, logits),
        lambda logits: None,
    ],
    ids=["one column", "three columns", "five rows", "a vector", "NaN", "whole numbers", "a pair", "nothing"],
)
def test_a_trained_module_that_gives_no_logits(output):
    class Module(torch.nn.Module):
        def __init__(self, num_features):
            super().__init__()
            self.linear = torch.nn.Linear(num_features, 2)

        def forward(self, x, edge_index):
            return output(self.linear(x))

    graph = cr.make_transactions(num_nodes=60, rare_share=0.3, labelled_share=0.7, seed=0)
    with pytest.raises(CalirareError, match="logits|module"):
        cr.RareCategoryClassifier.from_trained(Module(graph.num_features), graph, weight_decay=5e-3)
