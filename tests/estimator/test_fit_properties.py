"""Whatever a fit is asked for: a model whose numbers can be used, or one of our errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from properties import anything, few_or_many, run_property

import calirare as cr
from calirare.detectors import GAT, GCN, GIN, SAGE
from calirare.errors import CalirareError

pytestmark = pytest.mark.usefixtures("quick_networks_here")

few_or_many_examples = few_or_many(4, 400)
numbers = st.one_of(st.integers(-3, 40), st.floats(), st.none(), st.booleans(), st.text(max_size=3))
ARGUMENTS = {
    "method": st.sampled_from([*cr.methods(), "", "jacknife", None, 3]),
    "detector": st.sampled_from(["gcn", "gat", "gin", "sage", "linear", "", "gnc", None, 3]),
    "prior": st.sampled_from(["natural", "balanced", "", "uniform", None, 3]),
    "rare_share": numbers,
    "seed": st.one_of(st.integers(), st.floats(), st.none(), st.text(max_size=3)),
    "class_costs": st.one_of(st.sampled_from(["inverse_frequency", "even", None]), st.lists(numbers, max_size=3)),
}
OF_NETWORKS = {
    "hidden": numbers,
    "dropout": numbers,
    "epochs": st.one_of(st.integers(-3, 6), st.floats(), st.none(), st.text(max_size=3)),
    "lr": numbers,
    "weight_decay": st.one_of(numbers, st.just("left_out")),
    "patience": numbers,
    "settle": numbers,
}


@st.composite
def odd_graphs(draw):
    """Small graphs of every unpleasant shape: edgeless, stars, constant and huge features, hardly a label."""
    size = draw(st.integers(2, 25))
    scale = draw(st.sampled_from([0.0, 1e-6, 1.0, 1e6]))
    x = scale * np.random.default_rng(draw(st.integers(0, 9))).normal(size=(size, draw(st.integers(1, 4))))
    ends = st.integers(0, size - 1)
    pairs = draw(
        st.one_of(st.just([]), st.just([(0, k) for k in range(size)]), st.lists(st.tuples(ends, ends), max_size=40))
    )
    y = draw(st.lists(st.integers(-1, 1), min_size=size, max_size=size))
    return cr.RareGraph(x=x, edge_index=np.array(pairs, dtype=np.int64).reshape(-1, 2).T, y=np.array(y))


def quick(name, **options):
    """A detector that learns in no time; what is no name stays as it is."""
    networks = {"gcn": GCN, "gat": GAT, "gin": GIN, "sage": SAGE}
    return networks[name](**{"epochs": 4, "hidden": 3} | options) if name in networks else name


def check(graph, **options):
    try:
        clf = cr.RareCategoryClassifier(**{"detector": quick("gcn"), "device": "cpu"} | options).fit(graph)
        p, interval = clf.predict_proba(graph), clf.predict_interval(graph)
        sets = clf.predict_set(graph)
    except CalirareError as error:
        assert str(error)
        return
    assert p.shape == (graph.num_nodes, 2) and sets.shape == p.shape
    assert np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    assert ((interval.lower >= 0) & (interval.lower <= interval.upper) & (interval.upper <= 1)).all()


@few_or_many_examples
def test_wild_arguments(examples):
    graph = cr.make_transactions(40, rare_share=0.3, labelled_share=0.8, seed=0)
    wild = st.fixed_dictionaries({}, optional=ARGUMENTS | {"device": st.sampled_from(["cpu", "meta", "gpu"])})

    def fits(options, network):
        check(graph, **options | {"detector": quick(options.get("detector", "gcn"), **network)})

    run_property(examples, fits, options=wild, network=st.fixed_dictionaries({}, optional=OF_NETWORKS))


@few_or_many_examples
def test_graphs_of_every_shape(examples):
    def fits(graph, method, detector):
        check(graph, method=method, detector=quick(detector))

    run_property(
        examples,
        fits,
        graph=odd_graphs(),
        method=st.sampled_from(list(cr.methods())),
        detector=st.sampled_from(["gcn", "gat", "gin", "sage", "linear"]),
    )


@few_or_many_examples
def test_anything_for_a_graph_or_a_split(examples):
    graph = cr.make_transactions(40, rare_share=0.3, labelled_share=0.8, seed=0)

    clf = cr.RareCategoryClassifier(quick("gcn", epochs=2), device="cpu")

    def refuses(first, second):
        with pytest.raises(CalirareError, match="graph must be a RareGraph"):
            clf.fit(first)
        if second is not None:
            with pytest.raises(CalirareError, match="split must be a Split"):
                clf.fit(graph, second)
        try:
            split = cr.Split(train=first, val=second)
            clf.fit(graph, split).predict_proba(graph)
        except CalirareError as error:
            assert str(error)

    run_property(examples, refuses, first=anything, second=anything)
