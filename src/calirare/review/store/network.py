"""Whether decisions in a database are about this network.

Ids do not tell: two networks may both number their nodes from 1. Pairs of ids that are joined do. Of all edges the few
hundred with the smallest hashes are kept in the database, a fair sample that is the same whoever draws it. A network that
has grown since, or forgot its oldest edges, still holds many of them; another one holds next to none.

The edges of another week may all be new. So labels are kept too, of a few hundred nodes: where ids have the labels that
they had, far better than by luck, it is the same network.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from sqlalchemy import select

from calirare.data.arrays import labels_agree
from calirare.data.graph import RareGraph
from calirare.errors import DataError
from calirare.review.store.events import EventLog
from calirare.review.store.tables import DECISIONS

_KEPT = 256
_KEPT_OF_A_CLASS = 128
_FEWEST_LABELS = 10
"""That both must know; fewer may agree by luck."""
_LEAST_SHARED = 0.2
"""Share of the kept edges that must be there. Between networks of 100 nodes or more, chance gives less than a tenth."""
_KIND, _EDGES, _LABELS = "network", "edges", "labels"


def fingerprint(graph: RareGraph) -> list[str]:
    """The edges with the smallest hashes, as text; of a graph without edges, the nodes."""
    hashes = np.unique(_hashes(graph))[:_KEPT]
    return [f"{one:016x}" for one in hashes.tolist()]


def check_network(log: EventLog, graph: RareGraph, option: str = "--db") -> None:
    """Refuse a database, given with `option`, whose decisions are about another network.

    A network that was given a name is what its name says; nothing is compared.
    """
    known = log.last(_KIND, _EDGES)
    if known is None or log.network:
        return
    kept = json.loads(known.value)
    share = float(np.isin(kept, [f"{one:016x}" for one in _hashes(graph).tolist()]).mean()) if kept else 1.0
    if share < _LEAST_SHARED and not _labelled_alike(log, graph) and _has_decisions(log):
        raise DataError(
            f"{log.database.name} holds the decisions of another network ({share:.0%} of its edges are in this one, and no "
            f"labels tell that its nodes are the same). Choose another {option}, or give this network a name with --network."
        )


def join_network(log: EventLog, graph: RareGraph) -> None:
    """`check_network`, then remember this network's edges and labels."""
    check_network(log, graph)
    for subject, value in ((_EDGES, fingerprint(graph)), (_LABELS, _labels(graph))):
        found, known = json.dumps(value), log.last(_KIND, subject)
        if known is None or known.value != found:
            log.add(_KIND, subject, found, reviewer="calirare")


def _labelled_alike(log: EventLog, graph: RareGraph) -> bool:
    """Whether ids have the labels that they had."""
    event = log.last(_KIND, _LABELS)
    then = {} if event is None else json.loads(event.value)
    if not then or not graph.known.size:
        return False
    of_hash = _labels_by_hash(graph)
    both = [(rare, of_hash[one]) for one, rare in then.items() if one in of_hash]
    return len(both) >= _FEWEST_LABELS and labels_agree(*np.array(both).T)


def _labels(graph: RareGraph) -> dict[str, int]:
    """Of each class, rare or not, the labelled nodes with the smallest hashes, and which class it is."""
    of_hash = _labels_by_hash(graph)
    each = [sorted(one for one, label in of_hash.items() if label == rare)[:_KEPT_OF_A_CLASS] for rare in (0, 1)]
    return {one: rare for rare in (0, 1) for one in each[rare]}


def _labels_by_hash(graph: RareGraph) -> dict[str, int]:
    """Whether each labelled node is rare."""
    names, rare = graph.ids[graph.known].tolist(), graph.y[graph.known] == graph.rare_class
    return {f"{_hash(str(name)):016x}": int(label) for name, label in zip(names, rare.tolist(), strict=True)}


def _has_decisions(log: EventLog) -> bool:
    query = select(DECISIONS.c.id).where(DECISIONS.c.network == log.network).limit(1)
    with log.database.connected() as connection:
        return connection.execute(query).first() is not None


def _hashes(graph: RareGraph) -> np.ndarray:
    nodes = np.array([_hash(str(name)) for name in graph.ids.tolist()], dtype=np.uint64)
    pairs = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    if not pairs.size:
        return nodes
    ends = np.sort(nodes[pairs], axis=0)
    with np.errstate(over="ignore"):
        mixed = ends[0] * np.uint64(0x9E3779B97F4A7C15) + (ends[1] ^ (ends[1] >> np.uint64(29)))
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(32))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
