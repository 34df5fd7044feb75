import numpy as np
import pytest
import slow_metrics
from matplotlib.figure import Figure

from calirare.errors import InputError
from calirare.metrics import reliability_bins
from calirare.plots import reliability


def _bars(ax, label):
    (container,) = [bars for bars in ax.containers if bars.get_label() == label]
    return container.patches


@pytest.mark.parametrize(("group", "of"), [("all", "all"), ("majority", 0), ("rare", 1)])
@pytest.mark.parametrize("strategy", ["equal_width", "equal_count"])
def test_frame_equals_loops(group, of, strategy, labels_and_probabilities):
    y, probabilities = labels_and_probabilities
    table = reliability.frame(y, probabilities, groups=[group], num_bins=10, strategy=strategy)
    pairs = slow_metrics.top_label_pairs(y, probabilities)
    if of != "all":
        pairs = [pair for label, pair in zip(y, pairs, strict=True) if label == of]
    cut = slow_metrics.width_groups if strategy == "equal_width" else slow_metrics.count_groups
    for k, members in enumerate(cut(pairs, 10)):
        assert table["count"][k] == len(members)
        if members:
            assert table["confidence"][k] == pytest.approx(np.mean([pair[0] for pair in members]))
            assert table["accuracy"][k] == pytest.approx(np.mean([pair[1] for pair in members]))
        else:
            assert np.isnan(table["accuracy"][k]) and np.isnan(table["lower"][k])


def test_class_probability_speaks_of_the_group_over_all_nodes(labels_and_probabilities):
    y, probabilities = labels_and_probabilities
    for group, of in (("majority", 0), ("rare", 1)):
        table = reliability.frame(y, probabilities, groups=[group], class_probability=True)
        bins = reliability_bins(y, probabilities, of=of, class_probability=True)
        np.testing.assert_array_equal(table["count"], bins.count)
        np.testing.assert_allclose(table["accuracy"], bins.accuracy)


def test_with_many_classes_the_majority_is_the_rest():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet([1, 1, 1], size=90)
    y = generator.integers(3, size=90)
    table = reliability.frame(y, probabilities, rare_class=2, num_bins=5)
    total = {group: table["count"][table["group"] == group].sum() for group in reliability.GROUPS}
    assert total == {"all": 90, "majority": (y != 2).sum(), "rare": (y == 2).sum()}


def test_the_picture_is_the_frame(labels_and_probabilities):
    y, probabilities = labels_and_probabilities
    models = {"before": probabilities, "after": probabilities**2 / (probabilities**2).sum(axis=1, keepdims=True)}
    table = reliability.frame(y, models, num_bins=10)
    figure = reliability.plot(y, models, num_bins=10, num_resamples=3)
    diagrams, strips = figure.axes[0::2], figure.axes[1::2]
    assert len(diagrams) == len(strips) == 6
    pairs = [(model, group) for model in models for group in reliability.GROUPS]
    for (model, group), diagram, strip in zip(pairs, diagrams, strips, strict=True):
        picked = (table["model"] == model) & (table["group"] == group) & (table["count"] > 0)
        part = {name: column[picked] for name, column in table.items()}
        np.testing.assert_allclose([bar.get_height() for bar in _bars(diagram, "came true")], part["accuracy"])
        np.testing.assert_allclose([bar.get_height() for bar in strip.patches], part["count"])
        gaps = [bar for name in ("over-confident", "under-confident") for bar in _bars(diagram, name)]
        tops = sorted((bar.get_x(), bar.get_y() + bar.get_height()) for bar in gaps)
        np.testing.assert_allclose(tops, np.column_stack([part["left"], part["confidence"]]))
        over = {bar.get_x() for bar in _bars(diagram, "over-confident")}
        assert over == set(part["left"][part["confidence"] > part["accuracy"]])
        segments = np.array(diagram.collections[0].get_segments())
        np.testing.assert_allclose(segments[:, :, 1], np.column_stack([part["lower"], part["upper"]]))
        assert model in diagram.get_title(loc="left")


def test_the_title_gives_the_error_with_its_interval(labels_and_probabilities):
    y, probabilities = labels_and_probabilities
    error = reliability_bins(y, probabilities, of=1).error
    (diagram, _) = reliability.plot(y, probabilities, groups=["rare"], num_resamples=0).axes
    assert diagram.get_title(loc="left") == f"Rare\nerror {error:.3f}"
    (diagram, _) = reliability.plot(y, probabilities, groups=["rare"], num_resamples=5).axes
    assert diagram.get_title(loc="left").startswith(f"Rare\nerror {error:.3f} (")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": ["minority"]}, "groups must name one or more of .*; got 'minority'"),
        ({"groups": []}, "groups must name one or more of .*; got none"),
        ({"rare_class": 5}, "rare_class must be one of the classes 0…1; got 5"),
        ({"coverage": 0.0}, "coverage must lie between 0 and 1"),
    ],
)
def test_bad_choices_are_refused(changes, message, labels_and_probabilities):
    with pytest.raises(InputError, match=message):
        reliability.frame(*labels_and_probabilities, **changes)


def test_a_group_without_nodes_and_too_many_panels_are_refused(labels_and_probabilities):
    y, probabilities = labels_and_probabilities
    with pytest.raises(InputError, match="groups has 'rare', but no node of y is of class 1"):
        reliability.frame(np.zeros_like(y), probabilities)
    with pytest.raises(InputError, match="ax holds one diagram; got 1 models and 3 groups"):
        reliability.plot(y, probabilities, ax=Figure().add_subplot())
    with pytest.raises(InputError, match="at least one model"):
        reliability.frame(y, {})


def test_the_legend_shows_every_kind_of_bar_even_where_the_first_diagram_lacks_one():
    y = np.array([1, 1, 1, 0] * 25)
    under = np.tile([0.4, 0.6], (100, 1))  # right in 75% of the cases, sure of 60%
    over = np.tile([0.05, 0.95], (100, 1))
    figure = reliability.plot(y, {"under": under, "over": over}, groups=["all"], num_resamples=0)
    patches = figure.legends[0].get_patches()
    assert [bool(patch.get_hatch()) for patch in patches] == [False, True, True]
