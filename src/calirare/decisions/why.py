"""Why a node scores as it does: the columns that made its logit and the labels around it, in the user's own words.

The shares of the logit choose what is said (`RareCategoryClassifier.column_shares`). Columns that say the same twice over
(sum, mean and greatest of one edge column) are told once, by the strongest. What is said of a column is a fact of the
table: its value in the table's units beside the median.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph
from calirare.decisions.facts import Facts
from calirare.decisions.wording import Wording
from calirare.detectors.base import Contributions
from calirare.estimator.classifier import RareCategoryClassifier

FULL = 200
"""So many nodes at once are explained by their columns, whatever is done with them."""
MOST_FULL = 1_000
"""Of more nodes the first so many that are not cleared; the others by their neighbours' labels alone."""
_LARGEST_FOR_NETWORKS = 20_000
_FAINT = 0.1
_UNUSUAL = 0.95


@dataclass(frozen=True)
class Fact:
    """One clause: what it says, and its signed share of the logit; positive speaks for the rare class."""

    words: str
    share: float


class Reasons:
    """Sentences about the nodes of one model and graph; each is made when asked for, and kept.

    Args:
        clf: The model.
        graph: The graph.
        label: `(N,)` the labels that the model has read, `UNKNOWN` elsewhere.
        wording: The names.
    """

    def __init__(self, clf: RareCategoryClassifier, graph: RareGraph, label: np.ndarray, wording: Wording) -> None:
        self._clf, self._graph, self._label, self.wording = clf, graph, label, wording
        self._adjacency = graph.adjacency()
        self._facts: Facts | None = None
        self._first = threading.Lock()
        self._kept: dict[int, list[Fact]] = {}

    def facts(self, node: int) -> list[Fact]:
        """What speaks for and against, strongest first, without the neighbours' labels."""
        self._find([node])
        return self._kept[node]

    def _find(self, nodes: list[int]) -> None:
        """Facts of those that nobody asked about before; of many at once in less time than one by one."""
        fresh = [node for node in nodes if node not in self._kept]
        if not fresh:
            return
        with self._first:  # fifty who ask at once wait for one
            if self._facts is None:
                self._facts = Facts(self._graph, self._clf.columns(self._graph))
        small = self._graph.num_nodes <= _LARGEST_FOR_NETWORKS
        every = self._clf.column_shares_of(self._graph, np.array(fresh), networks=small)
        for node, found in zip(fresh, every, strict=True):
            self._kept[node] = _by_share(self._facts, found, node) or _by_surprise(self._facts, node)

    def neighbours(self, node: int) -> str:
        """`3 of 5 neighbours are known fraud`, or what the labelled ones are; "" where none is labelled."""
        near = self._adjacency.indices[self._adjacency.indptr[node] : self._adjacency.indptr[node + 1]]
        near = near[near != node]
        known = self._label[near]
        rare = int((known == self.wording.rare_class).sum())
        labelled = int((known != UNKNOWN).sum())
        name, has = self.wording.rare, " = " in self.wording.rare  # "is_fraud = yes" is had, "fraud" is what one is
        if rare:
            verb = ("has" if has else "is known") if rare == 1 else ("have" if has else "are known")
            return f"{rare} of {near.size:,} neighbour{'s' * (near.size > 1)} {verb} {name}"
        if labelled > 1:
            return f"none of its {labelled:,} labelled neighbours {'has' if has else 'is'} {name}"
        return ""

    def write(self, nodes: np.ndarray, action: Sequence[str], waiting: np.ndarray) -> np.ndarray:
        """`(n,)` a sentence or two for each node; see `FULL` and `MOST_FULL` for which are told by their columns."""
        full = np.ones(len(nodes), dtype=bool)
        if len(nodes) > FULL:
            full = (np.asarray(action) != "clear") | waiting
            full &= np.cumsum(full) <= MOST_FULL
        self._find(np.asarray(nodes)[full].tolist())
        rows = zip(np.asarray(nodes).tolist(), action, waiting.tolist(), full.tolist(), strict=True)
        return np.array([self._sentence(*row) for row in rows], dtype=object)

    def _sentence(self, node: int, action: str, waiting: bool, full: bool) -> str:
        facts, near = self.facts(node) if full else [], self.neighbours(node)
        towards = [fact.words for fact in facts if fact.share > 0]
        against = [fact.words for fact in facts if fact.share < 0]
        unusual = _clause("Unusual", [fact.words for fact in facts if fact.share == 0], 2)
        if near:
            (against if near.startswith("none") else towards).insert(0, near)
        rare = self.wording.rare
        budget = "The budget goes to cases where a review saves more." * waiting
        if action == "clear" and not waiting:
            first, second = _clause(f"Against {rare}", against, 3), _clause("For it", towards, 1)
            return f"{first}{second}{unusual}".strip() or f"Little speaks for {rare}."
        first, second = _clause("", towards, 3), _clause("Against it", against, 1)
        return f"{first}{second}{unusual}{budget}".strip() or f"No single column speaks for {rare}."


def _clause(head: str, parts: list[str], most: int) -> str:
    if not parts:
        return ""
    said = "; ".join(parts[:most])
    return f"{head}: {said}. " if head else f"{said}. "


def _by_share(facts: Facts, found: Contributions, node: int) -> list[Fact]:
    """Columns of one source told once, by the one that speaks loudest in the direction of them all."""
    if not len(found.shares):
        return []
    members = _families(found.names, found.groups)
    totals = [float(found.shares[places].sum()) for places in members]
    largest = max(map(abs, totals))
    told: list[Fact] = []
    for total, places in sorted(zip(totals, members, strict=True), key=lambda item: -abs(item[0])):
        if abs(total) <= _FAINT * largest or len(told) == 8:
            break
        best = places[int(np.argmax(found.shares[places] * np.sign(total)))]
        told.append(Fact(facts.say(found.names[best], node), total))
    return told


@lru_cache(maxsize=16)
def _families(names: tuple[str, ...], groups: tuple[str, ...]) -> list[np.ndarray]:
    """Where the columns of each source stand; the same for most nodes."""
    families: dict[tuple[str, str], list[int]] = {}
    for place, (name, group) in enumerate(zip(names, groups, strict=True)):
        families.setdefault((name.split(", ")[0], group), []).append(place)
    return [np.array(places) for places in families.values()]


def _by_surprise(facts: Facts, node: int) -> list[Fact]:
    """Where there are no shares, the attributes that are most unlike those of others; no side is claimed for them."""
    ranked = sorted(((facts.surprise(name, node), name) for name in facts.own[:200]), reverse=True)[:3]
    return [Fact(facts.say(name, node), 0.0) for surprise, name in ranked if surprise >= _UNUSUAL]
