"""How often the 95% intervals of average precision and ROC-AUC hold the truth, and how wide they are.

Rare nodes score N(d, 1), the others N(0, 1), so that the truth is known: ROC-AUC Φ(d/√2), and average precision the integral
of the precision over the recall. Beside the intervals that are shown, the basic bootstrap interval of the same resamples.

    python benchmarks/metric_intervals.py --runs 200
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm

from calirare.metrics import average_precision, bootstrap_intervals, roc_auc

METRICS = {"average_precision": average_precision, "roc_auc": roc_auc}
NODES = ((150, 0.03), (300, 0.05), (1_000, 0.1))
APART = (0.3, 1.0, 2.0, 3.0, 4.0)


def truth(share: float, apart: float) -> dict[str, float]:
    """Both metrics of the population.

    >>> {name: round(value, 3) for name, value in truth(0.05, 2.0).items()}
    {'average_precision': 0.538, 'roc_auc': 0.921}
    """
    cut = np.linspace(-9.0, 15.0, 100_001)
    recall, alarms = norm.sf(cut - apart), norm.sf(cut)
    precision = share * recall / (share * recall + (1 - share) * alarms + 1e-300)
    found = np.trapezoid(precision[::-1], recall[::-1])
    return {"average_precision": float(found), "roc_auc": float(norm.cdf(apart / np.sqrt(2)))}


def measure(num_nodes: int, share: float, apart: float, runs: int) -> dict[str, np.ndarray]:
    """By metric and kind of interval: (share of runs that hold the truth, mean width)."""
    rng, found, true = np.random.default_rng(0), {}, truth(share, apart)
    for run in range(runs):
        y = np.arange(num_nodes) < max(2, rng.binomial(num_nodes, share))
        scores = rng.normal(apart * y)
        for kind, counts in (("shown", dict.fromkeys(METRICS, int(y.sum()))), ("basic", None)):
            drawn = bootstrap_intervals(METRICS, y.astype(int), scores, num_resamples=200, seed=run, counts=counts)
            for name, one in drawn.items():
                held = one.lower <= true[name] <= one.upper
                found.setdefault(f"{name} {kind}", []).append((held, one.upper - one.lower))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    print("rare nodes expected, truth: intervals that hold it, per cent / mean width; shown, then basic")
    for num_nodes, share in NODES:
        for apart in APART:
            found, true = measure(num_nodes, share, apart, runs), truth(share, apart)
            for name in METRICS:
                cells = (
                    (100 * held, width) for held, width in (found[f"{name} {kind}"] for kind in ("shown", "basic"))
                )
                told = "   ".join(f"{held:3.0f} / {width:.3f}" for held, width in cells)
                print(f"{num_nodes * share:5.1f}  {name:17s} {true[name]:.3f}   {told}", flush=True)


if __name__ == "__main__":
    main()
