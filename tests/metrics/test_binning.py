import numpy as np
import pytest
import slow_metrics
from metric_cases import cases

from calirare.errors import InputError
from calirare.metrics import equal_count_bins, equal_width_bins, reliability_bins

CASES = cases()


def _pairs(y, probabilities, of, class_probability):
    if class_probability:
        return slow_metrics.class_pairs(y, probabilities, of)
    pairs = slow_metrics.top_label_pairs(y, probabilities)
    return pairs if of == "all" else [pair for label, pair in zip(y, pairs, strict=True) if label == of]


@pytest.mark.parametrize("strategy", ["equal_width", "equal_count"])
@pytest.mark.parametrize(("of", "class_probability"), [("all", False), (1, False), (1, True)])
def test_reliability_bins_equal_loops(of, class_probability, strategy):
    for y, probabilities in CASES.values():
        _hold_to_loops(y, probabilities, of, class_probability, strategy)


def _hold_to_loops(y, probabilities, of, class_probability, strategy):
    bins = reliability_bins(y, probabilities, num_bins=8, of=of, strategy=strategy, class_probability=class_probability)
    cut = slow_metrics.width_groups if strategy == "equal_width" else slow_metrics.count_groups
    groups = cut(_pairs(y, probabilities, of, class_probability), 8)
    assert bins.count.tolist() == [len(group) for group in groups]
    for k, group in enumerate(groups):
        confidence = np.mean([pair[0] for pair in group]) if group else np.nan
        accuracy = np.mean([pair[1] for pair in group]) if group else np.nan
        assert bins.confidence[k] == pytest.approx(confidence, abs=1e-12, nan_ok=True)
        assert bins.accuracy[k] == pytest.approx(accuracy, abs=1e-12, nan_ok=True)
        if group:
            assert bins.lower[k] - 1e-12 <= confidence <= bins.upper[k] + 1e-12
    assert bins.error == pytest.approx(slow_metrics.weighted_gap(groups), abs=1e-12, nan_ok=True)


def test_edges_belong_to_the_bin_on_their_right_and_one_to_the_last():
    bins = equal_width_bins(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.ones(5), 4)
    assert bins.count.tolist() == [1, 1, 1, 2]
    np.testing.assert_allclose(bins.lower, [0, 0.25, 0.5, 0.75])


def test_equal_count_sizes_differ_by_one_at_most():
    bins = equal_count_bins(np.random.default_rng(0).random(103), np.ones(103), 20)
    assert sorted(set(bins.count)) == [5, 6]
    assert (bins.lower[1:] > bins.upper[:-1]).all()


def test_a_tie_across_a_cut_is_shared_whatever_the_order():
    confidence = np.array([0.5, 0.5, 0.5, 0.5])
    assert equal_count_bins(confidence, np.array([1.0, 1, 0, 0]), 2).accuracy.tolist() == [0.5, 0.5]


def test_gap_is_negative_where_over_confident():
    assert equal_width_bins(np.array([0.9]), np.array([0.0]), 1).gap.tolist() == [-0.9]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of": "rare"}, "of must be 'all' or a class 0…1; got 'rare'"),
        ({"of": 2}, "of must be one of the classes 0…1; got 2"),
        ({"strategy": "quantile"}, "strategy must be 'equal_width' or 'equal_count'; got 'quantile'"),
        ({"class_probability": True}, "needs the class whose probability is meant"),
    ],
)
def test_bad_choices_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        reliability_bins([0, 1], np.eye(2), **changes)
