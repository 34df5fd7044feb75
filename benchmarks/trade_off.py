"""What the EICE term of the `calirare` objective does at trade-off 0, 0.1 and 0.5 on Cora.

python benchmarks/trade_off.py --seeds 5
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import calirare as cr
from calirare.detectors.networks.objectives import CaliRare
from calirare.estimator.methods import get_method, temporarily
from calirare.metrics import macro_f1, macro_true_class_ace, negative_log_likelihood, recall, true_class_ace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    graph = cr.load_benchmark(arguments.dataset)
    print(f"{'trade-off':>9s} {'recall':>7s} {'macro-F1':>8s} {'ACE':>7s} {'Macro-ACE':>9s} {'NLL':>7s} {'EICE':>8s}")
    for trade_off in (0.0, 0.1, 0.5):
        method = replace(
            get_method("calirare"),
            name="variant",
            objective=lambda t=trade_off: CaliRare(trade_off=t),
        )
        rows = []
        for seed in range(arguments.seeds):
            split = cr.split_labels(graph, labels_per_class=20, seed=seed)
            with temporarily(method):
                clf = cr.RareCategoryClassifier("gcn", "variant", seed=seed, device="cpu").fit(graph, split)
                p, decided = clf.predict_proba(graph)[split.test], clf.predict(graph)[split.test]
                eice = clf.individual_calibration_error(graph)[split.test].mean()
            y = graph.y[split.test]
            scores = (true_class_ace(y, p, 1), macro_true_class_ace(y, p), negative_log_likelihood(y, p), eice)
            rows.append((100 * recall(y, decided), 100 * macro_f1(y, decided), *scores))
        mean = np.mean(rows, axis=0)
        print(
            f"{trade_off:9.1f} {mean[0]:7.1f} {mean[1]:8.1f} {mean[2]:7.3f} {mean[3]:9.3f} {mean[4]:7.3f} {mean[5]:8.5f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
