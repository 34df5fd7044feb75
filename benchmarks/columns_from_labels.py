"""Columns made from neighbours' labels: left-out and hidden labels, as calirare fits and with the column read as any other.

python benchmarks/columns_from_labels.py
"""

from __future__ import annotations

import logging

import numpy as np
from sklearn.metrics import log_loss

import calirare as cr
from calirare.data.graph import RareGraph
from calirare.detectors.base import DetectorInputs

N = 2_500


def made(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Columns, edges, true classes and the known ones (-1 elsewhere) of a random graph."""
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < 0.05).astype(int)
    known = np.where(rng.random(N) < 0.3, y, -1)
    ends = rng.integers(0, N, (2, 2 * N))
    ends = ends[:, ends[0] != ends[1]]
    ends = np.unique(np.hstack([ends, ends[::-1]]), axis=1)
    count, degree, labelled = (
        np.bincount(ends[0], weights=values[ends[1]], minlength=N) for values in (known == 1, np.ones(N), known >= 0)
    )
    columns = {
        "count": count,
        "share": count / np.maximum(degree, 1),
        "share of labelled": count / np.maximum(labelled, 1),
        "yes or no": (count > 0).astype(float),
    }
    return columns, ends, y, known


def main() -> None:
    """Print one row per column and way."""
    logging.getLogger("calirare").setLevel(logging.ERROR)
    print("| column | read | left-out labels | hidden labels | base rate |\n|---|---|---|---|---|")
    columns, ends, y, known = made(seed=0)
    hidden = known < 0
    base = log_loss(y[hidden], np.full(hidden.sum(), (known[~hidden] == 1).mean()))
    age = np.random.default_rng(1).normal(size=N)
    for name, column in columns.items():
        graph = RareGraph(np.column_stack([age, column]), ends, known, feature_names=("age", name))
        for way, inputs in (("as calirare does", None), ("as any other", DetectorInputs(graph))):
            clf = cr.RareCategoryClassifier()
            clf.calibrate(clf.fit_detector(graph, inputs=inputs), graph)
            left_out, labels = clf.left_out_rare()
            p = clf.predict_proba(graph)[:, 1]
            found = log_loss(labels, left_out), log_loss(y[hidden], p[hidden])
            print(f"| {name} | {way} | {found[0]:.3f} | {found[1]:.3f} | {base:.3f} |", flush=True)


if __name__ == "__main__":
    main()
