import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.decisions.costs import Costs
from calirare.errors import InputError
from calirare.plots import cost_curve


def test_frame_equals_loops(labels_and_probabilities):
    y, p = labels_and_probabilities[0], labels_and_probabilities[1][:, 1]
    table = cost_curve.frame(y, p, costs=Costs(miss=7, alarm=2), num_thresholds=11)
    for k, threshold in enumerate(np.linspace(0, 1, 11)):
        observed, expected = [], []
        for label, score in zip(y, p, strict=True):
            alert = score >= threshold
            observed.append(2.0 * (label == 0) if alert else 7.0 * (label == 1))
            expected.append(2 * (1 - score) if alert else 7 * score)
        assert table["observed"][k] == pytest.approx(np.mean(observed))
        assert table["expected"][k] == pytest.approx(np.mean(expected))
        half = 1.959964 * np.std(observed) / np.sqrt(len(observed))
        assert table["upper"][k] == pytest.approx(np.mean(observed) + half)
        assert table["lower"][k] == pytest.approx(max(np.mean(observed) - half, 0))


def test_prices_of_single_nodes_enter_one_by_one(labels_and_probabilities):
    y, p = labels_and_probabilities[0], labels_and_probabilities[1][:, 1]
    costs = Costs(miss=np.linspace(1, 50, p.size), alarm=np.linspace(9, 1, p.size))
    table = cost_curve.frame(y, p, costs=costs, num_thresholds=5)
    for k, threshold in enumerate(np.linspace(0, 1, 5)):
        action = np.where(p >= threshold, "alert", "clear")
        assert table["observed"][k] == pytest.approx(costs.realised(action, y).mean())
    (ax,) = cost_curve.plot(y, p, costs=costs).axes
    assert [line.get_label() for line in ax.get_lines()] == ["observed", "predicted by the probabilities"]


def test_a_score_at_the_threshold_is_alerted():
    table = cost_curve.frame([1], [0.5], costs=Costs(miss=3, alarm=1), num_thresholds=3)
    assert table["observed"].tolist() == [0, 0, 3]


@given(miss=st.floats(0.1, 100), alarm=st.floats(0.1, 100))
def test_no_threshold_beats_the_best_one_by_the_probabilities(miss, alarm):
    p, costs = np.linspace(0, 1, 101), Costs(miss, alarm)
    cost = np.where(p >= costs.thresholds().alone, (1 - p) * alarm, p * miss).mean()
    table = cost_curve.frame(None, p, costs=costs)
    assert cost <= table["expected"].min() + 1e-9


def test_the_picture_is_the_frame(labels_and_probabilities):
    y, p = labels_and_probabilities[0], labels_and_probabilities[1][:, 1]
    table = cost_curve.frame(y, p, costs=Costs(miss=9, alarm=1))
    (ax,) = cost_curve.plot(y, p, costs=Costs(miss=9, alarm=1)).axes
    observed, expected, mark = ax.get_lines()
    np.testing.assert_allclose(observed.get_ydata(), table["observed"])
    np.testing.assert_allclose(expected.get_ydata(), table["expected"])
    assert mark.get_xdata()[0] == pytest.approx(0.1)
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(table["upper"].max())


def test_without_labels_only_the_predicted_cost_is_drawn():
    table = cost_curve.frame(None, [0.2, 0.7], costs=Costs(miss=9, alarm=1))
    assert np.isnan(table["observed"]).all() and np.isfinite(table["expected"]).all()
    (ax,) = cost_curve.plot(None, [0.2, 0.7], costs=Costs(miss=9, alarm=1), thresholds={"alert": 0.3}).axes
    assert [line.get_label() for line in ax.get_lines()] == ["predicted by the probabilities", "alert: 0.3"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"costs": Costs(miss=[1.0, 2.0, 3.0])},
            "cost_miss must be a number or hold one for each of the 2 nodes; got 3",
        ),
        ({"num_thresholds": 1}, "num_thresholds must be a whole number, 2 or more"),
        ({"coverage": 1}, "coverage must lie between 0 and 1"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        cost_curve.frame([0, 1], [0.1, 0.9], **{"costs": Costs(miss=2, alarm=1), **changes})
