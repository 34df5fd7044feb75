"""Time: train on what was known at a moment, test on what came later, and see what looking ahead would have promised.

python examples/09_as_of.py --out pictures
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import calirare as cr

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
parser.add_argument("--nodes", type=int, default=4_000)
parser.add_argument("--detector", default="auto", help="`linear` is quicker")
args = parser.parse_args()

# Payments have a time. An account comes with its first payment; `--time opened` on a column of the nodes says it otherwise.
graph = cr.make_transactions(num_nodes=args.nodes, labelled_share=0.5, rare_share=0.1, seed=0)
split = cr.split_labels(graph, by_time="time", train_fraction=0.6)
moment = float(np.nanmax(graph.first_seen("time")[split.train]))
then = graph.as_of(moment)
print(f"{split.train.size} labels until {datetime.fromtimestamp(moment, UTC):%d %B %Y}, {split.test.size} later ones")
print(f"{then.edges and len(then.edges):,} of {len(graph.edges):,} payments were made by then")


def precision(clf: cr.RareCategoryClassifier, seen: cr.RareGraph) -> float:
    """Average precision on the accounts that came later."""
    p = clf.predict_proba(seen)[split.test, clf.rare_class_]
    return float(average_precision_score(graph.y[split.test] == graph.rare_class, p))


# Fitted on what was there at the moment; later accounts are scored when their payments have come.
honest = cr.RareCategoryClassifier(args.detector, seed=0).fit(then, split)
ahead = cr.RareCategoryClassifier(args.detector, seed=0).fit(graph, split)
print(f"fitted as of that day, average precision on later accounts: {precision(honest, graph):.3f}")
print(f"fitted on payments that had not been made yet:              {precision(ahead, graph):.3f}")
print(f"later accounts as they stood on that day:                   {precision(honest, then):.3f}")

p = honest.predict_proba(graph)[split.test, honest.rare_class_]
figure = cr.plots.scores.plot(graph.y[split.test] == graph.rare_class, p, num_bins=25)
print(cr.plots.save(figure, args.out / "09_as_of", formats=["png"])[0])
