"""Active review loop: review the queue, refit with the answers, review again.

A simulated reviewer answers what triage asks. Beside it: the same number of reviews spent on accounts drawn at random.

python examples/06_review_loop.py --out pictures
"""

import argparse
from pathlib import Path

import numpy as np

import calirare as cr
from calirare.data.arrays import UNKNOWN
from calirare.metrics import average_precision, negative_log_likelihood
from calirare.plots.style import BLUE, GUIDE, VERMILION, new_figure, styled

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
parser.add_argument("--nodes", type=int, default=3_000)
parser.add_argument("--detector", default="linear", help="quick to refit; `auto` chooses")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--reviews", type=int, default=60, help="reviews in each round")
args = parser.parse_args()

graph = cr.make_transactions(num_nodes=args.nodes, labelled_share=0.1, seed=0)
answers = graph.original_y  # what a reviewer would find
rng = np.random.default_rng(0)
open_nodes = np.setdiff1d(np.arange(graph.num_nodes), graph.known)
test = np.sort(rng.choice(open_nodes, open_nodes.size // 3, replace=False))  # never asked, only judged
open_nodes = np.setdiff1d(open_nodes, test)
# Reviewed cases are no random draw, so they must not move the share of fraud: keep that of the first, random labels.
rare_share = graph.rare_share


def refit(y: np.ndarray) -> cr.RareCategoryClassifier:
    return cr.RareCategoryClassifier(args.detector, rare_share=rare_share, seed=0).fit(graph.with_labels(y))


def by_triage(clf: cr.RareCategoryClassifier, asked: np.ndarray) -> np.ndarray:
    queue = cr.triage(clf, graph, cost_miss=50, cost_alarm=5, cost_review=1, budget=args.reviews, nodes=asked)
    return queue.node[queue.action == "review"]


def at_random(clf: cr.RareCategoryClassifier, asked: np.ndarray) -> np.ndarray:
    return rng.choice(asked, min(args.reviews, asked.size), replace=False)


history = {}
for name, choose in (("triage", by_triage), ("at random", at_random)):
    y, found = graph.y.copy(), []
    for turn in range(args.rounds + 1):
        clf = refit(y)
        p = clf.predict_proba(graph)[test]
        fraud = int((y[open_nodes] == 1).sum())
        found.append((negative_log_likelihood(answers[test], p), average_precision(answers[test] == 1, p[:, 1]), fraud))
        numbers = f"NLL {found[-1][0]:.3f}, average precision {found[-1][1]:.3f}, fraud found {fraud}"
        print(f"{name:9s} after {turn * args.reviews:3d} reviews: {numbers}")
        chosen = choose(clf, open_nodes[y[open_nodes] == UNKNOWN])
        y[chosen] = answers[chosen]
    history[name] = np.array(found)

reviews = np.arange(args.rounds + 1) * args.reviews
with styled():
    figure = new_figure(9.0, 2.9)
    panels = figure.subplots(1, 3)
    titles = ("NLL on the test accounts", "average precision on them", "fraud found by the reviews")
    panels[2].axhline((answers[open_nodes] == 1).sum(), color=GUIDE, linestyle=":", label="all there is")
    for k, (ax, title) in enumerate(zip(panels, titles, strict=True)):
        for name, colour, marker in (("triage", VERMILION, "o"), ("at random", BLUE, "s")):
            ax.plot(reviews, history[name][:, k], color=colour, marker=marker, label=name)
        ax.set_title(title, loc="left")
        ax.set_ylim(0, 1.12 * ax.dataLim.ymax)
        ax.set_xlabel("reviews")
        ax.grid(axis="y")
    panels[2].legend(loc="upper left", bbox_to_anchor=(0.0, 0.92))
print(cr.plots.save(figure, args.out / "06_review_loop", formats=["png"])[0])
