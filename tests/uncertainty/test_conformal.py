"""Conformal sets against crepes, against a count by hand, and against their promise."""

import logging

import numpy as np
import pytest
from crepes import ConformalClassifier
from slow_calibrators import sample_classes

from calirare.errors import InputError
from calirare.uncertainty.conformal import conformal_sets, conformal_thresholds


def _case(num_labelled=60, num_nodes=40, num_classes=3, seed=0, decimals=None):
    """Left-out probabilities and classes of labelled nodes, probabilities of others."""
    generator = np.random.default_rng(seed)
    labelled, others = (
        generator.dirichlet(np.ones(num_classes), num_labelled),
        generator.dirichlet(np.ones(num_classes), num_nodes),
    )
    if decimals is not None:
        labelled, others = _rounded(labelled, decimals), _rounded(others, decimals)
    return labelled, sample_classes(generator, labelled), others


def _rounded(probabilities, decimals):
    first = probabilities[:, :-1].round(decimals)
    return np.column_stack([first, 1 - first.sum(axis=1)]).clip(0, 1)


def _likeliest(probabilities):
    """Whether each class is one of the likeliest, which no set leaves out."""
    return probabilities == probabilities.max(axis=1, keepdims=True)


def _crepes(labelled, y, others):
    """A Mondrian conformal classifier for each class, its category being the class."""
    for c in range(labelled.shape[1]):
        judge = ConformalClassifier().fit(1 - labelled[y == c, c], bins=np.full((y == c).sum(), c))
        yield judge, 1 - others[:, c], np.full(len(others), c)


def _p_values(labelled, y, others):
    """(1 + labelled nodes of the class that are at least as strange) / (1 + labelled nodes of the class)."""
    found = [
        (1 + (1 - labelled[y == c, c] >= 1 - others[:, [c]]).sum(axis=1)) / (1 + (y == c).sum())
        for c in range(labelled.shape[1])
    ]
    return np.column_stack(found)


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("coverage", [0.5123, 0.8, 0.9, 0.951])
@pytest.mark.parametrize("seed", range(2))
def test_sets_equal_those_of_crepes(seed, coverage, decimals):
    """Where (n + 1)·coverage is a whole number, crepes keeps one label more than the promise needs; we do not."""
    labelled, y, others = _case(seed=seed, decimals=decimals)
    ours = conformal_sets(others, conformal_thresholds(labelled, y, coverage))
    for c, (judge, scores, bins) in enumerate(_crepes(labelled, y, others)):
        rank = ((y == c).sum() + 1) * coverage
        whole = abs(rank - round(rank)) < 1e-9
        confidence = coverage - 1e-6 if whole else coverage
        theirs = judge.predict_set(scores[:, None], bins=bins, confidence=confidence, smoothing=False)[:, 0]
        np.testing.assert_array_equal(ours[:, c], theirs.astype(bool) | _likeliest(others)[:, c])


@pytest.mark.parametrize("coverage", [0.5, 0.55, 0.7, 0.9, 0.95])
def test_a_set_holds_the_classes_with_a_p_value_above_what_may_be_missed(coverage):
    labelled, y, others = _case(num_labelled=99, num_classes=2, seed=7)
    sets = conformal_sets(others, conformal_thresholds(labelled, y, coverage))
    usual = _p_values(labelled, y, others) > 1 - coverage + 1e-9
    np.testing.assert_array_equal(sets, usual | _likeliest(others))


@pytest.mark.parametrize(("coverage", "rank"), [(0.55, 55), (0.9, 90), (0.7, 70), (0.901, 91)])
def test_the_threshold_is_the_kth_smallest_of_99(coverage, rank):
    scores = np.random.default_rng(0).permutation(np.arange(1, 100)) / 200
    labelled = np.column_stack([1 - scores, scores])
    thresholds = conformal_thresholds(labelled, np.zeros(99, dtype=int), coverage)
    assert thresholds[0] == pytest.approx(rank / 200, abs=1e-12)
    assert thresholds[1] == np.inf


def test_too_few_labels_put_the_class_into_every_set_and_say_so(caplog):
    labelled = np.column_stack([np.linspace(0.9, 0.5, 17), np.linspace(0.1, 0.5, 17)])
    y = np.repeat([0, 1], [9, 8])
    with caplog.at_level(logging.WARNING):
        thresholds = conformal_thresholds(labelled, y, 0.9)
        conformal_thresholds(labelled, y, 0.9, names=["fine", "fraud"])
    assert np.isfinite(thresholds[0]) and thresholds[1] == np.inf
    for name, message in zip(["class 1", "fraud"], caplog.messages, strict=True):
        assert message.startswith(f"{name} has 8 labels, too few for sets of coverage 0.9 (needs 9)")
    assert conformal_sets([[1.0, 0.0]], thresholds)[0, 1]


@pytest.mark.parametrize("coverage", [pytest.param(0.8, marks=pytest.mark.slow), 0.9])
def test_each_class_is_covered_as_promised(coverage):
    """Over many draws, the coverage of each class lies within a point of the promise, the rare one's too."""
    generator = np.random.default_rng(0)
    hit, seen = np.zeros(2), np.zeros(2)
    for _ in range(400):
        labels = np.repeat([0, 1, 0, 1], [150, 19, 300, 100])
        rare = 1 / (1 + np.exp(-generator.normal(np.where(labels == 1, 1.0, -2.0), 1.5)))
        p = np.column_stack([1 - rare, rare])
        sets = conformal_sets(p[169:], conformal_thresholds(p[:169], labels[:169], coverage))
        usual = _p_values(p[:169], labels[:169], p[169:]) > 1 - coverage + 1e-9
        assert (sets >= usual).all()
        inside = usual[np.arange(400), labels[169:]]
        hit += np.bincount(labels[169:], weights=inside)
        seen += np.bincount(labels[169:])
    np.testing.assert_allclose(hit / seen, coverage, atol=0.012)


def test_a_set_never_leaves_out_what_the_probability_calls_likelier():
    """At P(rare) = 0.08 a node may be unusual for a normal one; its set says both, not "rare" alone."""
    sets = conformal_sets([[0.92, 0.08], [0.4, 0.6]], [0.05, 0.95])
    np.testing.assert_array_equal(sets, [[True, True], [False, True]])


def test_bad_arguments_are_refused():
    labelled, y, others = _case()
    for coverage in (0.0, 1.0, 90):
        with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
            conformal_thresholds(labelled, y, coverage)
    with pytest.raises(InputError, match="one number per class, 3 in all"):
        conformal_sets(others, [0.5, 0.5])
    with pytest.raises(InputError, match="must lie in"):
        conformal_sets([[3.0, -2.0]], [0.5, 0.5])
