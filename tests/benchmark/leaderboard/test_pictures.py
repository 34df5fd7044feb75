"""Pictures that can be read."""

from __future__ import annotations

from itertools import combinations

import pytest

from calirare.benchmark.leaderboard.pictures import _label

Figure = pytest.importorskip("matplotlib.figure").Figure


def test_names_lie_on_no_other_name_and_on_no_disc():
    names = [f"competitor {k}" for k in range(6)]
    x, y = {name: 1 + k / 40 for k, name in enumerate(names)}, {name: 1 + k / 90 for k, name in enumerate(names)}
    figure = Figure(figsize=(7, 5), layout="constrained")
    ax = figure.add_subplot(xlim=(0.5, 1.6), ylim=(0.6, 1.4))
    discs = [ax.scatter(x[name], y[name], s=60) for name in names]
    _label(ax, names, x, y, dict.fromkeys(names, 60.0))
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == names
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.overlaps(disc.get_window_extent().padded(-0.5)) for box in boxes for disc in discs)
