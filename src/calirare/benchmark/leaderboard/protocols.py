"""Which labels a model may read: one function for each way in which labels come about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calirare.benchmark.grid import Settings
from calirare.benchmark.leaderboard.graphs import ARENAS
from calirare.benchmark.work import split_for
from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.data.splits import split_labels
from calirare.errors import CalirareError
from calirare.estimator.classifier import RareCategoryClassifier

GADBENCH = {"rare": 20, "normal": 80}
_FIRST_LABELS = 300
_TILT = 4.0


@dataclass(frozen=True, eq=False)
class DrawnLabels:
    """The labels of one run.

    Args:
        split: Labels to train on, labels to validate on where the protocol has them, nodes to judge by.
        rare_share: The population's rare share where everybody is told.
    """

    split: Split
    rare_share: float | None = None


@dataclass(frozen=True)
class Protocol:
    """One way to come by labels.

    Args:
        name: Its key.
        title: What the page calls it.
        sentence: What it does, for the page.
        variants: Its sizes.
        usual: Those of a run that is not asked for everything; None: all.
        draw: From graph, size and seed to labels; None where the graph does not have what it takes.
        everybody: Whether every competitor takes part, the slow ones where everything is asked for, or the core alone.
        one_draw: Whether the labels are the same whatever the seed; then it runs once.
        paper_only: For the paper's graphs alone.
    """

    name: str
    title: str
    sentence: str
    variants: tuple[int, ...]
    draw: Callable[[RareGraph, int, int], DrawnLabels | None]
    usual: tuple[int, ...] | None = None
    everybody: bool = False
    one_draw: bool = False
    paper_only: bool = False

    def sizes(self, full: bool) -> tuple[int, ...]:
        """The sizes of a run: all of them, or the usual ones."""
        return self.variants if full or self.usual is None else self.usual

    def seeds(self, count: int) -> range:
        """The seeds of a run that asks for `count` of them."""
        return range(1 if self.one_draw else count)


def tenth(graph: RareGraph, share: int, seed: int) -> DrawnLabels:
    """`share` percent of each class at random, at least two; the rest tests."""
    rng, known = np.random.default_rng(seed), graph.known
    drawn = []
    for c in (0, 1):
        nodes = known[graph.y[known] == c]
        drawn.append(rng.choice(nodes, max(2, round(share / 100 * nodes.size)), replace=False))
    return _rest_tests(graph, np.concatenate(drawn))


def few(graph: RareGraph, rare: int, seed: int) -> DrawnLabels | None:
    """So many rare labels, and normal ones in natural proportion; the rest tests. None where most rare nodes would go."""
    rng, known = np.random.default_rng([seed, rare]), graph.known
    rares, normals = known[graph.y[known] == 1], known[graph.y[known] == 0]
    count = max(2, round(rare * normals.size / rares.size))
    if rare > rares.size / 2:
        return None
    return _rest_tests(graph, np.concatenate([rng.choice(rares, rare, False), rng.choice(normals, count, False)]))


def gadbench(graph: RareGraph, rare: int, seed: int) -> DrawnLabels | None:
    """20 rare and 80 normal labels to train, as many to validate, the rest tests; the population's share is told.

    Source: key `tang2023`, which draws them in the same way and tells no share: it judges rankings alone.
    """
    rng, known = np.random.default_rng([seed, 7]), graph.known
    rares, normals = rng.permutation(known[graph.y[known] == 1]), rng.permutation(known[graph.y[known] == 0])
    normal = GADBENCH["normal"] * rare // GADBENCH["rare"]
    if 2 * rare > rares.size / 2 or 2 * normal > normals.size / 2:
        return None
    train = np.concatenate([rares[:rare], normals[:normal]])
    val = np.concatenate([rares[rare : 2 * rare], normals[normal : 2 * normal]])
    test = np.setdiff1d(known, np.concatenate([train, val]))
    return DrawnLabels(Split(train=np.sort(train), val=np.sort(val), test=test), rares.size / known.size)


def by_time(graph: RareGraph, share: int, seed: int) -> DrawnLabels | None:
    """The earliest `share` percent of the labels train, the latest test, whatever the seed."""
    try:
        split = split_labels(graph, train_fraction=share / 100, val_fraction=0.0, by_time="time")
    except CalirareError:
        return None
    judged = graph.y[split.test]
    return DrawnLabels(split) if judged.size and 0 < judged.mean() < 1 else None


def by_score(graph: RareGraph, share: int, seed: int) -> DrawnLabels | None:
    """Somebody looked where an earlier model was sure.

    A linear model on 300 random labels ranks all nodes; then `share` percent, at most 1,000, are labelled, each with a
    chance that grows e⁴-fold from the lowest score to the highest. The 300 are forgotten.
    """
    rng, known = np.random.default_rng([seed, 77]), graph.known
    if known.size < 10 * _FIRST_LABELS:
        return None
    first = np.sort(rng.choice(known, _FIRST_LABELS, replace=False))
    clf = RareCategoryClassifier("linear", seed=seed, device="cpu").fit(graph, Split(train=first))
    rest = np.setdiff1d(known, first)
    rank = clf.predict_proba(graph)[rest, 1].argsort().argsort() / rest.size
    weight = np.exp(_TILT * (rank - 1))
    size = min(1_000, round(share / 100 * rest.size))
    return _rest_tests(graph, rng.choice(rest, size, replace=False, p=weight / weight.sum()))


def paper(graph: RareGraph, labels_per_class: int, seed: int) -> DrawnLabels | None:
    """The paper's: labels of every original class, 500 to validate, 1,000 to test; the validation share is told."""
    if graph.name not in ARENAS or not ARENAS[graph.name].paper:
        return None
    split = split_for(graph, labels_per_class, Settings(), seed)
    return DrawnLabels(split, float((graph.y[split.val] == 1).mean()))


def _rest_tests(graph: RareGraph, train: np.ndarray) -> DrawnLabels:
    return DrawnLabels(Split(train=np.sort(train), test=np.setdiff1d(graph.known, train)))


_ENTRIES = (
    Protocol("tenth", "A tenth labelled", "A tenth of each class, at random.", (10,), tenth, everybody=True),
    Protocol(
        "few", "Few labels", "5, 10, 20 or 50 rare labels, and normal ones in natural proportion.", (10, 5, 20, 50), few,
        usual=(5, 20),
    ),
    Protocol(
        "gadbench", "GADBench's semi-supervised setting",
        "20 rare and 80 normal labels to train, as many to validate. The labels do not show how rare the class is, so "
        "everybody is told its share.",
        (20,), gadbench,
    ),
    Protocol(
        "by_time", "By time",
        "The earliest half of the labels; the latest half tests. There is one such draw, so each runs once.",
        (50,), by_time, one_draw=True,
    ),
    Protocol(
        "by_score", "Labels chosen by score",
        "A tenth, at most 1,000, labelled where an earlier model scored high (`calirare.benchmark.leaderboard.protocols`).",
        (10,), by_score,
    ),
    Protocol(
        "paper", "The paper's", "20, 30 or 40 labels of every original class, and 500 random ones; 1,000 nodes test.",
        (20, 30, 40), paper, usual=(), paper_only=True,
    ),
)  # fmt: skip
PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in _ENTRIES}
"""The protocols by name, the most important first."""
