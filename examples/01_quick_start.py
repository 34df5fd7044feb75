"""Quick start: from a graph to a calibrated P(rare), an interval, a reason and a decision for every node.

python examples/01_quick_start.py --out pictures
"""

import argparse
from pathlib import Path

import calirare as cr

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
parser.add_argument("--nodes", type=int, default=5_000)
parser.add_argument("--detector", default="auto", help="`linear` is quicker")
args = parser.parse_args()

# A generated network of accounts that pay each other. A fifth of them have been investigated; 5% are fraud.
graph = cr.make_transactions(num_nodes=args.nodes, labelled_share=0.2, seed=0)

# Fits several detectors, weighs them by what they say of labels that they did not see, and calibrates on the same.
clf = cr.RareCategoryClassifier(args.detector, seed=0).fit(graph)
print({name: round(weight, 2) for name, weight in clf.weights_.items()})
p = clf.predict_proba(graph)[:, clf.rare_class_]
print(f"{graph.num_nodes} accounts, {graph.known.size} labelled; {p.sum():.0f} expected to be fraud")

queue = cr.triage(clf, graph, cost_miss=50, cost_alarm=5, cost_review=1, budget=100)
print(queue)
first = {name: queue.take(queue.action == name).take(slice(1)) for name in ("alert", "review", "clear")}
for row in (row for part in first.values() for row in part):
    print(f"{row['id']}: {row['action']}. {row['reason']}")

# Which columns made the probability of the account to look at, as shares of its logit, and which labels pull it?
why = clf.explain(graph, int(first["review"].node[0]))
for column, share in zip(why.column[:3], why.share[:3], strict=True):
    print(f"    {column}: {share:+.2f}")
for node, label, pull in zip(why.labelled_node[:3], why.label[:3], why.pull[:3], strict=True):
    print(f"    {graph.ids[node]} ({graph.class_names[label]}): {pull:+.3f}")

# Every twelfth of the 360 most probable. The generator knows the truth of accounts without a label; colours show it.
shown = queue.take((-queue.probability).argsort(kind="stable")[:360:12])
figure = cr.plots.intervals.plot(
    shown.probability,
    shown.lower,
    shown.upper,
    y_rare=graph.original_y[shown.node],
    node_ids=shown.id,
    threshold=queue.costs.thresholds().alone,
)
print(cr.plots.save(figure, args.out / "01_quick_start", formats=["png"])[0])
