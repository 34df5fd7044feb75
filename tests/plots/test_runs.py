"""The two figures over tables of runs: sensitivity and label curve."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import t

from calirare.errors import ColumnError, InputError
from calirare.plots import label_curve, sensitivity
from calirare.plots.tables import columns


def _slow_means(runs, keys, value):
    groups = {}
    for row in runs:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row[value])
    result = {}
    for key, values in groups.items():
        low, high = t.interval(0.95, len(values) - 1, np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values)))
        result[key] = (np.mean(values), low, high, len(values))
    return result


def _rows(table, keys):
    numbers = zip(table["mean"], table["lower"], table["upper"], table["num_runs"], strict=True)
    return dict(zip(zip(*(table[key].tolist() for key in keys), strict=True), numbers, strict=True))


def test_label_curve_frame_equals_loops(runs):
    keys = ["dataset", "method", "labels_per_class"]
    found, expected = _rows(label_curve.frame(runs), keys), _slow_means(runs, keys, "negative_log_likelihood")
    assert list(found) == sorted(expected)
    for key, numbers in expected.items():
        assert found[key] == pytest.approx(numbers)


def test_sensitivity_frame_equals_loops(sensitivity_runs):
    keys = ["trade_off", "coverage"]
    found, expected = (
        _rows(sensitivity.frame(sensitivity_runs), keys),
        _slow_means(sensitivity_runs, keys, "macro_true_class_ace"),
    )
    assert list(found) == sorted(expected)
    for key, numbers in expected.items():
        assert found[key] == pytest.approx(numbers)


def test_columns_and_rows_are_the_same_table(sensitivity_runs):
    by_column = {name: [row[name] for row in sensitivity_runs] for name in sensitivity_runs[0]}
    one, other = sensitivity.frame(sensitivity_runs), sensitivity.frame(by_column)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_single_run_has_no_band():
    table = sensitivity.frame([{"coverage": 0.9, "trade_off": 0.1, "macro_true_class_ace": 0.2}])
    assert table["mean"].tolist() == [0.2] and np.isnan(table["lower"]).all() and np.isnan(table["upper"]).all()


def _held(ax, table, names, key, x):
    bands = list(ax.collections)
    for line, band, name in zip(ax.get_lines(), bands, names, strict=True):
        picked = table[key] == name
        np.testing.assert_allclose(line.get_xdata(), table[x][picked])
        np.testing.assert_allclose(line.get_ydata(), table["mean"][picked])
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(table["lower"][picked].min())
        assert heights.max() == pytest.approx(table["upper"][picked].max())


def test_sensitivity_picture_is_the_frame(sensitivity_runs):
    (ax,) = sensitivity.plot(sensitivity_runs).axes
    table = sensitivity.frame(sensitivity_runs)
    _held(ax, table, [0.1, 0.4], "trade_off", "coverage")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0.1", "0.4"]


def test_label_curve_picture_is_the_frame(runs):
    table = label_curve.frame(runs)
    figure = label_curve.plot(runs, highlight=["jackknife"])
    methods = ["jackknife", "temperature", "uncalibrated"]
    for ax, dataset in zip(figure.axes, ("cora", "dblp"), strict=True):
        picked = table["dataset"] == dataset
        _held(ax, {name: column[picked] for name, column in table.items()}, methods, "method", "labels_per_class")
        assert ax.get_title(loc="left") == dataset
        widths = [line.get_linewidth() for line in ax.get_lines()]
        assert widths[0] > widths[1] == widths[2]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == methods


def test_bad_tables_are_refused(runs):
    with pytest.raises(
        ColumnError, match="must have a column 'macro_true_class_ace'; did you mean 'macro_true_class_ac'"
    ):
        sensitivity.frame([{"coverage": 0.9, "trade_off": 0.1, "macro_true_class_ac": 0.2}])
    with pytest.raises(InputError, match="one value in each column"):
        columns({"a": [1, 2], "b": [1]}, ["a", "b"])
    with pytest.raises(InputError):
        sensitivity.frame([])
    with pytest.raises(InputError, match="highlight must name methods of the table"):
        label_curve.plot(runs, highlight=["magic"])
    with pytest.raises(InputError, match="ax holds one dataset; got 2"):
        label_curve.plot(runs, ax=Figure().add_subplot())
    with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
        label_curve.frame(runs, coverage=2)
