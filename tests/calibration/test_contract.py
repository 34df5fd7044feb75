"""What holds for every calibrator in `calirare.calibration`, found there without being named here."""

import json
from functools import cache

import numpy as np
import pytest
import torch
from graph_cases import small_graph
from sklearn.base import clone

from calirare import calibration
from calirare.calibration import Calibrator
from calirare.data.inputs import GraphInputs
from calirare.errors import InputError, LabelError, NotFittedError

CALIBRATORS = [
    member
    for name in calibration.__all__
    if isinstance(member := getattr(calibration, name), type)
    and issubclass(member, Calibrator)
    and member is not Calibrator
]
NODES = np.arange(40)
every_calibrator = pytest.mark.parametrize("make", CALIBRATORS)
every_size = pytest.mark.parametrize("num_classes", [2, 3])


def _case(num_classes=2):
    graph = small_graph(num_classes, num_nodes=60)
    generator = np.random.default_rng(num_classes)
    logits = generator.normal(size=(60, num_classes)) + 1.5 * np.eye(num_classes)[graph.y]
    return logits, graph.y[NODES], GraphInputs(graph)


def _make(make):
    """A new one; what it learns by gradient steps, it learns in few."""
    calibrator = make()
    return calibrator.set_params(epochs=20) if "epochs" in calibrator.get_params() else calibrator


def _fit(make, num_classes=2, **changes):
    logits, y, graph = _case(num_classes)
    arguments = {"nodes": NODES, "graph": graph} | changes
    return _make(make).fit(logits, arguments.pop("y", y), **arguments), logits, graph


@cache
def _fitted(make, num_classes=2):
    """One for all the tests that only ask."""
    return _fit(make, num_classes)


def test_all_are_found():
    assert len(CALIBRATORS) >= 7


@every_calibrator
@every_size
def test_probabilities_of_every_node(make, num_classes):
    fitted, logits, graph = _fitted(make, num_classes)
    probabilities = fitted.predict_proba(logits, graph=graph)
    assert probabilities.shape == logits.shape and probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert (probabilities >= 0).all()


@every_calibrator
@every_size
def test_one_class_of_many_models_is_what_each_model_gives_alone(make, num_classes):
    fitted, logits, graph = _fitted(make, num_classes)
    models = np.stack([logits, 0.5 * logits, logits[:, ::-1]], axis=1)
    for of_class in range(num_classes):
        together = fitted.predict_class(torch.from_numpy(models.copy()), of_class, graph=graph)
        alone = [fitted.predict_proba(models[:, m], graph=graph)[:, of_class] for m in range(3)]
        np.testing.assert_allclose(together.numpy(), np.column_stack(alone), atol=1e-12)


@every_calibrator
def test_fit_returns_self_and_changes_no_input(make):
    logits, y, graph = _case()
    weights = np.linspace(1, 2, len(y))
    copies = [array.copy() for array in (logits, y, weights, NODES, graph.adjacency.data)]
    calibrator = _make(make)
    assert calibrator.fit(logits, y, weights=weights, nodes=NODES, graph=graph) is calibrator
    calibrator.predict_proba(logits, graph=graph)
    for before, after in zip(copies, (logits, y, weights, NODES, graph.adjacency.data), strict=True):
        np.testing.assert_array_equal(before, after)


@every_calibrator
def test_unfitted_use_is_refused(make):
    logits, _, graph = _case()
    with pytest.raises(NotFittedError, match=f"{make.__name__} is not fitted"):
        make().predict_proba(logits, graph=graph)


@pytest.mark.refits
@every_calibrator
@every_size
def test_a_weight_of_two_is_a_label_twice(make, num_classes):
    logits, y, graph = _case(num_classes)
    counts = 1 + np.arange(len(y)) % 3
    weighted = _make(make).fit(logits, y, weights=counts.astype(float), nodes=NODES, graph=graph)
    repeated = _make(make).fit(logits, np.repeat(y, counts), nodes=np.repeat(NODES, counts), graph=graph)
    plain = _make(make).fit(logits, y, nodes=NODES, graph=graph)
    answers = [fitted.predict_proba(logits, graph=graph) for fitted in (weighted, repeated, plain)]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-7)
    assert np.abs(answers[0] - answers[2]).max() > 1e-6


@pytest.mark.parametrize("make", [make for make in CALIBRATORS if not make.needs_graph])
def test_only_the_calibration_nodes_count(make):
    logits, y, _ = _case()
    other = logits.copy()
    other[len(NODES) :] = 100.0
    first = _make(make).fit(logits, y, nodes=NODES).predict_proba(logits)
    np.testing.assert_array_equal(first, _make(make).fit(other, y, nodes=NODES).predict_proba(logits))
    np.testing.assert_array_equal(first, _make(make).fit(logits[NODES], y).predict_proba(logits))


@pytest.mark.refits
@every_calibrator
def test_same_seed_same_bytes_and_global_state_untouched(make):
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    first, logits, graph = _fit(make)
    second, *_ = _fit(make)
    assert first.predict_proba(logits, graph=graph).tobytes() == second.predict_proba(logits, graph=graph).tobytes()
    assert torch.equal(before[0], torch.random.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])


@every_calibrator
@every_size
def test_state_is_plain_and_restores_the_same_answers(make, num_classes):
    fitted, logits, graph = _fitted(make, num_classes)
    state = fitted.state()
    assert state and all(name.endswith("_") for name in state)
    for value in state.values():
        assert isinstance(value, (np.ndarray, float, int)) and not (
            isinstance(value, np.ndarray) and value.dtype == object
        )
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in state.items()}
    read = {
        name: np.array(value, dtype=state[name].dtype) if isinstance(value, list) else value
        for name, value in json.loads(json.dumps(plain)).items()
    }
    restored = make().restore(read)
    assert restored.predict_proba(logits, graph=graph).tobytes() == fitted.predict_proba(logits, graph=graph).tobytes()


@every_calibrator
def test_clone_and_parameters(make):
    fitted, logits, graph = _fitted(make)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() == _make(make).get_params()
    assert not copy.state()
    with pytest.raises(NotFittedError):
        copy.predict_proba(logits, graph=graph)


@pytest.mark.refits
@every_calibrator
def test_a_second_fit_forgets_the_first(make):
    logits, y, graph = _case()
    other = 3 * logits[:, ::-1]
    twice = _make(make).fit(other, y, nodes=NODES, graph=graph).fit(logits, y, nodes=NODES, graph=graph)
    once, *_ = _fit(make)
    assert twice.predict_proba(logits, graph=graph).tobytes() == once.predict_proba(logits, graph=graph).tobytes()


@every_calibrator
def test_one_class_says_nothing(make):
    with pytest.raises(LabelError, match="single class"):
        _fit(make, y=np.zeros(len(NODES), dtype=int))


BAD_ARGUMENTS = [
    ({"y": np.zeros(3, dtype=int)}, "one class per calibration node, 40 in all"),
    ({"y": np.repeat([0, 2], 20)}, "y must hold classes 0…1"),
    ({"y": np.repeat([0.5, 1.0], 20)}, "y must hold whole numbers"),
    ({"nodes": np.arange(40) + 30}, "nodes must be a list of rows of logits, 0…59"),
    ({"nodes": NODES.reshape(8, 5)}, "nodes must be a list of rows"),
    ({"weights": np.ones(3)}, "weights must hold 40 numbers"),
    ({"weights": -np.ones(40)}, "none negative"),
    ({"weights": np.zeros(40)}, "not all zero"),
    ({"weights": np.full(40, 1e308)}, "weights must hold 40 numbers"),
]


@every_calibrator
def test_bad_arguments_are_refused(make):
    for changes, words in BAD_ARGUMENTS:
        with pytest.raises(InputError, match=words):
            _fit(make, **changes)


@every_calibrator
def test_bad_logits_are_refused(make):
    logits, y, graph = _case()
    for bad, words in (
        (np.where(logits > 1, np.nan, logits), "must be finite"),
        (logits[:, :1], "at least two classes"),
    ):
        with pytest.raises(InputError, match=words):
            _make(make).fit(bad, y, nodes=NODES, graph=graph)
    fitted, *_ = _fitted(make)
    with pytest.raises(InputError, match="2 columns as at fit"):
        fitted.predict_proba(np.zeros((60, 3)), graph=graph)
    if make.needs_graph:
        with pytest.raises(InputError, match="pass graph="):
            fitted.predict_proba(logits)
        with pytest.raises(InputError, match="each of the 60 nodes"):
            fitted.predict_proba(logits[:10], graph=graph)
