"""How much weight decay leaving labels out by one Newton step wants, on generated networks with dense attributes.

For each weight decay: NLL on the accounts without a label, of the network as trained, calibrated on left-out logits
(`jackknife`) and calibrated on out-of-fold logits of five retrainings (`cross_fit`), mean over seeds. Where the two
differ, the Newton step does not tell what retraining would.

    python benchmarks/weight_decay.py --seeds 3
"""

from __future__ import annotations

import argparse

import numpy as np

import calirare as cr
from calirare.metrics import negative_log_likelihood

METHODS = ("uncalibrated", "jackknife", "cross_fit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=3_000)
    arguments = parser.parse_args()
    print(f"{'weight decay':>12s}" + "".join(f" {name:>12s}" for name in METHODS) + f" {'the truth':>12s}")
    for weight_decay in (5e-4, 2e-3, 5e-3, 2e-2):
        found: dict[str, list[float]] = {}
        for seed in range(arguments.seeds):
            graph = cr.make_transactions(num_nodes=arguments.nodes, labelled_share=0.2, seed=seed)
            unseen = np.setdiff1d(np.arange(graph.num_nodes), graph.known)
            y, truth = graph.original_y[unseen], graph.true_probability[unseen]
            for name in METHODS:
                clf = cr.RareCategoryClassifier(
                    detector=cr.detectors.GCN(weight_decay=weight_decay), method=name, seed=seed
                ).fit(graph)
                found.setdefault(name, []).append(negative_log_likelihood(y, clf.predict_proba(graph)[unseen]))
            found.setdefault("truth", []).append(negative_log_likelihood(y, np.column_stack([1 - truth, truth])))
        print(f"{weight_decay:12g}" + "".join(f" {np.mean(values):12.3f}" for values in found.values()), flush=True)


if __name__ == "__main__":
    main()
