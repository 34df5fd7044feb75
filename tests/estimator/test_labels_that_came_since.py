"""A model fitted while labels were hidden, asked once they are known; and labels that are numbered otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calirare as cr
from calirare.errors import LabelError, ModelFormatError
from calirare.estimator.evidence import read_nodes

pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.fixture(scope="module")
def full():
    return cr.make_transactions(num_nodes=400, rare_share=0.2, seed=0, with_payments=False)


@pytest.fixture(scope="module")
def hidden(full):
    return np.random.default_rng(0).permutation(full.num_nodes)[:200]


def hide(graph, nodes):
    y = graph.y.copy()
    y[nodes] = -1
    return graph.with_labels(y)


@pytest.mark.parametrize("method", ["jackknife", "temperature"])
def test_labels_that_came_since_judge_the_model(full, hidden, method, tmp_path):
    clf = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1), method=method).fit(hide(full, hidden))
    clf.save(tmp_path / "model")
    right = clf.predict(full)[hidden] == full.y[hidden]
    for one in (clf, cr.load(tmp_path / "model")):
        np.testing.assert_array_equal(read_nodes(one, full), np.setdiff1d(np.arange(full.num_nodes), hidden))
        for found in (one.evaluate(full, hidden, num_resamples=0), one.evaluate(full, num_resamples=0)):
            assert found.num_nodes == hidden.size and found["accuracy"].value == pytest.approx(right.mean())
        if method == "jackknife":  # which calibrates to the share
            assert abs(one.estimate_rare_share(full).value - (full.y[hidden] == 1).mean()) < 0.1
        assert one._num_share_labels() == (200 - one.labelled_nodes_.size or 200)


def test_their_answer_is_known_so_they_are_not_decided(full, hidden):
    fitted_on = hide(full, hidden)
    clf = cr.RareCategoryClassifier("linear").fit(fitted_on)
    since = hide(full, hidden[50:])
    assert sorted(cr.triage(clf, since).node) == sorted(hidden[50:])
    assert sorted(cr.triage(clf, full, nodes=hidden).node) == sorted(hidden)


@pytest.mark.refits
def test_the_split_that_came_with_the_graph_is_as_if_given(full, hidden):
    """Labels were read by it, the rare share was counted on its validation labels, and its test nodes judge."""
    rest = np.setdiff1d(np.arange(full.num_nodes), hidden)
    split = cr.Split(train=rest[:120], val=rest[120:], test=hidden[:150])
    for method in ("jackknife", "temperature"):
        clf = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1), method=method)
        came = clf.fit(replace(full, public_split=split))
        given = cr.RareCategoryClassifier(**clf.get_params(deep=False)).fit(full, split)
        for name in ("lower", "upper"):
            one, other = (getattr(model.predict_interval(full), name) for model in (came, given))
            np.testing.assert_array_equal(one, other)
        assert dict(came.evaluate(full, num_resamples=9)) == dict(given.evaluate(full, num_resamples=9))
        assert came.evaluate(full, num_resamples=0).num_nodes == split.test.size
        np.testing.assert_array_equal(read_nodes(came, full), split.labelled)


def test_classes_in_another_order_are_not_compared(full):
    clf = cr.RareCategoryClassifier("linear").fit(full)
    turned = replace(full, y=1 - full.y, rare_class=0, class_names=full.class_names[::-1])
    more = replace(full, class_names=(*full.class_names, "third"))
    for other in (turned, more, replace(full, rare_class=0)):
        np.testing.assert_array_equal(clf.predict_proba(other), clf.predict_proba(full))
        for ask in (clf.score, clf.evaluate):
            with pytest.raises(LabelError, match="must have the classes of the fit, in their order"):
                ask(other)
    renamed = replace(full, class_names=("no", "yes"))
    assert clf.score(renamed) == clf.score(full)


@pytest.fixture(scope="module")
def named(full, hidden):
    ids = np.array([f"account {i}" for i in range(full.num_nodes)], dtype=object)
    return replace(hide(full, hidden), node_ids=ids)


@pytest.fixture(scope="module", params=["any", "older"])
def told_by_ids(named, request):
    """A model that keeps keys of ids; an older calirare kept none but those of `spreading`."""
    if request.param == "any":
        return named, cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1)).fit(named)
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", "spreading"])).fit(named)
    clf.state_ = replace(clf.state_, keys=None)
    return named, clf


def rows_of(graph, nodes):
    """The graph of some nodes, in this order."""
    place = np.full(graph.num_nodes, -1)
    place[nodes] = np.arange(nodes.size)
    ends = place[graph.edge_index]
    ends = ends[:, (ends >= 0).all(axis=0)]
    return cr.RareGraph(x=graph.x[nodes], edge_index=ends, y=graph.y[nodes], node_ids=graph.node_ids[nodes],
                        class_names=graph.class_names)  # fmt: skip


def test_rows_in_another_order_do_not_make_labels_unread(told_by_ids, full, hidden):
    """Else a model would be judged by what it was taught."""
    named, clf = told_by_ids
    some = np.random.default_rng(1).permutation(full.num_nodes)[:300]
    moved = rows_of(named, some)
    np.testing.assert_array_equal(read_nodes(clf, moved), moved.known)
    found = clf.evaluate(moved, num_resamples=0)
    rows = np.flatnonzero(np.isin(clf.labelled_nodes_, some))
    right = clf.predict_left_out()[rows].argmax(axis=1) == clf.labelled_y_[rows]
    assert found.num_nodes == rows.size and found["accuracy"].value == pytest.approx(right.mean())
    assert sorted(cr.triage(clf, moved).node) == np.flatnonzero(moved.y == -1).tolist()
    assert (
        "training node" in cr.triage(clf, moved, nodes=[0]).frame()["pulls"][0]
    )  # numbers of the fit, not names of here
    assert "training node" in repr(clf.explain(moved, 0)) and "account" in repr(clf.explain(named, 0))


def test_labels_read_for_validation_are_known_again_too(named, tmp_path):
    clf = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1), method="temperature").fit(named)
    assert 0 < clf.held_out_nodes_.size < named.known.size
    some = np.random.default_rng(1).permutation(named.num_nodes)[:300]
    moved = rows_of(named, some)
    y = moved.y.copy()
    came = np.flatnonzero(y == -1)[:20]
    y[came] = np.arange(20) % 2
    since = replace(moved, y=y)
    clf.save(tmp_path / "with", named)
    clf.save(tmp_path / "without")
    for one in (clf, cr.load(tmp_path / "with")):
        np.testing.assert_array_equal(read_nodes(one, since), moved.known)
    stranger = cr.load(tmp_path / "without")  # the folder says nothing of ids
    assert stranger.state_.keys is None and read_nodes(stranger, since) is None


def test_edited_keys_are_refused(named, tmp_path):
    clf = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1)).fit(named)
    for keys in (clf.state_.keys[:-1], clf.state_.keys.astype(np.float64)):
        clf.state_ = replace(clf.state_, keys=keys)
        clf.save(tmp_path / "model", named)
        with pytest.raises(ModelFormatError, match="keys/nodes must hold a number for each label"):
            cr.load(tmp_path / "model")


def test_the_same_ids_in_another_network_are_other_nodes(told_by_ids):
    named, clf = told_by_ids
    other = replace(
        cr.make_transactions(num_nodes=400, rare_share=0.2, seed=7, with_payments=False), node_ids=named.node_ids
    )
    assert read_nodes(clf, other) is None and clf.evaluate(other, num_resamples=0).num_nodes == 400


def test_a_corrected_label_does_not_make_all_unread(full, hidden):
    """The node is judged by its label of today, by the model that did not see the one before."""
    graph = hide(full, hidden)
    clf = cr.RareCategoryClassifier("linear").fit(graph)
    y = graph.y.copy()
    y[clf.labelled_nodes_[0]] = 1 - clf.labelled_y_[0]
    np.testing.assert_array_equal(read_nodes(clf, graph.with_labels(y)), graph.known)
    right = clf.predict_left_out().argmax(axis=1) == y[clf.labelled_nodes_]
    assert clf.evaluate(graph.with_labels(y), num_resamples=0)["accuracy"].value == pytest.approx(right.mean())
