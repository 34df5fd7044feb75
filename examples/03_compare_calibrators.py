"""Every method on one network whose true probabilities are known.

python examples/03_compare_calibrators.py --out pictures
"""

import argparse
from pathlib import Path

import numpy as np

import calirare as cr
from calirare.metrics import bootstrap_interval, negative_log_likelihood, recall
from calirare.plots.style import BLUE, GUIDE, VERMILION, new_figure, styled

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
parser.add_argument("--nodes", type=int, default=4_000)
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--methods", nargs="*", default=list(cr.methods()), help="default: all of them")
args = parser.parse_args()

graph = cr.make_transactions(num_nodes=args.nodes, seed=0)
split = cr.split_labels(graph, train_fraction=0.1, val_fraction=0.05, test_fraction=0.85, seed=0)
y, truth = graph.y[split.test], graph.true_probability[split.test]

found = {}
print(f"{'method':16s} {'trains on':18s} {'calibrates on':26s} {'NLL':>6s} {'recall':>7s} {'|P - true P|':>13s}")
for name in args.methods:
    clf = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=args.epochs, weight_decay=5e-3), method=name, seed=0
    ).fit(graph, split)
    probabilities = clf.predict_proba(graph)[split.test]
    found[name] = bootstrap_interval(negative_log_likelihood, y, probabilities, num_resamples=200)
    hits, distance = recall(y, clf.predict(graph)[split.test]), np.abs(probabilities[:, 1] - truth).mean()
    trains, calibrates = cr.methods()[name].label_budget
    numbers = f"{found[name].value:6.3f} {hits:7.3f} {distance:13.3f}"
    print(f"{name:16s} {trains:18s} {calibrates:26s} {numbers}")
best = negative_log_likelihood(y, np.column_stack([1 - truth, truth]))
print(f"{'the truth':16s} {'':18s} {'':26s} {best:6.3f} {'':7s} {0:13.3f}")

order = sorted(found, key=lambda name: found[name].value, reverse=True)
with styled():
    figure = new_figure(5.4, 0.8 + 0.24 * len(order))
    ax = figure.add_subplot()
    for place, name in enumerate(order):
        score, colour = found[name], VERMILION if name == "jackknife" else BLUE
        ax.hlines(place, score.lower, score.upper, color=colour, linewidth=1.6)
        ax.plot(score.value, place, "o", color=colour)
    ax.axvline(best, color=GUIDE, linestyle="--", linewidth=1, label=f"the true probabilities: {best:.3f}")
    ax.set_yticks(range(len(order)), order)
    ax.set(xlabel="negative log-likelihood on the test nodes, 95% interval", xlim=(0, None))
    ax.grid(axis="x")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
print(cr.plots.save(figure, args.out / "03_compare_calibrators", formats=["png"])[0])
