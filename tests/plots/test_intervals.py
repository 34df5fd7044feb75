import numpy as np
import pytest

from calirare.errors import InputError
from calirare.plots import intervals


def _input():
    generator = np.random.default_rng(0)
    scores = generator.random(50)
    return scores, scores - 0.1, scores + 0.3, generator.choice([-1, 0, 1], size=50)


def test_frame_is_the_top_sorted():
    scores, lower, upper, y = _input()
    table = intervals.frame(scores, lower, upper, y_rare=y, node_ids=[f"n{i}" for i in range(50)], num_nodes=10)
    expected = sorted(zip(scores, lower, upper, [f"n{i}" for i in range(50)], y, strict=True), reverse=True)[:10]
    assert table["score"].tolist() == [row[0] for row in expected]
    assert table["lower"].tolist() == [row[1] for row in expected]
    assert table["upper"].tolist() == [row[2] for row in expected]
    assert table["node"].tolist() == [row[3] for row in expected]
    assert table["kind"].tolist() == [{1: "rare", 0: "normal", -1: "unknown"}[row[4]] for row in expected]


def test_the_picture_is_the_frame():
    scores, lower, upper, y = _input()
    table = intervals.frame(scores, lower, upper, y_rare=y, num_nodes=20)
    (ax,) = intervals.plot(scores, lower, upper, y_rare=y, num_nodes=20, threshold=0.5).axes
    kinds = [kind for kind in ("rare", "normal", "unknown") if kind in table["kind"]]
    for kind, dots, lines in zip(kinds, ax.get_lines(), ax.collections, strict=False):
        picked = table["kind"] == kind
        np.testing.assert_allclose(dots.get_xdata(), table["score"][picked])
        np.testing.assert_allclose(dots.get_ydata(), np.flatnonzero(picked))
        ends = np.array(lines.get_segments())[:, :, 0]
        np.testing.assert_allclose(ends, np.column_stack([table["lower"], table["upper"]])[picked])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [str(node) for node in table["node"]]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the highest on top


def test_intervals_beyond_zero_and_one_stay_in_sight():
    (ax,) = intervals.plot([0.9], [-0.3], [1.4]).axes
    assert ax.get_xlim()[0] < -0.3 and ax.get_xlim()[1] > 1.4


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="lower must hold one value for each of the 2 nodes; got shape"):
        intervals.frame([0.1, 0.2], [0.1], [0.2, 0.3])
    with pytest.raises(InputError, match="lower no higher than upper"):
        intervals.frame([0.1], [0.3], [0.2])
    with pytest.raises(InputError, match="num_nodes must be a whole number"):
        intervals.frame([0.1], [0.0], [0.2], num_nodes=0)
