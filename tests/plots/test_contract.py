"""What holds for every figure: a frame of columns, one Figure, nothing cut off, the user's settings left alone."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from calirare import plots
from calirare.decisions.costs import Costs
from calirare.errors import MissingDependencyError

FIGURES = [name for name in plots.__all__ if name != "save"]


@pytest.fixture
def arguments(labels_and_probabilities, small_graph, runs, sensitivity_runs):
    """How each figure is called in its largest form, and for a single pair of axes."""
    y, probabilities = labels_and_probabilities
    p = probabilities[:, 1]
    models = {"uncalibrated": probabilities, "jackknife": probabilities[:, ::-1]}
    costs = {"costs": Costs(miss=10, alarm=2)}
    one_dataset = [row for row in runs if row["dataset"] == "cora"]
    few = {"num_resamples": 5}
    bounds = (p, np.maximum(p - 0.1, 0), np.minimum(p + 0.2, 1))
    return {
        "reliability": (((y, models), few), ((y, probabilities), few | {"groups": ["rare"]})),
        "network": (((small_graph,), {}),) * 2,
        "sensitivity": (((sensitivity_runs,), {}),) * 2,
        "label_curve": (((runs,), {"highlight": ["jackknife"]}), ((one_dataset,), {})),
        "scores": (((y, p), {"thresholds": {"alert": 0.4, "clear": 0.05}}),) * 2,
        "cost_curve": (((y, p), costs),) * 2,
        "intervals": ((bounds, {"y_rare": y, "threshold": 0.5}),) * 2,
    }


def _texts_outside(figure):
    figure.draw_without_rendering()
    page = figure.bbox.padded(1)
    texts = set(figure.findobj(Text)) - {label for ax in figure.axes for label in _tick_labels_beyond(ax)}
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_visible() and text.get_text()]
    return [
        words
        for words, box in boxes
        if not (page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1)
    ]


def _tick_labels_beyond(ax):
    """Labels of ticks outside the limits of their axis: they exist, but are never drawn."""
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                yield from (tick.label1, tick.label2)


@pytest.mark.parametrize("name", FIGURES)
def test_frame_has_equal_columns(name, arguments):
    positional, named = arguments[name][0]
    names = set(getattr(plots, name).frame.__kwdefaults__ or {}) | {"costs"}
    table = getattr(plots, name).frame(*positional, **{key: named[key] for key in named if key in names})
    assert len({column.shape for column in table.values()}) == 1
    assert all(isinstance(column, np.ndarray) and column.ndim == 1 for column in table.values())


@pytest.mark.parametrize(
    ("name", "form"), [*((name, 0) for name in FIGURES), *((name, 1) for name in ("reliability", "label_curve"))]
)
def test_nothing_is_cut_off_and_settings_of_the_user_stay(name, form, arguments):
    before = dict(matplotlib.rcParams)
    positional, named = arguments[name][form]
    figure = getattr(plots, name).plot(*positional, **named)
    assert isinstance(figure, Figure)
    assert dict(matplotlib.rcParams) == before
    assert _texts_outside(figure) == []


@pytest.mark.parametrize("name", FIGURES)
def test_draws_into_the_axes_it_is_given(name, arguments):
    positional, named = arguments[name][1]
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert getattr(plots, name).plot(*positional, **named, ax=right) is figure
    assert right.has_data() and not left.has_data()
    assert len(figure.axes) == 2


@pytest.mark.parametrize("name", FIGURES)
def test_without_matplotlib_frames_work_and_plots_say_what_to_install(name, arguments, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    positional, named = arguments[name][1]
    with pytest.raises(MissingDependencyError, match=r"pip install 'calirare\[plots\]'"):
        getattr(plots, name).plot(*positional, **named)
