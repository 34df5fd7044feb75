"""Why a node scores as it does: the columns that made its logit and the labels around it, in the user's own words.

The shares of the logit choose what is said (`RareCategoryClassifier.column_shares`). Columns that say the same twice over
(sum, mean and greatest of one edge column, the values of one category) are told once, by the strongest, and of a category by
the value that the node has. What is said of a column is a fact of the table: its value in the table's units beside the median.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.feature_places import EQUALS
from calirare.data.graph import RareGraph
from calirare.decisions.facts import Facts
from calirare.decisions.shared_labels import SharedLabels, are_known
from calirare.decisions.wording import Wording
from calirare.detectors.base import Contributions, Progress
from calirare.detectors.spreading import LABELS_AROUND
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.uncertainty.pulls import Pulls

FULL = 200
"""Up to this many nodes are all explained by their columns and the labels that pull, whatever their action."""
MOST_FULL = 1_000
"""Of more nodes, this many that are not cleared are explained so, reviews first; the others by their neighbours' labels alone."""
_LARGEST_FOR_NETWORKS = 20_000
"""Largest graph on which networks are explained too; on Facebook's 22,470 nodes that takes a hundred times as long as the rest."""
_NOT_TOLD = "The review desk tells its columns."
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
        progress: Called with the share done of what `write`, and after it `pulls`, have to find.
    """

    def __init__(
        self,
        clf: RareCategoryClassifier,
        graph: RareGraph,
        label: np.ndarray,
        wording: Wording,
        progress: Progress | None = None,
    ) -> None:
        self._clf, self._graph, self._label, self.wording = clf, graph, label, wording
        self._progress = progress or (lambda share, what: None)
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
                self._facts = self._make_facts()
        for done, (node, found) in enumerate(zip(fresh, self._shares(np.array(fresh)), strict=True), 1):
            self._progress(done / len(fresh) / 2, "reasons")
            self._kept[node] = _by_share(self._facts, found, node) or _by_surprise(self._facts, node)

    def _make_facts(self) -> Facts:
        recipe = self._clf.state_.recipe
        return Facts(self._graph, self._clf.columns(self._graph), means=None if recipe is None else recipe.means)

    def _shares(self, nodes: np.ndarray) -> Iterable[Contributions]:
        """How the columns made the logit of each node."""
        small = self._graph.num_nodes <= _LARGEST_FOR_NETWORKS
        return self._clf.column_shares(self._graph, nodes, networks=small)

    def neighbours(self, node: int) -> str:
        """`3 of 5 neighbours are known fraud`, or what the labelled ones are, or those that share a neighbour with it; "" where
        that is no more than chance brings.
        """
        return self._of_neighbours(*(int(counts[node]) for counts in self._around)) or self._shared(node)

    @cached_property
    def _around(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`(N,)` each: how many neighbours a node has, how many of them are labelled, and how many of these are rare."""
        one, other = self._graph.edge_index
        known, rare = (self._label != UNKNOWN)[other], (self._label == self.wording.rare_class)[other]
        every, labelled, found = (
            np.bincount(ends, minlength=self._graph.num_nodes) for ends in (one, one[known], one[rare])
        )
        return every, labelled, found

    def _shared(self, node: int) -> str:
        return self._shared_labels.say(node, self.wording.rare, self._has)

    @cached_property
    def _shared_labels(self) -> SharedLabels:
        return SharedLabels(self._graph, self._label, self.wording.rare_class)

    @property
    def _has(self) -> bool:
        """`is_fraud = yes` is had, `fraud` is what one is."""
        return EQUALS in self.wording.rare

    @cached_property
    def _rare_share(self) -> float:
        """The rare share of the labels that were read; 0 where there are none."""
        known = self._label != UNKNOWN
        return float((self._label[known] == self.wording.rare_class).mean()) if known.any() else 0.0

    def _of_neighbours(self, every: int, labelled: int, rare: int) -> str:
        name, has = self.wording.rare, self._has
        if rare:
            if rare < labelled * self._rare_share:  # of so many, some are by chance
                return ""
            return f"{rare} of {every:,} neighbour{'s' * (every > 1)} {are_known(rare, has)} {name}"
        if labelled > 1:
            return f"none of its {labelled:,} labelled neighbours {'has' if has else 'is'} {name}"
        return ""

    def write(self, nodes: np.ndarray, action: Sequence[str], waiting: np.ndarray) -> np.ndarray:
        """`(n,)` a sentence or two for each node; see `FULL` and `MOST_FULL` for which are told by their columns."""
        nodes, full = np.asarray(nodes), _in_full(action, waiting)
        self._find(nodes[full].tolist())
        brief = lru_cache(maxsize=65_536)(
            lambda action, waiting, *around: self._sentence(None, action, waiting, *around)
        )
        around = [counts[nodes].tolist() for counts in self._around]
        said = np.empty(len(nodes), dtype=object)
        for k, (node, whole, *row) in enumerate(
            zip(nodes.tolist(), full.tolist(), action, waiting.tolist(), *around, strict=True)
        ):
            row.append(self._shared(node))
            said[k] = self._sentence(self._kept[node], *row) if whole else brief(*row)
        return said

    def pulls(self, nodes: np.ndarray, action: Sequence[str], waiting: np.ndarray, count: int) -> Pulls:
        """The `count` labels that pull each node most, told of the nodes that `write` tells by their columns."""
        full = _in_full(action, waiting) & (count > 0)
        asked = np.asarray(nodes)[full]
        if not asked.size:
            none = np.empty((0, 0), dtype=np.int64)
            return Pulls(none, none, none.astype(np.float64)).among(full)
        found = self._clf.strongest_pulls(
            self._graph, asked, count, progress=lambda share, what: self._progress(0.5 + share / 2, what)
        )
        return found.among(full)

    def _sentence(
        self,
        facts: list[Fact] | None,
        action: str,
        waiting: bool,
        every: int,
        labelled: int,
        rare_ones: int,
        shared: str,
    ) -> str:
        """Without facts that were looked for: by the neighbours' labels alone."""
        rare = self.wording.rare
        nothing = f"No single column speaks for {rare}."
        if facts is None:
            nothing, facts = _NOT_TOLD, []
        near = self._of_neighbours(every, labelled, rare_ones) or shared
        towards = [fact.words for fact in facts if fact.share > 0]
        against = [fact.words for fact in facts if fact.share < 0]
        unusual = _clause("Unusual", [fact.words for fact in facts if fact.share == 0], 2)
        if near:  # which labels, and where: the share of all of them says no more
            towards = [words for words in towards if not words.startswith(LABELS_AROUND)]
            (against if near.startswith("none") else towards).insert(0, near)
        budget = "The budget goes to cases where a review saves more." * waiting
        if action == "clear" and not waiting:
            first, second = _clause(f"Against {rare}", against, 3), _clause("For it", towards, 1)
            return f"{first}{second}{unusual}".strip() or f"Little speaks for {rare}."
        first, second = _clause("", towards, 3), _clause("Against it", against, 1)
        return f"{first}{second}{unusual}{budget}".strip() or nothing


def _in_full(action: Sequence[str], waiting: np.ndarray) -> np.ndarray:
    """`(n,)` bool: the nodes that are explained in full; see `FULL` and `MOST_FULL`."""
    if len(waiting) <= FULL:
        return np.ones(len(waiting), dtype=bool)
    done = np.asarray(action)
    turn = np.select([done == "review", done != "clear", waiting], [0, 1, 2], default=3)
    first = np.argsort(turn, kind="stable")[:MOST_FULL]
    full = np.zeros(len(turn), dtype=bool)
    full[first[turn[first] < 3]] = True
    return full


def _clause(head: str, parts: list[str], most: int) -> str:
    if not parts:
        return ""
    said = "; ".join(parts[:most])
    return f"{head}: {said}. " if head else f"{said}. "


def _by_share(facts: Facts, found: Contributions, node: int) -> list[Fact]:
    """Columns of one source told once, by the one that speaks loudest in the direction of them all.

    A value in the middle of all nodes is no reason, unless there is no other.
    """
    if not len(found.shares):
        return []
    members, family = _families(found.names, found.groups)
    totals = np.bincount(family, weights=found.shares).tolist()
    largest = max(map(abs, totals))
    told: list[Fact] = []
    usual: list[Fact] = []
    for total, places in sorted(zip(totals, members, strict=True), key=lambda item: -abs(item[0])):
        if abs(total) <= _FAINT * largest or len(told) == 8:
            break
        loud = (found.shares[places] * np.sign(total)).tolist()
        names = [found.names[place] for place in places]
        best = max(zip(names, loud, strict=True), key=lambda one: (facts.is_value(one[0], node), one[1]))[0]
        plain = best.removeprefix("log ")  # nobody counts neighbours in logarithms
        best = plain if plain in names else best
        if facts.tells(best):  # a network moves by what all nodes share; that is no reason
            kept = usual if facts.is_usual(best, node) else told
            kept.append(Fact(facts.say(best, node), total))
    return told or usual


@lru_cache(maxsize=16)
def _families(names: tuple[str, ...], groups: tuple[str, ...]) -> tuple[list[np.ndarray], np.ndarray]:
    """Where the columns of each source stand, and the source of each; the same for most nodes."""
    families: dict[tuple[str, str], list[int]] = {}
    for place, (name, group) in enumerate(zip(names, groups, strict=True)):
        source = name.split(", ")[0].partition(EQUALS)[0]
        families.setdefault((source.removeprefix("log ") if group == "structure" else source, group), []).append(place)
    members = [np.array(places) for places in families.values()]
    family = np.empty(len(names), dtype=np.int64)
    for number, places in enumerate(members):
        family[places] = number
    return members, family


def _by_surprise(facts: Facts, node: int) -> list[Fact]:
    """Where there are no shares, the attributes that are most unlike those of others; no side is claimed for them."""
    ranked = sorted(((facts.surprise(name, node), name) for name in facts.own[:200]), reverse=True)[:3]
    return [Fact(facts.say(name, node), 0.0) for surprise, name in ranked if surprise >= _UNUSUAL]
