"""One contract over every method: what it reads, what it returns, what it refuses."""

import sys
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from scipy.special import softmax
from slow_calibrators import gats_temperature

import calirare as cr
from calirare.calibration import GATS, CaGCN
from calirare.data.graph import RareGraph
from calirare.detectors import GCN
from calirare.errors import InputError, LabelError, NotFittedError
from calirare.estimator.fitting import TrainedDetector
from calirare.estimator.methods import Method, get_method, methods, register, temporarily

METHODS = sorted(methods())
QUICK = {"epochs": 5, "hidden": 2, "weight_decay": 3e-2}


@pytest.fixture(scope="module", autouse=True)
def _quick(quick_networks_here):
    """CaGCN and GATS train networks of their own, and networks are refitted in folds; the contract needs none at rest."""
    code = get_method("calirare_code")
    with (
        temporarily(replace(code, refinement=replace(code.refinement, epochs=8, lr=2e-2))),
        temporarily(replace(get_method("cagcn"), calibrator=partial(CaGCN, epochs=8))),
        temporarily(replace(get_method("gats"), calibrator=partial(GATS, epochs=8))),
    ):
        yield


@cache
def _case() -> tuple[RareGraph, cr.Split]:
    graph = cr.make_transactions(num_nodes=150, rare_share=0.3, seed=3)
    isolated = RareGraph(
        x=graph.x, edge_index=graph.edge_index[:, (graph.edge_index >= 5).all(axis=0)], y=graph.y, name="isolated"
    )
    return isolated, cr.split_labels(isolated, train_fraction=0.3, val_fraction=0.3, test_fraction=0.4, seed=0)


@pytest.fixture
def case() -> tuple[RareGraph, cr.Split]:
    return _case()


@cache
def _fitted(method: str) -> cr.RareCategoryClassifier:
    """Each method fitted once for all the tests that only look at it."""
    return _fit_sharing(method, *_case())


_TRAINED: dict[object, tuple[RareGraph, TrainedDetector]] = {}


def _fit_sharing(name: str, graph: RareGraph, split: cr.Split) -> cr.RareCategoryClassifier:
    """A fit that shares its network with the methods that train alike on the same graph, as the benchmark's do."""
    method = get_method(name)
    alike = method.objective, method.trains_on, method.reads_validation, method.refinement, method.rests, id(graph)
    clf = cr.RareCategoryClassifier(GCN(**QUICK), name, device="cpu")
    if alike not in _TRAINED:
        _TRAINED[alike] = graph, clf.fit_detector(graph, split)
    return clf.calibrate(_TRAINED[alike][1], graph, split)


@cache
def _changed(nodes: bytes) -> RareGraph:
    """The graph with the labels of these nodes turned around."""
    graph, _ = _case()
    y = graph.y.copy()
    y[np.frombuffer(nodes, dtype=np.int64)] ^= 1
    return graph.with_labels(y)


def _fit(method: str, graph: RareGraph, split: cr.Split, **arguments: object) -> cr.RareCategoryClassifier:
    detector = arguments.pop("detector", GCN(**QUICK))
    return cr.RareCategoryClassifier(detector, method, device="cpu", **arguments).fit(graph, split)


def _answers(clf: cr.RareCategoryClassifier, graph: RareGraph) -> list[np.ndarray]:
    bounds = [clf.predict_interval(graph), clf.jackknife_interval(graph)]
    told = [clf.predict_proba(graph), clf.predict(graph), clf.predict_left_out(), clf.predict_set(graph)]
    return told + [side for interval in bounds for side in (interval.lower, interval.upper)]


@cache
def _fitted_answers(method: str) -> list[np.ndarray]:
    return _answers(_fitted(method), _case()[0])


def _declared(method: Method, split: cr.Split) -> np.ndarray:
    """The nodes whose labels the method says it reads."""
    return np.concatenate([split.train, split.val]) if method.reads_validation else split.train


@pytest.mark.refits
@pytest.mark.parametrize("name", METHODS)
def test_reads_only_the_labels_it_declares(name, case):
    graph, split = case
    others = np.setdiff1d(np.arange(graph.num_nodes), _declared(get_method(name), split))
    before = _fitted_answers(name)
    after = _answers(_fit_sharing(name, _changed(others.tobytes()), split), graph)
    for expected, found in zip(before, after, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.refits
@pytest.mark.parametrize("name", METHODS)
def test_every_declared_part_matters(name, case):
    """A method that declares labels it does not read would make the table lie the other way round."""
    graph, split = case
    parts = [split.train, split.val] if get_method(name).reads_validation else [split.train]
    expected = _fitted(name).predict_proba(graph)
    for nodes in parts:
        changed = _changed(nodes[: len(nodes) // 2].tobytes())
        assert not np.allclose(_fit_sharing(name, changed, split).predict_proba(graph), expected)


def test_gats_knows_the_nodes_that_trained_the_network(case):
    graph, split = case
    clf = _fitted("gats")
    logits, gats = clf.state_.detector.logits(clf.asked_.inputs), clf.state_.calibrator
    learned = gats.projection_, gats.slope_, gats.offset_, gats.factors_
    assert (gats.factors_ != 1).all()
    temperature = gats_temperature(logits, graph.adjacency().toarray(), set(split.train.tolist()), *learned)
    expected = softmax(logits / temperature[:, None], axis=1)
    np.testing.assert_allclose(clf.predict_proba(graph), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["cagcn", "gats"])
def test_what_is_said_without_a_label_is_of_the_graph_of_the_fit(name, case):
    """Their calibrators look at the graph, whichever was asked about last."""
    graph, split = case
    clf, asked = (_fit_sharing(name, graph, split) for _ in range(2))
    asked.predict_proba(cr.make_transactions(num_nodes=60, seed=5))
    expected = clf.predict_left_out()
    np.testing.assert_array_equal(asked.predict_left_out(), expected)
    clf.predict_left_out()[:] = 0.5  # the caller's own
    np.testing.assert_array_equal(clf.predict_left_out(), expected)


@pytest.mark.refits
@pytest.mark.parametrize("name", ["calirare_code", "cross_fit", "gats", "jackknife"])
def test_a_fit_is_a_detector_and_its_calibration(name, case):
    graph, split = case
    np.testing.assert_array_equal(_fit(name, graph, split).predict_proba(graph), _fitted(name).predict_proba(graph))


@pytest.mark.parametrize("name", METHODS)
def test_shapes_and_ranges(name, case):
    graph, _ = case
    clf = _fitted(name)
    probabilities = clf.predict_proba(graph)
    assert probabilities.shape == (graph.num_nodes, 2) and probabilities.dtype == np.float64
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    interval = clf.predict_interval(graph)
    assert (interval.lower <= interval.upper).all() and interval.lower.min() >= 0 and interval.upper.max() <= 1
    assert clf.predict_set(graph).shape == (graph.num_nodes, 2)
    assert clf.predict_left_out().shape == (len(clf.labelled_nodes_), 2)


@pytest.mark.parametrize("name", METHODS)
def test_save_and_load_answer_alike(name, case, tmp_path):
    graph, _ = case
    clf = _fitted(name)
    clf.save(tmp_path / "model")
    loaded = cr.load(tmp_path / "model")
    for expected, found in zip(_fitted_answers(name), _answers(loaded, graph), strict=True):
        np.testing.assert_array_equal(found, expected)
    explained, again = clf.explain(graph, 7), loaded.explain(graph, 7)
    np.testing.assert_array_equal(again.pull, explained.pull)


@cache
def _three_classes() -> tuple[RareGraph, cr.Split]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    x = rng.normal(size=(150, 5)) + y[:, None]
    graph = RareGraph(x=x, edge_index=rng.integers(0, 150, (2, 400)), y=y, class_names=("a", "b", "c"), rare_class=2)
    return graph, cr.split_labels(graph, train_fraction=0.4, val_fraction=0.3, test_fraction=0.3, seed=0)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "calirare_code"])
def test_several_classes(name):
    graph, split = _three_classes()
    clf = _fit_sharing(name, graph, split)
    np.testing.assert_allclose(clf.predict_proba(graph).sum(axis=1), 1, atol=1e-12)
    assert set(clf.predict(graph)) <= {0, 1, 2}
    assert clf.predict_interval(graph).lower.shape == (150,)


@pytest.mark.parametrize("name", METHODS)
def test_unfitted_refuses(name, case):
    clf = cr.RareCategoryClassifier(method=name)
    for question in (clf.predict_proba, clf.predict, clf.predict_interval, clf.predict_set):
        with pytest.raises(NotFittedError):
            question(case[0])
    with pytest.raises(NotFittedError):
        clf.predict_left_out()


@pytest.mark.parametrize("name", [name for name in METHODS if get_method(name).evidence == "val"])
def test_validation_of_one_class_is_refused(name, case):
    graph, split = case
    normal = split.val[graph.y[split.val] == 0]
    with pytest.raises(LabelError, match="at least two classes"):
        _fit(name, graph, cr.Split(train=split.train, val=normal))


@pytest.mark.parametrize("name", ["jackknife", "platt", "isotonic"])
def test_the_prior_changes_probabilities_and_the_decision_follows_them(name, case):
    graph, split = case
    trained = cr.RareCategoryClassifier(GCN(**QUICK), name, device="cpu").fit_detector(graph, split)
    p = {}
    for prior in ("natural", "balanced"):
        clf = cr.RareCategoryClassifier(GCN(**QUICK), name, prior=prior, device="cpu").calibrate(trained, graph, split)
        p[prior] = clf.predict_proba(graph)
        np.testing.assert_array_equal(clf.predict(graph), p[prior].argmax(axis=1))
    assert p["balanced"][:, 1].mean() > p["natural"][:, 1].mean() + 0.02


def test_rare_share_moves_the_base_rate(case):
    graph, split = case
    low = _fit("jackknife", graph, split, rare_share=0.01).predict_proba(graph)[:, 1].mean()
    high = _fit("jackknife", graph, split, rare_share=0.5).predict_proba(graph)[:, 1].mean()
    assert low < 0.05 < high


@pytest.mark.refits
@pytest.mark.parametrize("method", ["calirare", "calirare_code"])
def test_the_papers_methods_keep_dropout_to_the_end_as_the_paper_does(method, case):
    graph, split = case
    changed = [GCN(**{**QUICK, "epochs": 8, "settle": settle}) for settle in (0.25, 0.0)]
    settled, noisy = (_fit(method, graph, split, detector=detector) for detector in changed)
    np.testing.assert_array_equal(settled.predict_proba(graph), noisy.predict_proba(graph))
    assert settled.history_.slope is None  # it was not brought to rest either
    plain = [_fit("uncalibrated", graph, split, detector=detector) for detector in changed]
    assert plain[0].history_.loss != plain[1].history_.loss and plain[0].history_.slope is not None


@pytest.mark.parametrize("name", [name for name in METHODS if name != "jackknife"])
def test_the_papers_methods_use_the_gcn_by_default(name):
    detector = cr.RareCategoryClassifier(method=name)._make_detector(get_method(name))
    assert type(detector) is GCN and detector.get_params() == GCN().get_params()


def test_a_stack_given_by_the_user_is_not_replaced(case):
    with pytest.raises(InputError, match="calibrated as a whole by method='jackknife'"):
        _fit("platt", *case, detector=cr.detectors.Stack(["linear"]))


@pytest.mark.parametrize("name", [name for name in METHODS if get_method(name).changes_training])
def test_what_changes_training_is_for_networks(name, case):
    with pytest.raises(InputError, match="detector must be one, 'gcn' for instance; got 'linear'"):
        _fit(name, *case, detector="linear")


@pytest.mark.parametrize("name", [name for name in METHODS if not get_method(name).changes_training])
def test_every_calibration_works_with_any_detector(name, case):
    graph, split = case
    p = _fit(name, graph, split, detector="linear").predict_proba(graph)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)


def test_unknown_name_says_what_there_is():
    with pytest.raises(InputError, match=r"did you mean 'jackknife'"):
        get_method("jacknife")


def test_a_registered_method_is_known_everywhere(case):
    graph, split = case
    registry = sys.modules["calirare.estimator.methods"]._REGISTRY
    mine = register(replace(get_method("temperature"), name="mine", summary="a copy"))
    try:
        assert "mine" in cr.methods()
        expected = _fit("temperature", graph, split).predict_proba(graph)
        np.testing.assert_array_equal(_fit(mine.name, graph, split).predict_proba(graph), expected)
    finally:
        registry.pop("mine")
