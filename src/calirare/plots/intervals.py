"""The nodes most likely rare, each with the interval around its probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.checks import check_count
from calirare.errors import InputError
from calirare.plots.style import GUIDE, NORMAL, RARE, UNKNOWN_LABEL, figure_of, styled
from calirare.plots.tables import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"rare": RARE, "normal": NORMAL, "unknown": UNKNOWN_LABEL}


def frame(
    scores: Any, lower: Any, upper: Any, *, y_rare: Any = None, node_ids: Any = None, num_nodes: int = 30
) -> Frame:
    """The `num_nodes` highest P(rare), highest first: `node`, `score`, `lower`, `upper`, `kind`.

    Args:
        scores: `(n,)` P(rare).
        lower, upper: `(n,)` ends of the intervals of P(rare).
        y_rare: `(n,)` 1 rare, 0 normal, −1 unknown; default: all unknown.
        node_ids: `(n,)` names of the nodes; default 0…n−1.
        num_nodes: How many.

    >>> table = frame([0.2, 0.9], [0.1, 0.7], [0.3, 1.0], num_nodes=1)
    >>> table["node"], table["lower"]
    (array([1]), array([0.7]))
    """
    values = {"score": scores, "lower": lower, "upper": upper}
    table: Frame = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    size = table["score"].size
    table["node"] = np.arange(size) if node_ids is None else np.asarray(node_ids)
    labels = np.full(size, -1) if y_rare is None else np.asarray(y_rare).astype(np.int64)
    table["kind"] = np.select([labels == 1, labels == 0], ["rare", "normal"], "unknown")
    for name, column in table.items():
        if column.shape != (size,) or size == 0:
            raise InputError(f"{name} must hold one value for each of the {size} nodes; got shape {column.shape}.")
    if not all(np.isfinite(table[name]).all() for name in values) or (table["lower"] > table["upper"]).any():
        raise InputError("scores, lower and upper must be finite, and lower no higher than upper.")
    top = np.argsort(-table["score"], kind="stable")[: check_count(num_nodes, "num_nodes")]
    return {name: table[name][top] for name in ("node", "score", "lower", "upper", "kind")}


def plot(
    scores: Any,
    lower: Any,
    upper: Any,
    *,
    y_rare: Any = None,
    node_ids: Any = None,
    num_nodes: int = 30,
    threshold: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A row for each node: a dot for P(rare), a line for its interval, coloured by label. See `frame`.

    `threshold` draws the line above which nodes are alerted.
    """
    table = frame(scores, lower, upper, y_rare=y_rare, node_ids=node_ids, num_nodes=num_nodes)
    count = table["score"].size
    row = np.arange(count)
    with styled():
        figure, ax = figure_of(ax, 4.6, 0.9 + 0.17 * count)
        for kind, colour in _COLOURS.items():
            picked = table["kind"] == kind
            if picked.any():
                ax.hlines(row[picked], table["lower"][picked], table["upper"][picked], color=colour, linewidth=1.6)
                marker = "D" if kind == "rare" else "o"
                ax.plot(table["score"][picked], row[picked], marker, color=colour, label=kind, markersize=4.5)
        if threshold is not None:
            ax.axvline(threshold, color=GUIDE, linewidth=1, linestyle="--", label=f"threshold {threshold:.3g}")
        low, high = min(0.0, float(table["lower"].min())), max(1.0, float(table["upper"].max()))
        ax.set(xlabel="P(rare)", ylabel="node", xlim=(low - 0.02, high + 0.02), ylim=(count - 0.4, -0.6))
        ax.set_yticks(row, [str(node) for node in table["node"]])
        ax.grid(axis="x")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, columnspacing=1.2)
    return figure
