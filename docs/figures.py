"""Draw every figure of the documentation; `docs/screenshots.py` makes the screenshots.

python docs/figures.py                  # all of them, a few minutes; 08 needs the graph Cora
python docs/figures.py costs left_out   # some of them
python docs/figures.py 01_quick_start   # the picture of an example
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import calirare as cr
from calirare.calibration import PlattScaling
from calirare.decisions.costs import Costs
from calirare.detectors import DetectorInputs
from calirare.metrics import negative_log_likelihood
from calirare.plots.style import BLUE, GREEN, GUIDE, NORMAL, ORANGE, RARE, VERMILION, new_figure, styled
from calirare.uncertainty.jackknife import residuals_of

HERE = Path(__file__).parent
IMAGES = HERE / "images"
EXAMPLES = HERE.parent / "examples"


def network(
    num_features: int = 12, labelled_share: float = 0.2
) -> tuple[cr.RareGraph, cr.RareCategoryClassifier, np.ndarray]:
    """The generated network of the examples, the fitted model, and the accounts without a label."""
    graph = cr.make_transactions(5_000, num_features=num_features, labelled_share=labelled_share, seed=0)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(weight_decay=5e-3), seed=0).fit(graph)
    return graph, clf, np.setdiff1d(np.arange(graph.num_nodes), graph.known)


def costs() -> Any:
    """Expected cost of the three calls by P(rare)."""
    p, prices = np.linspace(0, 1, 401), Costs()
    lines, limits = prices.expected(p), prices.thresholds()
    figure = new_figure(7.6, 3.0)
    left, right = figure.subplots(1, 2)
    for ax, wide, high in ((left, 1.0, 8.0), (right, 0.15, 5.6)):
        for name, colour in (("clear", BLUE), ("review", ORANGE), ("alert", VERMILION)):
            ax.plot(p, lines[name], color=colour, label=name)
        ax.set(xlim=(0, wide), ylim=(0, high), xlabel="P(rare)", ylabel="expected cost")
        ax.grid(axis="y")
    for ax, at, high, words in (
        (left, limits.alert, 2.2, f"alert\nfrom {limits.alert:g} on"),
        (right, limits.review, 0.35, f"review from {limits.review:g} on"),
        (right, limits.alone, 3.4, f"with no reviews to give:\nalert from {limits.alone:.3f} on"),
    ):
        ax.axvline(at, color=GUIDE, linestyle=":", linewidth=1)
        ax.annotate(words, (at, high), xytext=(4, 0), textcoords="offset points", fontsize=8, color=GUIDE)
    left.legend(loc="upper center", bbox_to_anchor=(0.55, 1.0))
    return figure


def perfect() -> Any:
    """What the paper's diagram and ours show of perfect probabilities."""
    graph = cr.make_transactions(num_nodes=20_000, seed=0)
    truth = np.column_stack([1 - graph.true_probability, graph.true_probability])
    figure = new_figure(8.4, 3.0)
    left, middle, right = figure.subplots(1, 3)
    for ax, group, by_class in ((left, "majority", False), (middle, "rare", False), (right, "rare", True)):
        cr.plots.reliability.plot(graph.y, truth, groups=[group], num_bins=10, class_probability=by_class, ax=ax)
        ax.set_xlabel("P(rare), all nodes" if by_class else f"confidence, nodes that are {group}")
        ax.get_legend().remove()
    left.set_ylabel("accuracy")
    right.set_ylabel("observed share")
    return figure


def left_out() -> Any:
    """Labels as fitted and left out, and the calibration map that each teaches."""
    graph, clf, unseen = network(num_features=60, labelled_share=0.1)  # many columns, few labels: easy to memorise
    logits = clf.detector_.logits(DetectorInputs(graph))
    fitted, honest = logits[clf.labelled_nodes_], clf.detector_.left_out_logits()
    y, rare = clf.labelled_y_, clf.labelled_y_ == 1
    figure = new_figure(8.2, 3.2)
    left, right = figure.subplots(1, 2)
    z, w = (table[:, 1] - table[:, 0] for table in (fitted, honest))
    left.axline((0, 0), slope=1, color=GUIDE, linestyle="--", linewidth=1)
    left.plot(z[~rare], w[~rare], "o", color=NORMAL, markersize=2.5, alpha=0.4, label="normal")
    left.plot(z[rare], w[rare], "D", color=RARE, markersize=4, label="fraud")
    left.set(xlabel="logit with its own label", ylabel="logit without it")
    left.legend(loc="upper left")
    grid = np.linspace(-4, 6, 200)
    steps = np.column_stack([np.zeros_like(grid), grid])
    maps = {
        "learned from fitted logits": (fitted, BLUE, "--"),
        "learned from left-out logits": (honest, VERMILION, "-"),
    }
    test = logits[unseen]
    for name, (evidence, colour, dash) in maps.items():
        platt = PlattScaling().fit(evidence, y)
        loss = negative_log_likelihood(graph.original_y[unseen], platt.predict_proba(test))
        right.plot(
            grid, platt.predict_proba(steps)[:, 1], color=colour, linestyle=dash, label=f"{name}: NLL {loss:.3f}"
        )
    score = test[:, 1] - test[:, 0]
    for part in np.array_split(np.argsort(score), 25):
        right.plot(score[part].mean(), graph.true_probability[unseen][part].mean(), "o", color=GREEN, markersize=4)
    right.plot([], [], "o", color=GREEN, label="mean true P(fraud) of unlabelled accounts")
    right.set(xlabel="logit of the trained network", ylabel="P(fraud)", xlim=(-4, 6), ylim=(0, 1.02))
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=7)
    return figure


def ice() -> Any:
    """Why ICE is near zero, and what orders the real errors better."""
    graph, clf, unseen = network()
    p = clf.predict_proba(graph)[:, 1]
    rows, table = clf.left_out_table(graph)
    residuals = residuals_of(clf.predict_left_out(), clf.labelled_y_, rows, 1)
    node = unseen[np.argmin(np.abs(p[unseen] - 0.4))]
    figure = new_figure(8.4, 3.0)
    left, middle, right = figure.subplots(1, 3)
    for sign, colour, words in ((-1, BLUE, "without label i, less its error"), (1, VERMILION, "… plus its error")):
        values = table[node] + sign * residuals
        level = 0.05 if sign < 0 else 0.95
        left.hist(values, bins=np.linspace(-0.7, 1.5, 56), color=colour, alpha=0.5, label=words)
        left.axvline(np.quantile(values, level), color=colour, linewidth=1.4)
    left.axvline(p[node], color=GUIDE, linestyle="--", linewidth=1.2)
    left.set(yscale="log", xlabel="P(fraud) of one account", ylabel="labels")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=7)
    error = np.abs(p - graph.true_probability)[unseen]
    for ax, values, words in (
        (middle, clf.individual_calibration_error(graph)[unseen], "ICE"),
        (right, clf.predict_deviation(graph)[unseen], "jackknife standard error"),
    ):
        ax.plot(values, error, "o", color=BLUE, markersize=1.5, alpha=0.3)
        top = float(np.quantile(values, 0.999))
        ax.plot([0, top], [0, top], color=GUIDE, linestyle="--", linewidth=1)
        ax.set(xlabel=words, xlim=(0, top), ylim=(0, None))
        ax.locator_params(axis="x", nbins=4)
    middle.set_ylabel("real error |P − true P|")
    return figure


def draw_example(name: str) -> Path:
    """Run an example and keep its picture."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py"), "--out", folder], check=True)
        return Path(shutil.copyfile(Path(folder) / f"{name}.png", IMAGES / f"{name}.png"))


FIGURES = {"costs": costs, "perfect": perfect, "left_out": left_out, "ice": ice}


def main() -> None:
    names = sys.argv[1:] or [*FIGURES, *sorted(path.stem for path in EXAMPLES.glob("[0-9]*.py"))]
    for name in names:
        if name in FIGURES:
            with styled():
                figure = FIGURES[name]()
            print(cr.plots.save(figure, IMAGES / name, formats=["png"])[0])
        else:
            print(draw_example(name))


if __name__ == "__main__":
    main()
