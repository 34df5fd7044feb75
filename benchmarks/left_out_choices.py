"""What left-out likelihood chooses, and what a search with five-fold refits would have chosen.

A tenth of the nodes labelled. For `linear` the penalty, for each network the width and the weight decay: the choice without
refits, the choice of the least five-fold loss after a Platt map over the same candidates, the test NLL of each, and how many
fits each took.

    python benchmarks/left_out_choices.py --graphs cora,tolokers --detectors linear,gcn --seeds 3 --jobs 2
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
from against_scikit_learn import GRAPHS, load, tenth
from cells import run_cells
from left_out_evidence import judge
from threadpoolctl import threadpool_limits

from calirare.calibration.scaling import PlattScaling
from calirare.detectors.base import Detector, DetectorInputs, LabelledNodes
from calirare.detectors.left_out.folds import fold_numbers, folds
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.network import _DECAYS, _WIDTHS
from calirare.detectors.registry import make_detector

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)


def candidates(what: str) -> list[dict[str, float]]:
    if what == "linear":
        return [{"penalty": penalty} for penalty in PENALTIES]
    return [{"hidden": width, "weight_decay": decay} for width, decay in product(_WIDTHS, _DECAYS)]


def chosen(detector: Detector) -> dict[str, float]:
    if detector.name == "linear":
        return {"penalty": detector.main_.penalty}  # type: ignore[attr-defined]
    return {"hidden": detector.units, "weight_decay": detector.weight_decay_}  # type: ignore[attr-defined]


def five_fold_loss(detector: Detector, inputs: DetectorInputs, labels: LabelledNodes, seed: int) -> float:
    fold, logits = fold_numbers(labels, seed), np.empty((len(labels), labels.num_classes))
    assert fold is not None
    for _, kept, left in folds(fold):
        again = make_detector(detector).fit(inputs, labels.take(kept), seed=seed)
        logits[left] = again.logits(inputs)[labels.nodes[left]]
    return judge(logits, labels.y)[0]


def run(name: str, what: str, seed: int) -> str:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        graph = load(name)
        split = tenth(graph, seed, 0.1)
        y = graph.y[split.train]
        labels = LabelledNodes(split.train, y, node_weights(y, 2), 2, np.arange(len(y)))
        inputs, tried = DetectorInputs(graph), candidates(what)

        def test_loss(detector: Detector) -> float:
            platt = PlattScaling().fit(detector.left_out_logits(), y)
            p = platt.predict_proba(detector.logits(inputs))[split.test, graph.y[split.test]]
            return float(-np.log(np.clip(p, 1e-12, 1)).mean())

        free = {key: "left_out" for key in tried[0]}
        ours = make_detector(what).set_params(**free).fit(inputs, labels, seed=seed)
        losses = [five_fold_loss(make_detector(what).set_params(**one), inputs, labels, seed) for one in tried]
        best = tried[int(np.argmin(losses))]
        theirs = make_detector(what).set_params(**best).fit(inputs, labels, seed=seed)
        return (
            f"{name:10s} {what:7s} seed {seed}: left-out {_text(chosen(ours))}, test NLL {test_loss(ours):.4f}; "
            f"five-fold {_text(best)}, test NLL {test_loss(theirs):.4f} ({5 * len(tried) + 1} fits)"
        )


def _text(values: dict[str, float]) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in values.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--detectors", default="linear,gcn")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="JSON Lines, appended to and read first")
    arguments = parser.parse_args()
    tasks = [
        (name, what, seed)
        for name in arguments.graphs.split(",")
        for what in arguments.detectors.split(",")
        for seed in range(arguments.seeds)
    ]
    for line in run_cells(run, tasks, jobs=arguments.jobs, out=arguments.out).values():
        print(line)


if __name__ == "__main__":
    main()
