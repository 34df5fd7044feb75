"""How every figure looks, and how it is stored: the one place for colours and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calirare.data.storage.archive import write_atomically
from calirare.errors import InputError, optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart with any colour vision, and in print.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, BLACK, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#1A1A1A",
    "#B8A800",  # darker than theirs, whose yellow vanishes on white
)
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
RARE, NORMAL, UNKNOWN_LABEL, GUIDE, FAINT = VERMILION, BLUE, "#9A9A9A", "#5F5F5F", "#E3E3E3"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")

_RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib, so figures do not depend on the machine
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GUIDE,
    "axes.linewidth": 0.8,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.6,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "path",  # and looks alike where the font is missing
    "svg.hashsalt": "calirare",  # same figure, same bytes
}
_NO_DATE: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


@contextmanager
def styled() -> Iterator[None]:
    """Draw inside this: the shared look, without touching the user's own settings."""
    with optional("matplotlib", "plots").rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches; it lays itself out, and no window or global list holds on to it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def figure_of(ax: Axes | None, width: float, height: float) -> tuple[Figure, Axes]:
    """The user's axes with its figure, or one axes in a new figure."""
    if ax is None:
        figure = new_figure(width, height)
        return figure, figure.add_subplot()
    if ax.figure is None:
        raise InputError("ax must belong to a figure; it was removed from its own.")
    root: Any = ax.figure.figure  # of a subfigure: the figure that holds it
    return root, ax


def line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A colour, a marker and a dash for each name: up to 32 lines differ in more than colour.

    >>> styles = line_styles(["a", "b"])
    >>> styles["a"]["color"] != styles["b"]["color"], styles["a"]["marker"] != styles["b"]["marker"]
    (True, True)
    """
    size = len(PALETTE)
    markers = islice(cycle(MARKERS), len(names))
    return {
        name: {"color": PALETTE[i % size], "marker": marker, "linestyle": DASHES[(i // size) % len(DASHES)]}
        for i, (name, marker) in enumerate(zip(names, markers, strict=True))
    }


def save(figure: Figure, path_without_suffix: str | Path, formats: Sequence[str] = ("png", "pdf", "svg")) -> list[Path]:
    """Write the figure once per format and give the paths; folders are made, and equal figures give equal bytes."""
    if isinstance(formats, str) or not formats:
        raise InputError(f"formats must list one or more of 'png', 'pdf', 'svg'; got {formats!r}.")
    stem = Path(path_without_suffix)
    known: Mapping[str, str] = figure.canvas.get_supported_filetypes()
    for name in formats:
        if name not in known:
            raise InputError(f"formats must list one or more of 'png', 'pdf', 'svg'; got {name!r}.")
    paths = [stem.with_name(f"{stem.name}.{name}") for name in formats]
    with styled():
        for path, name in zip(paths, formats, strict=True):
            with write_atomically(path) as stream:
                figure.savefig(stream, format=name, metadata=_NO_DATE.get(name))
    return paths
