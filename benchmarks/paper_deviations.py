"""What each point does on which the paper's text, its published code and calirare part.

One line for each point of the table in docs/reproduction.md, measured on Cora with 20 labels per class (the GCN of the
paper, trained as there but for the point of the line; test nodes, mean over seeds), on CiteSeer for its unlabelled
nodes, and on a generated network for what the paper's ACE says of perfect probabilities.

    python benchmarks/paper_deviations.py --seeds 3
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

import calirare as cr
from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.fitting.training import Refinement
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.objectives import CrossEntropy, SoftmaxTwice
from calirare.estimator.methods import Method, temporarily
from calirare.metrics import classwise_ace, macro_f1, negative_log_likelihood, recall, true_class_ace
from calirare.uncertainty.jackknife import bounds_of_class, residuals_of

as_in_the_paper = partial(Method, summary="", rests=False)
TRAININGS = (
    as_in_the_paper("trained on train labels, logits in the loss"),
    as_in_the_paper("… softmax in the loss", objective=SoftmaxTwice),
    as_in_the_paper(
        "… then fine-tuned on val labels, logits", refinement=Refinement(CrossEntropy, epochs=200, lr=1e-3)
    ),
    as_in_the_paper(
        "… then on val labels, softmax: the code", refinement=Refinement(SoftmaxTwice, epochs=200, lr=1e-3)
    ),
    Method("logits, brought to rest", ""),
)


def scores(graph: cr.RareGraph, split: cr.Split, method: str, seed: int) -> list[float]:
    """Recall, macro-F1 and NLL on the test nodes, with dropout off and on."""
    clf = cr.RareCategoryClassifier("gcn", method, seed=seed, device="cpu").fit(graph, split)
    y, model = graph.y[split.test], clf.detector_.model_
    plain = clf.predict_proba(graph)[split.test]
    model.train()
    torch.manual_seed(seed)
    with torch.no_grad():
        noisy = model(GraphInputs(graph)).softmax(1).double().numpy()[split.test]
    model.eval()
    found: list[float] = []
    for p in (plain, noisy):
        decided = p.argmax(axis=1)
        found += [100 * recall(y, decided), 100 * macro_f1(y, decided), negative_log_likelihood(y, p)]
    return [*found, float(np.abs(noisy - plain)[:, 1].mean())]


def eices(graph: cr.RareGraph, split: cr.Split, seed: int) -> list[float]:
    """EICE of the test nodes: ours, clipped, class 1 against confidence, 0.9 as a quantile level, residual k for i."""
    with temporarily(TRAININGS[0]):
        return eices_of(cr.RareCategoryClassifier("gcn", TRAININGS[0].name, seed=seed).fit(graph, split), graph, split)


def eices_of(clf: cr.RareCategoryClassifier, graph: cr.RareGraph, split: cr.Split) -> list[float]:
    p = clf.predict_proba(graph)
    predicted, confidence = p.argmax(axis=1), p.max(axis=1)
    tables = [clf.left_out_table(graph, c) for c in (0, 1)]

    def eice(
        bounds: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], residuals: list, at: np.ndarray
    ) -> float:
        middle = [sum(bounds(table, r)) / 2 for (_, table), r in zip(tables, residuals, strict=True)]
        return float(np.abs(np.where(at == 1, middle[1], middle[0]) - confidence)[split.test].mean())

    left_out, y = clf.predict_left_out(), clf.labelled_y_
    own = [residuals_of(left_out, y, rows, c) for c, (rows, _) in enumerate(tables)]
    # The code looks r up by the position k of a label among the training labels, in an array over nodes.
    position = np.argsort(clf.labelled_nodes_, kind="stable")
    known = dict(zip(clf.labelled_nodes_.tolist(), position.tolist(), strict=True))
    shifted = [
        np.array([residuals_of(left_out, y, np.array([known[k]]), c)[0] if k in known else abs((graph.y[k] == c) - p[k, c]) for k in rows])
        for c, (rows, _) in enumerate(tables)
    ]  # fmt: skip

    def usual(table: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return bounds_of_class(table, r, coverage=0.9, clip=False)

    def clipped(table: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return bounds_of_class(table, r, coverage=0.9, clip=True)

    def literal(table: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.quantile(table - r, 0.9, axis=1), np.quantile(table + r, 0.1, axis=1)

    ones = np.ones_like(predicted)
    return [
        eice(usual, own, predicted),
        eice(clipped, own, predicted),
        eice(usual, own, ones),
        eice(literal, own, predicted),
        eice(usual, shifted, predicted),
    ]


def eices_at(graph: cr.RareGraph, splits: list[cr.Split], seed: int) -> list[float]:
    return eices(graph, splits[seed], seed)


def left_out_losses(graph: cr.RareGraph, split: cr.Split, seed: int) -> list[float]:
    """NLL of the training labels: as fitted, left out with the right sign, left out with the sign reversed."""
    with temporarily(TRAININGS[0]):
        trained = cr.RareCategoryClassifier("gcn", TRAININGS[0].name, seed=seed).fit_detector(graph, split)
    network, labels = trained.detector, trained.labels
    engine = LeaveOneOut(
        network.model_, trained.inputs.tensors, labels.nodes, labels.y, labels.weights, network.weight_decay_
    )
    fitted, left_out = engine.logits[engine.index], engine.left_out_logits
    steps = (fitted, left_out, 2 * fitted - left_out)
    return [negative_log_likelihood(engine.y, step.softmax(1).numpy()) for step in steps]


def citeseer(protocol: str, seed: int) -> list[float]:
    graph = cr.load_benchmark("citeseer", protocol=protocol)
    split = cr.split_labels(graph, labels_per_class=20, seed=seed)
    with temporarily(TRAININGS[0]):
        clf = cr.RareCategoryClassifier("gcn", TRAININGS[0].name, seed=seed).fit(graph, split)
    y, p = graph.y[split.test], clf.predict_proba(graph)[split.test]
    return [100 * graph.rare_share, 100 * recall(y, p.argmax(axis=1)), negative_log_likelihood(y, p)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    graph = cr.load_benchmark("cora")
    splits = {labels: [cr.split_labels(graph, labels, seed=seed) for seed in seeds] for labels in (20, 40)}

    def mean(measure: Callable[[int], list[float]]) -> np.ndarray:
        return np.mean([measure(seed) for seed in seeds], axis=0)

    print(f"Cora, 20 labels per class, {len(seeds)} seeds{'':12s} dropout off          dropout on at test")
    print(f"{'':44s} recall   F1    NLL    recall   F1    NLL  |change of P|")
    for method in TRAININGS:
        with temporarily(method):
            found = mean(lambda seed, name=method.name: scores(graph, splits[20][seed], name, seed))
        print(f"{method.name:44s}" + " {:6.1f} {:6.1f} {:6.3f}  {:6.1f} {:6.1f} {:6.3f} {:8.3f}".format(*found))
    print("\nNLL of the training labels: as fitted {:.3f}, left out {:.3f}, sign reversed {:.3f}".format(
        *mean(lambda seed: left_out_losses(graph, splits[20][seed], seed))))  # fmt: skip
    names = ("ours", "bounds clipped", "class 1 against confidence", "0.9 as quantile level", "residual by position")
    for labels in (20, 40):
        print(f"\nEICE of the test nodes, {labels} labels per class")
        for name, value in zip(names, mean(partial(eices_at, graph, splits[labels])), strict=True):
            print(f"    {name:28s} {value:.4f}")
    print("\nCiteSeer: rare share in %, recall, NLL")
    for protocol in ("default", "paper"):
        print(f"    {protocol:28s} " + " {:.2f} {:.1f} {:.3f}".format(*mean(partial(citeseer, protocol))))
    known = cr.make_transactions(num_nodes=20_000, seed=0)
    truth = np.column_stack([1 - known.true_probability, known.true_probability])
    print(f"\nPerfect probabilities of {known.num_nodes} generated accounts: ACE of the rare by true class ", end="")
    print(f"{true_class_ace(known.y, truth, 1):.3f}, class-wise ACE {classwise_ace(known.y, truth):.4f}")


if __name__ == "__main__":
    main()
