"""Whether decisions in a database are about this network.

Ids do not tell: two networks may both number their nodes from 1. Pairs of ids that are joined do. Of all edges the few
hundred with the smallest hashes are kept in the database, a fair sample that is the same whoever draws it. A network that
has grown since, or forgot its oldest edges, still holds many of them; another one holds next to none.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from calirare.data.graph import RareGraph
from calirare.errors import DataError
from calirare.review.store.events import EventLog

_KEPT = 256
_LEAST_SHARED = 0.2
"""Share of the kept edges that must be there. Between networks of 100 nodes or more, chance gives less than a tenth."""
_KIND, _SUBJECT = "network", "edges"


def fingerprint(graph: RareGraph) -> list[str]:
    """The edges with the smallest hashes, as text; of a graph without edges, the nodes."""
    hashes = np.unique(_hashes(graph))[:_KEPT]
    return [f"{one:016x}" for one in hashes.tolist()]


def check_network(log: EventLog, graph: RareGraph) -> None:
    """Refuse a database whose decisions are about another network.

    A network that was given a name is what its name says; no edges are compared.
    """
    known = log.last(_KIND, _SUBJECT)
    if known is None or log.network:
        return
    kept = json.loads(known.value)
    share = float(np.isin(kept, [f"{one:016x}" for one in _hashes(graph).tolist()]).mean()) if kept else 1.0
    if share < _LEAST_SHARED:
        raise DataError(
            f"{log.database.name} holds the decisions of another network ({share:.0%} of its edges are in this one). "
            "Choose another --db, or give this network a name with --network."
        )


def join_network(log: EventLog, graph: RareGraph) -> None:
    """`check_network`, then remember this network's edges."""
    check_network(log, graph)
    found, known = json.dumps(fingerprint(graph)), log.last(_KIND, _SUBJECT)
    if known is None or known.value != found:
        log.add(_KIND, _SUBJECT, found, reviewer="calirare")


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
