"""The model and the network that a service answers from, and how a newer one takes their place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph
from calirare.decisions.cases import decide_cases
from calirare.decisions.costs import Costs
from calirare.errors import InputError
from calirare.estimator.classifier import RareCategoryClassifier, load
from calirare.persistence.folder import model_version
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.live.update import Update, as_name

_MOST_CELLS = 4_000_000
Rows = list[dict[str, Any]]
Tables = Rows | dict[str, Rows]
"""The rows of one table, or of several by name."""
ReadTables = Callable[[RareCategoryClassifier], RareGraph]
"""The tables as a model wants them."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """One model on one network. It never changes, so that a request is answered from one of them from end to end.

    Args:
        live: The scores.
        version: Of the model, as `model_version` gives it.
        since: When it was loaded, in seconds since 1970.
        scored: `(N,)` which nodes are of the kinds that are scored.
    """

    live: LiveScores
    version: str
    since: float
    scored: np.ndarray

    @classmethod
    def read(cls, model: Path, read_tables: ReadTables, coverage: float) -> Loaded:
        version = ""
        while (held := model_version(model)) != version:  # one that is saved meanwhile is read again
            version, classifier = held, load(model)
        return cls.of(LiveScores(classifier, read_tables(classifier), coverage=coverage), version)

    @classmethod
    def of(cls, live: LiveScores, version: str) -> Loaded:
        scored = np.zeros(live.graph.num_nodes, dtype=bool)
        scored[live.graph.scored] = True
        return cls(live, version, time.time(), scored)

    @property
    def unknown(self) -> np.ndarray:
        """P(rare) of the nodes whose label is not known: what a run is judged by."""
        open_nodes = self.scored & (self.live.graph.y == UNKNOWN)
        return self.live.table["probability"][open_nodes]

    def known(self, node: str) -> dict[str, Any] | None:
        """The score of a known node as it stands; None where there is none."""
        index = self.live.names.find(node)
        if index is None or not self.scored[index]:
            return None
        return {name: _plain(values[index]) for name, values in self.live.table.items()}

    def score(self, nodes: Tables, edges: Tables, also: Iterable[Any]) -> dict[str, np.ndarray]:
        """See `LiveScores.score`; without rows, the known nodes as they stand."""
        return self._said(self._read_rows(nodes, edges), list(also))

    def decide(
        self, nodes: Tables, edges: Tables, ids: list[Any], costs: Costs, budget: int | None
    ) -> dict[str, np.ndarray]:
        """Alert, review or clear the nodes of these ids, known or among the rows."""
        update, names = self._read_rows(nodes, edges), [as_name(one) for one in ids]
        fresh = set() if update is None else set(update.ids[: update.num_asked].astype(str).tolist())
        found = self._said(update, [name for name in names if name not in fresh])
        row_of = {str(one): row for row, one in enumerate(found["id"].tolist())}
        table = {name: values[[row_of[one] for one in names]] for name, values in found.items()}
        return decide_cases(self.live.classifier, table, costs, budget)

    def _read_rows(self, nodes: Tables, edges: Tables) -> Update | None:
        return self.live.read(self._nodes(nodes), as_tables(edges)) if nodes or edges else None

    def _said(self, update: Update | None, also: list[Any]) -> dict[str, np.ndarray]:
        known = [self.live.index_of(one) for one in also]
        if update is not None:
            return self.live.score_update(update, known)
        if not known:
            raise InputError("give nodes, edges or ids: there is nothing to score.")
        return {name: values[known] for name, values in self.live.table.items()}

    @property
    def _id(self) -> str:
        return str((self.live.graph.schema or {})["id"])

    def _nodes(self, rows: Tables) -> dict[str, Any] | None:
        """The rows of nodes as a table, which names them as the nodes table does; or as several."""
        if isinstance(rows, dict):
            return as_tables(rows)
        table = as_columns(rows)
        if table is not None and self._id not in table:
            names = list(table)
            got = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
            raise InputError(
                f"each row of nodes must give the node's id under {self._id!r}, as the nodes table does; got {got or 'no keys'}."
            )
        return table

    def explain(self, node: Any, nodes: Tables, edges: Tables, top: int) -> dict[str, Any]:
        """The columns that made a node's probability, strongest first; those beyond `top` are one sum."""
        why = self.live.explain(node, self._nodes(nodes), as_tables(edges))
        shown = zip(why.column[:top].tolist(), why.group[:top].tolist(), why.share[:top].tolist(), strict=True)
        return {
            "id": node,
            "probability": why.probability,
            "logit": why.logit,
            "base": why.base,
            "columns": [{"column": column, "group": group, "share": share} for column, group, share in shown],
            "others": float(why.share[top:].sum()),
        }

    def facts(self) -> dict[str, Any]:
        """What is loaded."""
        graph = self.live.graph
        return {
            "model": self.version,
            "detector": self.live.classifier.detector_.name,
            "rare": self.live.classifier.class_names_[self.live.classifier.rare_class_],
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "coverage": self.live.verdicts.coverage,
            "loaded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.since)),
        }


Note = Callable[[Loaded], None]


class ReadHere:
    """Loads a model in this process and tells of it. `calirare.scoring.service.own_process` has one that does so in another."""

    def __call__(self, model: Path, read_tables: ReadTables, coverage: float, note: Note | None) -> Loaded:
        loaded = Loaded.read(model, read_tables, coverage)
        if note is not None:
            note(loaded)
        return loaded

    def close(self) -> None:
        """Break off what is being read, where that can be done."""


class Models:
    """The model in use. A reload reads the folder and the tables again, and takes over when it is ready.

    Args:
        model: Its folder.
        read_tables: Gives the network.
        coverage: Of intervals and sets.
        note: Told of each model that was loaded, before it answers.
        reader: What reloads read with; the first model is read here, for there is nobody yet to wait.
    """

    def __init__(
        self,
        model: Path,
        read_tables: ReadTables,
        coverage: float = 0.9,
        note: Note | None = None,
        reader: ReadHere | None = None,
    ) -> None:
        self._asked = model, read_tables, coverage, note
        self._reader = reader or ReadHere()
        self.model, self.current = model, ReadHere()(*self._asked)

    def reload(self) -> Loaded:
        """Read everything again, one at a time; requests go on with the old one, and stay with it if this fails."""
        self.current = self._reader(*self._asked)
        return self.current

    def close(self) -> None:
        """Break off a reload."""
        self._reader.close()

    @property
    def is_outdated(self) -> bool:
        """Whether the folder holds another model than the one in use."""
        try:
            return model_version(self.model) != self.current.version
        except (InputError, OSError):  # it is being written
            return False


def as_columns(rows: Rows) -> dict[str, list[Any]] | None:
    """Rows as a table; None for no rows. Where a column holds text in one row, it is text.

    >>> as_columns([{"id": 1, "x": 0.5}, {"id": "b"}])
    {'id': ['1', 'b'], 'x': [0.5, None]}
    """
    if not rows:
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    if len(names) * len(rows) > _MOST_CELLS:  # else rows that share no name would be a table as large as their square
        raise InputError(f"{len(rows):,} rows name {len(names):,} different columns; send rows of the same columns.")
    table = {name: [row.get(name) for row in rows] for name in names}
    for name, values in table.items():
        if any(isinstance(value, str) for value in values):
            table[name] = [None if value is None else str(value) for value in values]
    return table


def as_tables(rows: Tables) -> dict[str, Any] | None:
    """The same of several tables.

    >>> as_tables({"calls": [{"a": 1}], "visits": []}), as_tables([{"a": 1}])
    ({'calls': {'a': [1]}}, {'a': [1]})
    """
    if not isinstance(rows, dict):
        return as_columns(rows)
    found = {name: as_columns(some) for name, some in rows.items()}
    return {name: table for name, table in found.items() if table is not None} or None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
