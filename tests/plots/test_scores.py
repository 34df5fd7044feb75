import numpy as np
import pytest

from calirare.errors import InputError
from calirare.plots import scores


def test_frame_equals_loops(labels_and_probabilities):
    y, p = labels_and_probabilities[0], labels_and_probabilities[1][:, 1]
    table = scores.frame(y, p, num_bins=8)
    for k in range(16):
        label, left, right = int(k >= 8), table["left"][k], table["right"][k]
        members = [s for s, known in zip(p, y, strict=True) if known == label and left <= s < right]
        assert table["kind"][k] == ("rare" if label else "normal")
        assert table["count"][k] == len(members)
        assert table["share"][k] == pytest.approx(len(members) / (y == label).sum())


def test_the_picture_is_the_frame(labels_and_probabilities):
    y, p = labels_and_probabilities[0], labels_and_probabilities[1][:, 1]
    table = scores.frame(y, p)
    (ax,) = scores.plot(y, p, thresholds={"alert": 0.4}).axes
    for kind, stairs in zip(("normal", "rare"), ax.patches[1::2], strict=True):
        picked = table["kind"] == kind
        np.testing.assert_allclose(stairs.get_data().values, table["share"][picked])
        np.testing.assert_allclose(stairs.get_data().edges, np.append(table["left"][picked], 1))
        assert stairs.get_label() == f"{kind} ({table['count'][picked].sum()} nodes)"
    assert ax.get_lines()[0].get_xdata()[0] == 0.4
    assert "alert" in [text.get_text() for text in ax.texts]


def test_an_absent_class_is_left_out():
    assert np.isnan(scores.frame([0, 0], [0.1, 0.2], num_bins=2)["share"][2:]).all()
    (ax,) = scores.plot([0, 0], [0.1, 0.2]).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["normal (2 nodes)"]


def test_one_belongs_to_the_last_bin_and_logits_are_refused():
    assert scores.frame([1], [1.0], num_bins=2)["count"].tolist() == [0, 0, 0, 1]
    with pytest.raises(InputError, match="scores must lie in"):
        scores.frame([1], [3.0])
