"""A model, its graph, and what it says of every node: all that the pages show, unchanging until the next refit."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from calirare import __version__
from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph
from calirare.data.storage.archive import content_sha256, read_arrays, write_arrays
from calirare.decisions.shared_labels import name_with_kind
from calirare.decisions.triage import triage
from calirare.decisions.why import Reasons
from calirare.decisions.wording import Wording, wording_of
from calirare.errors import DataError, InputError
from calirare.estimator.classifier import RareCategoryClassifier, load
from calirare.estimator.evidence import labels_read, read_nodes
from calirare.estimator.labels import ReadLabels
from calirare.estimator.methods import get_method
from calirare.persistence.folder import load_graph, model_version
from calirare.persistence.writing import HEADER, reading
from calirare.review.store.decisions import stored_text
from calirare.review.versions import Base, load_base
from calirare.uncertainty.calibration_maps import CalibrationDraws, Drawn

logger = logging.getLogger(__name__)
COVERAGE = 0.9
_SCORES_KEPT = 4
_CASES_KEPT = 10_000
_KEEPING = threading.Lock()
_COLUMNS = ("probability", "lower", "upper", "disagreement", "member")


@dataclass(frozen=True, eq=False)
class Scores:
    """What the model says of each node.

    Args:
        probability: `(N,)` P(rare).
        lower, upper: `(N,)` its interval; see `RareCategoryClassifier.predict_interval`.
        disagreement: `(N,)` how far the detectors lie apart; 0 where there is one.
        member: `(N, C)` bool: the classes in its conformal set.
        draws: What the labels leave open of the calibration; see `calirare.decisions.forecast`.
        alone: `(N, K)` P(rare) by each of K detectors alone; none where there is one.
    """

    probability: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    disagreement: np.ndarray
    member: np.ndarray
    draws: CalibrationDraws
    alone: np.ndarray

    @classmethod
    def of(cls, clf: RareCategoryClassifier, graph: RareGraph) -> Self:
        table = triage(clf, graph, coverage=COVERAGE, nodes=np.arange(graph.num_nodes), num_pulls=0)
        order = np.argsort(table.node)
        columns = {name: getattr(table, name)[order] for name in _COLUMNS}
        alone = np.array(list(clf.predict_alone(graph).values())).reshape(-1, graph.num_nodes).T
        return cls(**columns, draws=table.draws, alone=alone)

    def fits(self, graph: RareGraph) -> bool:
        """Whether these can be the scores of this graph's nodes; a file may hold anything."""
        n = graph.num_nodes
        columns = (self.probability, self.lower, self.upper, self.disagreement)
        return (
            all(column.shape == (n,) and column.dtype == np.float64 for column in columns)
            and self.alone.ndim == 2
            and len(self.alone) == n
            and all(((column >= 0) & (column <= 1)).all() for column in (*columns, self.alone))
            and self.member.shape == (n, graph.num_classes)
            and self.member.dtype == bool
            and self.draws.parameters.ndim == 2
            and self.draws.parameters.shape[1] == 2 + len(self.draws.knots)
            and bool(np.isfinite(self.draws.parameters).all() and np.isfinite(self.draws.knots).all())
            and bool(np.isfinite(astuple(self.draws.undo)).all() and self.draws.undo.keep > 0)
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """As arrays, for a file."""
        arrays = {name: getattr(self, name) for name in (*_COLUMNS, "alone")}
        draws = self.draws
        said = {"draws": draws.parameters, "knots": np.array(draws.knots, dtype=np.float64)}
        return arrays | said | {"undo": np.array(astuple(draws.undo))}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """From a file, which may hold anything; see `fits`."""
        base, keep, odds = arrays["undo"].ravel().tolist()
        draws = CalibrationDraws(arrays["draws"], tuple(arrays["knots"].ravel().tolist()), Drawn(base, keep, odds))
        return cls(**{name: arrays[name] for name in (*_COLUMNS, "alone")}, draws=draws)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One model with everything the desk asks of it.

    Args:
        version: Short name of exactly this model.
        clf: The model.
        graph: Its graph, the labels as the model read them.
        base: Labels and split before any decision.
        scores: What it says of each node.
    """

    version: str
    clf: RareCategoryClassifier
    graph: RareGraph
    base: Base
    scores: Scores

    @classmethod
    def load(cls, model: Path) -> Self:
        """Read a model folder with its graph; scores come from the file of an earlier start, or are computed."""
        with reading(model):  # model, graph and scores of one and the same save
            clf, graph, version = load(model), load_graph(model), model_version(model)
            snapshot = cls(version, clf, graph, load_base(model, clf, graph), load_scores(model, clf, graph))
        if len(snapshot.index) < graph.num_nodes:
            twice = next(name for node, name in enumerate(snapshot.ids) if snapshot.find(name) != node)
            raise DataError(
                f"several nodes are called {twice!r}, and the desk keeps decisions by name; "
                "give every node a name of its own and save the model again."
            )
        return snapshot

    @cached_property
    def ids(self) -> np.ndarray:
        """`(N,)` the nodes' names as text."""
        return np.array([str(one) for one in self.graph.ids.tolist()], dtype=object)

    @cached_property
    def index(self) -> dict[str, int]:
        """Node by its stored name."""
        return index_of(self.graph)

    def find(self, node_id: str) -> int | None:
        """The node of this name, or None."""
        return self.index.get(stored_text(node_id))

    @cached_property
    def adjacency(self) -> sp.csr_array:
        return self.graph.adjacency()

    def neighbours(self, node: int) -> np.ndarray:
        """The neighbours of a node."""
        adjacency = self.adjacency
        return np.asarray(adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]], dtype=np.int64)

    @cached_property
    def label(self) -> np.ndarray:
        """`(N,)` the labels that the model has read, `UNKNOWN` elsewhere: a label kept for testing is not shown."""
        read = read_nodes(self.clf, self.graph)
        return labels_read(self.graph, self.graph.known if read is None else read)

    @cached_property
    def listed(self) -> np.ndarray:
        """Nodes of the queue, ascending: those without a label before the first decision; all if every one had one.

        Of several kinds of node only those that carry labels are looked at, as in `calirare triage`.
        """
        open_nodes = np.setdiff1d(self.graph.scored, self._known_before)
        return open_nodes if open_nodes.size else self.graph.scored

    @cached_property
    def learned(self) -> np.ndarray:
        """Nodes of the queue whose label this model has from a decision, ascending."""
        return np.setdiff1d(self.listed[self.label[self.listed] != UNKNOWN], self._known_before)

    @cached_property
    def _known_before(self) -> np.ndarray:
        """Nodes whose label is read without any decision."""
        graph = self.graph
        if not np.array_equal(self.base.y, graph.y):
            graph = graph.with_labels(self.base.y)
        try:
            read = ReadLabels.of(get_method(self.clf.method), graph, self.base.split, self.clf.seed)
            return np.union1d(read.train_nodes, read.val_nodes)
        except InputError:
            return graph.known

    @cached_property
    def other_kind(self) -> dict[int, str]:
        """Nodes of kinds that carry no labels, each with its kind: the model does not speak of them."""
        graph = self.graph
        if graph.node_type is None:
            return {}
        others = np.setdiff1d(np.arange(graph.num_nodes), graph.scored)
        return {node: graph.node_type_names[graph.node_type[node]] for node in others.tolist()}

    def call(self, node: int) -> str:
        """A node's name in a list of nodes; one of another kind is called by it too, as in the reasons."""
        return name_with_kind(self.graph, node) if node in self.other_kind else str(self.ids[node])

    @cached_property
    def wording(self) -> Wording:
        return wording_of(self.clf, COVERAGE, self.ids)

    @cached_property
    def set_thresholds(self) -> np.ndarray:
        return self.clf.set_thresholds(COVERAGE)

    @cached_property
    def why(self) -> Reasons:
        """What speaks for and against each node."""
        return Reasons(self.clf, self.graph, self.label, self.wording)

    def keep(self, what: str, node: int, make: Callable[[], Any]) -> Any:
        """What `make` gives for a node, made once for the cases opened lately."""
        found = self._kept.get((what, node))
        if found is None:
            found = make()
            with _KEEPING:
                self._kept[what, node] = found
                while len(self._kept) > _CASES_KEPT:
                    del self._kept[next(iter(self._kept))]
        return found

    @cached_property
    def _kept(self) -> dict[tuple[str, int], Any]:
        return {}

    @cached_property
    def without_own_label(self) -> dict[int, float]:
        """P(rare) of each labelled node by the model that never saw its label."""
        return dict(zip(self.clf.labelled_nodes_.tolist(), self.clf.left_out_rare()[0].tolist(), strict=True))


def index_of(graph: RareGraph) -> dict[str, int]:
    """Node by its name as the database stores it."""
    return {stored_text(str(name)): node for node, name in enumerate(graph.ids.tolist())}


def load_scores(model: Path, clf: RareCategoryClassifier, graph: RareGraph) -> Scores:
    """The scores from the file beside the model if they are of exactly this model and graph, else new ones."""
    file = _scores_file(model)
    try:
        arrays = read_arrays(file)
        found = arrays.pop("checksum", np.zeros(0)).tobytes()
        scores = Scores.from_arrays(arrays)
        if found == _checksum(file, arrays) and scores.fits(graph):
            return scores
        logger.warning("%s was altered, or does not fit this model; the nodes are scored again.", file)
    except (DataError, KeyError, ValueError):
        pass  # not there yet, or not ours
    scores = Scores.of(clf, graph)
    keep_scores(model, scores)
    return scores


def keep_scores(model: Path, scores: Scores) -> None:
    """Write the current model's scores beside it, so that the next start is quick; those of a few others stay."""
    try:
        file, arrays = _scores_file(model), scores.to_arrays()
        write_arrays(file, arrays | {"checksum": np.frombuffer(_checksum(file, arrays), dtype=np.uint8)})
        newest_first = sorted(model.glob("scores-*.npz"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in newest_first[_SCORES_KEPT:]:
            old.unlink(missing_ok=True)
    except OSError as error:  # a read-only folder, a full disk: the desk works without
        logger.warning("the scores could not be kept for the next start: %s", error)


def _checksum(file: Path, arrays: dict[str, np.ndarray]) -> bytes:
    """sha256 over the scores and the file's name, which says whose they are; tells an altered or renamed file."""
    return hashlib.sha256(f"{file.name} {content_sha256(arrays)}".encode()).digest()


def _scores_file(model: Path) -> Path:
    """The name tells one pair of model and graph from another, and what one version of calirare says of it from the next."""
    header = json.loads((model / HEADER).read_bytes())
    digests = [str(header[name]["sha256"])[:12] for name in ("arrays", "graph")]
    return model / f"scores-{'-'.join(digests)}-{__version__}.npz"
