"""Pictures that can be read."""

from __future__ import annotations

from itertools import combinations
from math import hypot

import pytest

from calirare.benchmark.leaderboard.pictures import _label

Figure = pytest.importorskip("matplotlib.figure").Figure
AREA = 60.0


def test_names_lie_on_no_other_name_and_on_no_disc():
    names = [f"competitor {k}" for k in range(6)]
    x, y = {name: 1 + k / 40 for k, name in enumerate(names)}, {name: 1 + k / 90 for k, name in enumerate(names)}
    figure = Figure(figsize=(7, 5), layout="constrained")
    ax = figure.add_subplot(xlim=(0.5, 1.6), ylim=(0.6, 1.4))
    _label(ax, names, x, y, dict.fromkeys(names, AREA))
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == names
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    radius = AREA**0.5 / 2 * figure.dpi / 72
    for across, down in (ax.transData.transform((x[name], y[name])) for name in names):
        nearest = [(min(max(across, box.x0), box.x1), min(max(down, box.y0), box.y1)) for box in boxes]
        assert min(hypot(across - a, down - b) for a, b in nearest) >= radius
