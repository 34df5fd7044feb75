"""Triage with costs: what each number of reviews is expected to cost, and what it did cost.

python examples/05_triage_with_costs.py --out pictures
"""

import argparse
from pathlib import Path

import numpy as np

import calirare as cr
from calirare.decisions.costs import Costs
from calirare.plots.style import BLUE, GUIDE, ORANGE, new_figure, styled

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
parser.add_argument("--nodes", type=int, default=5_000)
parser.add_argument("--detector", default="auto", help="`linear` is quicker")
args = parser.parse_args()

graph = cr.make_transactions(num_nodes=args.nodes, labelled_share=0.2, seed=0)
clf = cr.RareCategoryClassifier(args.detector, seed=0).fit(graph)

costs = Costs(miss=50, alarm=5, review=1)  # one unit for all three: minutes, euros, anything
limits = costs.thresholds()
print(f"clear below {limits.review:.3g}, alert from {limits.alert:.3g}, review in between")
print(f"without a review: alert from {limits.alone:.3g}")

# The model is asked once; other costs and budgets only judge its answer again.
asked = cr.triage(clf, graph, costs.miss, costs.alarm, costs.review)
rare = graph.original_y[asked.node] == graph.rare_class  # the generator knows; you will know after the fact
useful = int((asked.decisions.gain > 0).sum())
print(f"a review pays for {useful} of {len(asked)} accounts")

budgets = np.unique(np.linspace(0, useful, 9).round().astype(int))
expected, realised = [], []
for budget in budgets:
    queue = asked.rejudge(costs, budget=int(budget))
    expected.append(queue.groups["all"].cost)
    realised.append(costs.realised(queue.action, graph.original_y[queue.node] == graph.rare_class).sum())
    counts = {name: queue.groups[name].num_nodes for name in ("alert", "review", "clear")}
    print(f"{budget:5d} reviews: expected {expected[-1].value:6.0f}, realised {realised[-1]:6.0f}; {counts}")

with styled():
    figure = new_figure(9.2, 3.4)
    left, right = figure.subplots(1, 2)
    bayes = {"cheapest in theory": limits.alone}
    cr.plots.cost_curve.plot(rare, asked.probability, costs=costs, thresholds=bayes, ax=left)
    left.legend(loc="upper center")
    left.set_title("No reviews: alert above a threshold", loc="left")
    lower, upper = ([getattr(cost, end) for cost in expected] for end in ("lower", "upper"))
    right.fill_between(budgets, lower, upper, color=ORANGE, alpha=0.2, linewidth=0, label="90% interval")
    right.plot(budgets, [cost.value for cost in expected], color=ORANGE, linestyle="--", label="expected")
    right.plot(budgets, realised, color=BLUE, marker="o", label="realised")
    right.axhline(costs.miss * rare.sum(), color=GUIDE, linestyle=":", linewidth=1, label="clear everyone")
    right.set(xlabel="reviews allowed", ylabel="cost of all accounts", ylim=(0, None))
    right.set_title("With reviews where they save most", loc="left")
    right.legend(loc="center right", bbox_to_anchor=(1.0, 0.78))
    right.grid(axis="y")
print(cr.plots.save(figure, args.out / "05_triage_with_costs", formats=["png"])[0])
