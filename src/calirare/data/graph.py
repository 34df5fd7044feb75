"""A graph in which one class of nodes is rare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from calirare.data import exchange
from calirare.data.against_rest import names_of_two, rare_or_not
from calirare.data.arrays import UNKNOWN, column_of
from calirare.data.as_of import Moment, edges_before, first_seen, weights_of
from calirare.data.checks import is_whole
from calirare.data.edge_table import EdgeTable
from calirare.data.feature_places import count_words
from calirare.data.graph_checks import checked
from calirare.data.merging import merge_edges
from calirare.data.scored import scored_nodes
from calirare.data.split import Split
from calirare.data.storage.archive import MAX_BYTES
from calirare.data.storage.portable import read_graph, write_graph
from calirare.data.units import unscaled
from calirare.errors import ColumnError, InputError, nearest

if TYPE_CHECKING:
    import networkx
    import pandas
    import polars
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)  # arrays have no single truth value: a generated == would raise
class RareGraph:
    """An undirected attributed graph with one rare class.

    Args:
        x: Node features, `(N, F)`; a float array or a SciPy CSR matrix. Sparse features stay sparse.
        edge_index: `(2, E)` int64, both directions of every edge. Direction, duplicates and self-loops are
            merged when the graph is made, so any list of edges will do.
        y: `(N,)` class of each node, `UNKNOWN` (-1) where it is not known.
        rare_class: The class looked for, an index into `class_names`.
        edge_weight: `(E,)` positive weights, or None.
        class_names: One name per class.
        node_ids: `(N,)` the user's names for the nodes; default 0…N-1.
        feature_names: One name per feature.
        original_y: `(N,)` classes before they were merged into rare against rest; splits draw from these.
        public_split: The split that came with a benchmark.
        true_probability: `(N,)` P(rare) of each node where a generator knows it.
        schema: How tables became features, as plain data (see `calirare.data.tables.reading`).
        name: What to call the graph in tables.
        edges: The edges as they came, with direction, repetition and columns; None where nothing more is known of them
            than `edge_index` says.
        node_type: `(N,)` codes into `node_type_names`, where the graph has several kinds of node.
        node_type_names: Names of the kinds of node.
        node_time: `(N,)` float64 when each node came, in seconds since 1970 or in the table's own steps; NaN where that
            is not known.

    >>> graph = RareGraph(x=np.eye(3), edge_index=np.array([[0, 1, 1], [1, 0, 2]]), y=np.array([0, 1, -1]))
    >>> graph.num_nodes, graph.num_edges, graph.edge_index.shape
    (3, 2, (2, 4))
    """

    x: np.ndarray | sp.csr_array
    edge_index: np.ndarray
    y: np.ndarray
    rare_class: int = 1
    edge_weight: np.ndarray | None = None
    class_names: tuple[str, ...] = ("normal", "rare")
    node_ids: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    original_y: np.ndarray | None = None
    public_split: Split | None = None
    true_probability: np.ndarray | None = None
    schema: dict[str, Any] | None = None
    name: str = "graph"
    edges: EdgeTable | None = None
    node_type: np.ndarray | None = None
    node_type_names: tuple[str, ...] = ()
    node_time: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name, value in checked(vars(self)).items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        known = self.y[self.known]
        counts = () if self.node_type is None else np.bincount(self.node_type, minlength=len(self.node_type_names))
        kinds = ", ".join(f"{count:,} {name}" for name, count in zip(self.node_type_names, counts, strict=False))
        return (
            f"RareGraph({self.name}: {self.num_nodes:,} nodes{kinds and f' ({kinds})'}, {self.num_edges:,} edges, "
            f"{self.num_features:,} features; {known.size:,} labels, {(known == self.rare_class).sum():,} of them "
            f"{self.class_names[self.rare_class]!r}, the rare class)"
        )

    @property
    def num_nodes(self) -> int:
        return int(self.x.shape[0])

    @property
    def num_edges(self) -> int:
        """Undirected edges, each counted once."""
        return int(self.edge_index.shape[1] // 2)

    @property
    def num_features(self) -> int:
        return int(self.x.shape[1])

    @property
    def table_columns(self) -> list[dict[str, Any]]:
        """What the schema says of each column of the nodes table; empty for a graph that did not come from tables."""
        found = (self.schema or {}).get("columns")
        return found if isinstance(found, list) else []

    def schema_of(self, part: str) -> Mapping[str, Any]:
        """What the schema says of `"label"`, `"nodes"`, `"edges"` or `"read"`; empty where it says nothing."""
        return (self.schema or {}).get(part) or {}

    @property
    def num_words(self) -> int:
        """How many of the last features are words of texts, as the schema says."""
        return count_words(self.table_columns)

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def degree(self) -> np.ndarray:
        """`(N,)` how many neighbours each node has."""
        return np.bincount(self.edge_index[0], minlength=self.num_nodes)

    @property
    def known(self) -> np.ndarray:
        """Nodes with a label, ascending."""
        return np.flatnonzero(self.y != UNKNOWN)

    @property
    def scored(self) -> np.ndarray:
        """Nodes that are looked at, ascending: all, or those of the kinds that carry labels, now or at fit."""
        if self.node_type is None:
            return np.arange(self.num_nodes)
        return np.flatnonzero(scored_nodes(self.node_type, self.node_type_names, self.known, self.schema))

    @property
    def unlabelled(self) -> np.ndarray:
        """Nodes of `scored` without a label, ascending."""
        return np.setdiff1d(self.scored, self.known)

    @property
    def ids(self) -> np.ndarray:
        """The users' names for the nodes, or their indices."""
        return np.arange(self.num_nodes) if self.node_ids is None else np.asarray(self.node_ids)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """One name per feature: those given, else numbered."""
        return self.feature_names or tuple(f"attribute {k}" for k in range(self.num_features))

    @property
    def rare_share(self) -> float:
        """Share of the rare class among the known labels."""
        known = self.y[self.known]
        return float((known == self.rare_class).mean()) if known.size else float("nan")

    def column(self, name: str) -> np.ndarray:
        """`(N,)` float64: an attribute in the units of its table; gaps as they were filled.

        >>> RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1]), feature_names=("a", "b")).column("b")
        array([0., 1.])
        """
        names = self.feature_names or ()
        if name not in names:
            numbers = [said["name"] for said in self.table_columns if said["type"] == "numeric"] or names
            raise ColumnError(f"there is no column of numbers {name!r} among the attributes: " + nearest(name, numbers))
        values = column_of(self.x, names.index(name))
        for said in self.table_columns:
            if said["name"] == name and "scale" in said:
                return unscaled(values, said["mean"], said["scale"])
        return values

    def index_of(self, node: Any) -> int:
        """The index of a node given by index or by id.

        >>> graph = RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1]), node_ids=["a", "b"])
        >>> graph.index_of("b"), graph.index_of(0)
        (1, 0)
        """
        if isinstance(node, str):
            found = np.flatnonzero(self.ids.astype(str) == node)
            if not found.size:
                raise InputError(f"node must be an index or an id of the graph; there is no {node!r}.")
            return int(found[0])
        if not is_whole(node) or not 0 <= node < self.num_nodes:
            raise InputError(f"node must be one of 0…{self.num_nodes - 1}, or an id; got {node!r}.")
        return int(node)

    def with_labels(self, y: np.ndarray) -> RareGraph:
        """The same graph with other labels.

        >>> graph = RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1]))
        >>> graph.with_labels(np.array([0, UNKNOWN])).known.tolist(), graph.known.tolist()
        ([0], [0, 1])
        """
        return replace(self, y=y)

    def against_rest(self) -> RareGraph:
        """The rare class against all others: `y` is 1 for rare, 0 for the rest; `original_y` keeps the classes.

        >>> none, names = np.zeros((2, 0), int), ("a", "b", "c")
        >>> graph = RareGraph(x=np.eye(3), edge_index=none, y=np.arange(3), rare_class=2, class_names=names)
        >>> binary = graph.against_rest()
        >>> binary.y.tolist(), binary.class_names, binary.original_y.tolist()
        ([0, 0, 1], ('not c', 'c'), [0, 1, 2])
        """
        return replace(
            self,
            y=rare_or_not(self.y, self.rare_class),
            rare_class=1,
            class_names=names_of_two(self.class_names, self.class_names[self.rare_class]),
            original_y=self.y if self.original_y is None else self.original_y,
        )

    def as_of(self, moment: Moment, time: str | None = None) -> RareGraph:
        """The graph with the edges before a moment alone, so that nothing of what came later is seen.

        Nodes, attributes and labels stay; edges without a time stay out.

        Args:
            moment: Seconds since 1970, a number in the table's own steps, or a date.
            time: Which column of the edges; default: the first that is a time.

        >>> from calirare.data.tables.reading import read_tables
        >>> nodes = {"id": ["a", "b", "c"], "x": [1, 2, 3], "y": [0, 1, 0]}
        >>> edges = {"source": ["a", "b"], "target": ["b", "c"], "time": ["2024-01-01 10:00", "2024-02-01"]}
        >>> graph = read_tables(nodes, edges, label="y", rare=1)
        >>> graph.as_of("2024-01-15").num_edges, graph.num_edges
        (1, 2)
        """
        kept = edges_before(self.edges, moment, time)
        ends = np.vstack([kept.source, kept.target])
        weight = None if self.edge_weight is None else weights_of(kept, self.schema_of("edges").get("weight"))
        edge_index, edge_weight = merge_edges(ends, weight, self.num_nodes, rows_count=True)
        return replace(self, edges=kept, edge_index=edge_index, edge_weight=edge_weight)

    def first_seen(self, time: str | None = None) -> np.ndarray:
        """`(N,)` when each node came: its own time in a graph whose nodes have one, else that of its first edge; NaN where
        that is not known.
        """
        if self.node_time is not None and time in (None, self.schema_of("nodes").get("time")):
            return self.node_time
        return first_seen(self.edges, self.num_nodes, time)

    def adjacency(self) -> sp.csr_array:
        """Weights of the edges as a symmetric CSR matrix, `(N, N)`.

        >>> RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1])).adjacency().toarray().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        weight = np.ones(self.edge_index.shape[1], dtype=np.float32) if self.edge_weight is None else self.edge_weight
        return sp.csr_array((weight, tuple(self.edge_index)), shape=(self.num_nodes, self.num_nodes))

    def to_pyg(self) -> Data:
        """A PyG `Data` with copies of the arrays; sparse features become a torch CSR tensor, masks the public split."""
        return exchange.to_pyg(self)

    def to_networkx(self) -> networkx.Graph:
        """The graph in NetworkX; see `calirare.data.exchange.to_networkx`.

        >>> RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1])).to_networkx().number_of_edges()
        1
        """
        return exchange.to_networkx(self)

    def to_polars(self) -> tuple[polars.DataFrame, polars.DataFrame]:
        """Nodes and edges as polars frames: `id`, features by name, `label`; `source`, `target`, the edges' columns."""
        return exchange.to_polars(self)

    def to_pandas(self) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """The same as pandas frames."""
        return exchange.to_pandas(self)

    def save(self, path: str | Path) -> None:
        """Write the graph as a portable `.npz` without pickles.

        >>> import tempfile
        >>> graph = RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1]), name="pair")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     graph.save(f"{folder}/pair.npz")
        ...     RareGraph.load(f"{folder}/pair.npz").name
        'pair'
        """
        write_graph(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, *, rare_class: int | None = None, max_bytes: int = MAX_BYTES) -> RareGraph:
        """Read a graph written by `save`; see `calirare.data.storage.portable.read_graph`."""
        return read_graph(Path(path), cls, rare_class=rare_class, max_bytes=max_bytes)


def require_graph(graph: object) -> None:
    """Refuse what is no graph, with a word on how to get one."""
    if not isinstance(graph, RareGraph):
        raise InputError(
            f"graph must be a RareGraph; got {type(graph).__name__}. Make one with read_tables, from_pyg or RareGraph."
        )
