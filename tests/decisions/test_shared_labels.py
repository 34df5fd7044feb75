"""Labels that meet at a neighbour of another kind, beside a loop over all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calirare as cr
from calirare.data.graph import RareGraph
from calirare.decisions.shared_labels import SharedLabels
from calirare.decisions.why import Reasons
from calirare.decisions.wording import wording_of
from calirare.estimator.evidence import labels_read


def files_and_domains(seed, files=120, domains=60, calls=250):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, files, calls), files + rng.integers(0, domains, calls)
    y = np.where(rng.random(files) < 0.6, rng.random(files) < 0.08, -1)
    return RareGraph(
        x=rng.normal(size=(files + domains, 2)),
        edge_index=np.array(ends),
        y=np.concatenate([y, np.full(domains, -1)]),
        node_type=np.repeat([0, 1], [files, domains]),
        node_type_names=("file", "domain"),
    )


@pytest.mark.parametrize("seed", range(3))
def test_as_a_loop_over_all_pairs(seed):
    graph = files_and_domains(seed)
    pairs = {(int(a), int(b)) for a, b in graph.edge_index.T}
    known = [k for k in range(graph.num_nodes) if graph.y[k] >= 0]
    share = sum(graph.y[k] == 1 for k in known) / len(known)
    found = SharedLabels(graph, graph.y, 1)
    told = 0
    for node in range(120):
        best = {}
        for at in range(120, 180):
            others = [k for k in known if k != node and (k, at) in pairs]
            rare = sum(graph.y[k] == 1 for k in others)
            above = (rare - share * len(others)) / math.sqrt(max(share * (1 - share) * len(others), 1e-12))
            if (node, at) in pairs and rare and above > 3:
                best[at] = (above, len(others), rare)
        if not best:
            assert found.at[node] == -1 and not found.say(node, "fraud", False)
            continue
        told += 1
        at = int(found.at[node])
        assert best[at][0] == pytest.approx(max(above for above, *_ in best.values()))
        assert (found.labelled[node], found.rare[node]) == best[at][1:]
    assert told


def test_the_reason_names_what_the_rare_ones_share():
    names = [f"f{k}" for k in range(40)]
    rare = [k < 6 for k in range(40)]
    nodes = {"file": names, "size": [k % 7 for k in range(40)], "verdict": ["bad" if one else "good" for one in rare]}
    nodes["verdict"][5] = None
    edges = {
        "file": names * 2,
        "domain": ["evil.org" if one else f"d{k % 5}" for k, one in enumerate(rare)] + ["d0"] * 40,
    }
    graph = cr.read_tables(nodes, edges, label="verdict", rare="bad")
    clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    reasons = Reasons(clf, graph, labels_read(graph, clf.labelled_nodes_), wording_of(clf, 0.9))
    assert reasons.neighbours(5) == "5 of 5 other labelled nodes at domain evil.org are known bad"
    assert reasons.neighbours(0).startswith("4 of 4 other labelled nodes at domain evil.org")
    assert reasons.neighbours(10) == ""
    written = reasons.write(np.array([5, 10]), ["alert", "clear"], np.array([False, False]))
    assert (
        written[0].startswith("5 of 5 other labelled nodes at domain evil.org are known bad; ")
        and "evil" not in written[1]
    )
