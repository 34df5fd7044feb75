"""Score new and changed nodes from their surroundings, with the numbers of a full scoring.

Columns and networks look two steps far. What they need of the rest of the graph is made once, when the graph is loaded;
then a question costs what its neighbourhood costs. Columns that speak of the whole graph follow exactly too: sizes of
components by joining those that new edges join, core numbers by looking at the part of a level that may rise
(`calirare.scoring.live.cores`), clustering by the triangles that new edges close, two-hop reach by the degrees that grew.

Nodes and edges come, attributes change; nothing goes. Where edges or nodes were removed, load the tables again. Answers
speak of the nodes that were asked about; what their edges mean for the nodes at the other end is told when these are
asked about (`also`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from calirare.data.around import InputsAround
from calirare.data.graph import RareGraph
from calirare.data.inputs import choose_device
from calirare.data.node_keys import is_known_by
from calirare.decisions.wording import no_score
from calirare.detectors.base import Detector, DetectorInputs, Sender
from calirare.detectors.networks.backbones.layerwise import layers_of
from calirare.detectors.networks.network import Network
from calirare.detectors.stack import Stack
from calirare.errors import InputError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.features.columns import Columns
from calirare.features.structure import neighbours
from calirare.scoring.live.base import GrownBase, Standing, some_nodes
from calirare.scoring.live.columns import columns_of
from calirare.scoring.live.links import places_in
from calirare.scoring.live.networks import LocalWords, Surroundings, network_logits, tensors_around
from calirare.scoring.live.structure import Structure
from calirare.scoring.live.update import NodeNames, Update, as_name, read_update
from calirare.scoring.table import check_reads_tables
from calirare.scoring.verdicts import Verdicts
from calirare.uncertainty.explanation import Explanation


class LiveScores:
    """A fitted model and a graph, ready to score what comes.

    Args:
        classifier: Fitted on tables, with detectors of calirare's own and a calibrator that does not look at the graph.
        graph: The network as it stands, read with the model's schema.
        coverage: Of intervals and sets.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=300, seed=0)
    >>> live = LiveScores(cr.RareCategoryClassifier(detector="linear").fit(graph), graph)
    >>> edges = {"source": [graph.ids[0]], "target": [graph.ids[1]], "amount": [9.5], "time": ["2024-02-03"], "channel": ["app"]}
    >>> table = live.score(edges=edges, also=[graph.ids[0]])
    >>> table["id"].tolist() == [graph.ids[0]], bool(table["probability"][0] != live.table["probability"][0])
    (True, True)
    """

    def __init__(self, classifier: RareCategoryClassifier, graph: RareGraph, *, coverage: float = 0.9) -> None:
        check_reads_tables(classifier)
        _check(classifier, graph)
        self.classifier, self.graph, self.names = classifier, graph, NodeNames(graph)
        self.verdicts = Verdicts.of(classifier, coverage=coverage)
        self.device = choose_device(classifier.device)
        detector, recipe = classifier.detector_, classifier.state_.recipe
        detector.to(self.device)
        inputs, structure = DetectorInputs(graph, recipe, self.device), Structure(neighbours(graph))
        if recipe is not None:
            inputs.columns = recipe.apply(graph, structure.columns)
        self.table = self.verdicts.table(graph.ids, *self.verdicts.said(detector.logits(inputs)), graph.degree)
        """The scores of every node as the graph stands."""
        base = None
        if recipe is not None:
            base = inputs.columns.values[:, : recipe.propagated[1]].copy()
        keys = inputs.keys
        del inputs  # its columns are larger than what stays
        over = {one.over for one in classifier.members_ if isinstance(one, Sender)}
        self.standing = Standing(graph, recipe, structure, base, keys, over)

    def read(self, nodes: Any = None, edges: Any = None) -> Update:
        """Rows as the model wants them; see `read_update`."""
        return read_update(self.graph, self.names, nodes, edges)

    def score(self, nodes: Any = None, edges: Any = None, also: Iterable[Any] = ()) -> dict[str, np.ndarray]:
        """What a full scoring with these rows added would say, in the columns of `score_table`.

        Args:
            nodes: New nodes, and known ones whose attributes changed: a table as in `read_tables`.
            edges: Edges that came, among known and new nodes: a table as in `read_tables`.
            also: Ids of known nodes that are asked about too.

        Returns:
            One row per row of `nodes`, in its order, then those of `also`.
        """
        return self.score_update(self.read(nodes, edges), [self.index_of(one) for one in also])

    def score_update(self, update: Update, also: list[int] | None = None) -> dict[str, np.ndarray]:
        """`score` for rows that were read; `also` holds node indices."""
        given = update.nodes[: update.num_asked]
        asked = np.concatenate([given, np.array(also or [], dtype=np.int64)])
        if not asked.size:
            raise InputError("give new nodes, or the ids of known ones, beside the edges: nobody is asked about.")
        ids = update.ids[: given.size].astype(object)
        names = np.concatenate([ids, self.graph.ids[asked[given.size :]].astype(object)])
        nodes = np.unique(asked)
        question, places = _Question(self, update, nodes), places_in(nodes, asked)[0]
        probabilities, apart = self.verdicts.said(question.logits(self.classifier.detector_))
        return self.verdicts.table(names, probabilities[places], apart[places], question.degree[places])

    def explain(self, node: Any, nodes: Any = None, edges: Any = None) -> Explanation:
        """The columns that made a node's P(rare), known or among the rows that come.

        The labels that pull it are left out; `classifier.explain` has them for nodes of the graph.
        """
        update = None if nodes is None and edges is None else self.read(nodes, edges)
        mine = [] if update is None else np.flatnonzero(update.ids.astype(str) == str(node)).tolist()
        index = int(update.nodes[mine[0]]) if update is not None and mine else self.index_of(node)
        question = _Question(self, update or self._nothing, np.array([index]))
        logits = question.logits(self.classifier.detector_)
        return replace(self.classifier.explain_columns(question.widened(), logits, 0), ids=np.array([node]))

    @property
    def _nothing(self) -> Update:
        graph = self.graph
        none, table = np.empty(0, dtype=np.int64), None if graph.edges is None else graph.edges.take(slice(0))
        weight = None if graph.edge_weight is None else np.empty(0, dtype=np.float32)
        return Update(none, graph.ids[:0], graph.x[:0], graph.num_nodes, table, np.empty((2, 0), np.int64), weight)

    def is_network_of(self, sender: Sender) -> bool:
        """Whether the graph is the network that a detector was fitted to; found once, for it takes all nodes."""
        if id(sender) not in self._known:
            links, keys = self.standing.structure.links, self.standing.keys
            joined = lambda one, other: int(links.find(np.array([one]), np.array([other]))[0]) >= 0  # noqa: E731
            self._known[id(sender)] = is_known_by(sender.pairs, keys, joined)
        return self._known[id(sender)]

    @cached_property
    def _known(self) -> dict[int, bool]:
        return {}

    @cached_property
    def _scored(self) -> np.ndarray:
        """`(N,)` bool."""
        return np.isin(np.arange(self.graph.num_nodes), self.graph.scored)

    def index_of(self, node: Any) -> int:
        """The index of a known node of a kind that is scored, by its id."""
        found = self.names.find(node)
        if found is not None and self._scored[found]:
            return found
        if kind := self.kind_without_score(node):
            raise InputError(f"node {node!r} has no score. {no_score(kind)}")
        raise InputError(f"there is no node {node!r}; new ones come with their attributes.")

    def kind_without_score(self, node: Any) -> str:
        """The kind of a known node of a kind that is not scored, by its id, with or without the kind's name in front; else empty."""
        apart = self.graph.schema_of("nodes").get("apart", {}).values()
        for name in (node, *(f"{kind} {as_name(node)}" for kind in apart)):
            found = self.names.find(name)
            if found is not None and not self._scored[found] and self.graph.node_type is not None:
                return self.graph.node_type_names[self.graph.node_type[found]]
        return ""


class _Question(DetectorInputs):
    """Some nodes of a grown graph as detectors read them: their columns, and the network around them."""

    def __init__(self, live: LiveScores, update: Update, nodes: np.ndarray) -> None:
        self.live, self.grown = live, GrownBase(live.standing, update)
        self.nodes, self.around = nodes, Surroundings(self.grown)
        self.names = live.graph.feature_names
        graph = some_nodes(self.grown.attributes(nodes), self.names)
        recipe = live.classifier.state_.recipe
        super().__init__(graph, recipe, live.device)
        self.word_hops = LocalWords(self.around, nodes, 0 if recipe is None else recipe.own.num_words)

    @cached_property
    def degree(self) -> np.ndarray:
        """`(n,)` how many neighbours each of the nodes has."""
        return self.grown.structure.links.degrees(self.nodes)

    @cached_property
    def alone(self) -> np.ndarray:
        return self.degree == 0

    def from_neighbours(self, sender: Sender) -> np.ndarray:
        return self.live.is_network_of(sender) * self.grown.from_neighbours(sender, self.nodes)

    @cached_property
    def columns(self) -> Columns:
        return columns_of(self.grown, self.nodes)

    @cached_property
    def _near(self) -> tuple[InputsAround, Any]:
        return tensors_around(self.around, int(self.nodes[0]), self.device)

    @property
    def tensors(self) -> InputsAround:
        return self._near[0]

    def widened(self) -> _Question:
        """The question with the attributes of the nodes around the first, which contributions speak of."""
        wide = copy.copy(self)
        wide.graph = some_nodes(self._near[1], self.names)
        return wide

    def logits(self, detector: Detector) -> np.ndarray:
        """`(n, C)`, of a stack `(n, K, C)`."""
        if isinstance(detector, Stack):
            found = np.stack([self.logits(member) for member in detector.members_], axis=1)
            return detector.silence_(found, self.alone)
        if isinstance(detector, Network):
            return network_logits(detector.model_, self.around, self.nodes, self.device)
        return detector.logits(self)


def _check(classifier: RareCategoryClassifier, graph: RareGraph) -> None:
    if classifier.looks_at_graph:
        raise InputError(
            f"method {classifier.method!r} calibrates by looking at the whole graph, so that a new node changes every "
            "answer; fit with method='jackknife'."
        )
    if graph.schema is None:
        raise InputError(
            "the graph must come from tables, read with the model's schema: read_for(classifier, nodes, edges)."
        )
    if graph.edge_weight is not None and graph.edges is None:
        raise InputError("the graph's weights must be a column of its edges; read it from tables.")
    for member in classifier.members_:
        if isinstance(member, Network):
            layers_of(member.model_)
