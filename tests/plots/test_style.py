import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from calirare import plots
from calirare.errors import InputError
from calirare.plots.style import PALETTE, figure_of, line_styles, new_figure, styled


def _figure():
    return plots.scores.plot([0, 0, 1], [0.1, 0.2, 0.9])


def test_save_writes_each_format_into_a_new_folder_and_equal_figures_give_equal_bytes(tmp_path):
    def small():
        with styled():
            figure = new_figure(1, 1)
            figure.add_subplot().plot([0, 1], label="a line")  # clipped, with text
        return figure

    paths, again = (plots.save(small(), tmp_path / folder / "scores.v1") for folder in ("new", "newer"))
    assert [path.name for path in paths] == ["scores.v1.png", "scores.v1.pdf", "scores.v1.svg"]
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}
    for path in paths:
        assert path.read_bytes().startswith(starts[path.suffix[1:]])
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]


@pytest.mark.parametrize("formats", ["png", [], ["docx"]])
def test_unknown_formats_are_refused_before_anything_is_written(formats, tmp_path):
    with pytest.raises(InputError, match="formats must list one or more of 'png', 'pdf', 'svg'"):
        plots.save(_figure(), tmp_path / "x" / "figure", formats)
    assert not (tmp_path / "x").exists()


def _contrast_with_white(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 1.05 / (luminance + 0.05)


@pytest.mark.parametrize("colour", PALETTE)
def test_every_colour_is_seen_on_white(colour):
    assert _contrast_with_white(colour) > 2


def test_thirty_two_lines_all_differ():
    styles = line_styles([f"method {i}" for i in range(32)])
    assert len({tuple(style.values()) for style in styles.values()}) == 32


def test_axes_of_a_subfigure_give_the_whole_figure_and_removed_ones_are_refused():
    figure = Figure()
    ax = figure.subfigures(1, 2)[0].add_subplot()
    assert figure_of(ax, 1, 1) == (figure, ax)
    lone = Figure().add_subplot()
    lone.remove()
    with pytest.raises(InputError, match="ax must belong to a figure"):
        figure_of(lone, 1, 1)
