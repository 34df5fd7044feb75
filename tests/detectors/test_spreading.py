"""Labels spread along edges, against the sum of matrix powers and against real refits."""

from dataclasses import replace

import numpy as np
import pytest

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.detectors import Spreading, Stack, spreading
from calirare.detectors.base import DetectorInputs, LabelledNodes, gather_blocks
from calirare.detectors.left_out.folds import spread_over_folds
from calirare.errors import InputError
from calirare.metrics import roc_auc


def labels_at(nodes, y, num_classes=2, groups=None):
    n = len(nodes)
    return LabelledNodes(nodes, y, np.full(n, 1 / n), num_classes, np.arange(n) if groups is None else groups)


@pytest.fixture(scope="module")
def graph():
    """Two halves that hold together, and a third of nodes that nobody labels joined to none of them."""
    rng = np.random.default_rng(0)
    half = np.repeat([0, 1, 2], 40)
    pairs = rng.integers(0, 120, (2, 900))
    alike = (half[pairs[0]] == half[pairs[1]]) | ((rng.random(900) < 0.05) & (half[pairs] < 2).all(axis=0))
    return cr.RareGraph(x=rng.normal(size=(120, 2)), edge_index=pairs[:, alike], y=(half == 1).astype(np.int64))


@pytest.fixture(scope="module")
def labels(graph):
    nodes = np.sort(np.random.default_rng(1).permutation(80)[:40])
    return labels_at(nodes, graph.y[nodes])


def by_powers(graph, labels, alpha, steps, num_classes=2, A=None):
    """z `(N, C)` of the module's formula, with dense matrices."""
    A = graph.adjacency().toarray() if A is None else A
    root = np.sqrt(np.where(A.sum(axis=1) > 0, A.sum(axis=1), 1))
    S = A / np.outer(root, root)
    Y = np.zeros((graph.num_nodes, num_classes))
    Y[labels.nodes, labels.y] = 1
    t = sum(np.linalg.matrix_power(alpha * S, s) @ Y for s in range(1, steps + 1))
    z = np.log(t + 0.01 * np.bincount(labels.y, minlength=num_classes) / len(labels))
    return z - z.mean(axis=1, keepdims=True)


@pytest.mark.parametrize(("alpha", "steps"), [(0.95, 24), (0.5, 1)])
def test_it_is_the_sum_of_powers(graph, labels, alpha, steps):
    found = Spreading(alpha, steps).fit(DetectorInputs(graph), labels)
    np.testing.assert_allclose(
        found.logits(DetectorInputs(graph)), by_powers(graph, labels, alpha, steps), rtol=1e-4, atol=1e-5
    )


def test_ids_that_several_nodes_have_name_nobody(graph, labels):
    shared = DetectorInputs(replace(graph, node_ids=np.arange(graph.num_nodes) // 2))
    found = Spreading().fit(shared, labels)
    np.testing.assert_allclose(found.logits(shared), by_powers(graph, labels, 0.95, 24), rtol=1e-4, atol=1e-5)
    again = Spreading().restore(found.state())
    np.testing.assert_array_equal(again.logits(shared), found.logits(shared))


def test_of_three_classes_too(graph):
    nodes, y = np.arange(0, 120, 3), np.repeat([0, 1, 2], 40)[::3]
    labels, inputs = labels_at(nodes, y, 3), DetectorInputs(graph)
    found = Spreading().fit(inputs, labels)
    np.testing.assert_allclose(found.logits(inputs), by_powers(graph, labels, 0.95, 24, 3), rtol=1e-4, atol=1e-5)
    why, logits = found.contributions(inputs, 5, 2), found.logits(inputs)[5]
    share = (y == 2).mean()
    assert why.names == ("labels around it",) and why.base == pytest.approx(np.log(share / (1 - share)))
    assert why.logit == pytest.approx(logits[2] - np.logaddexp(logits[0], logits[1]))


def refit(inputs, labels, rows, whole, **options):
    """Fitted without some labels; the shares are those of all, which calibration speaks for."""
    found = Spreading(**options).fit(inputs, labels.take(np.setdiff1d(np.arange(len(labels)), rows)))
    found.shares_ = whole.shares_
    return found.logits(inputs)


@pytest.mark.refits
def test_left_out_is_what_a_refit_without_the_fold_says(graph, labels):
    inputs, copies = DetectorInputs(graph), replace(labels, groups=np.arange(len(labels)) // 2)
    for given in (labels, copies):
        whole, fold = Spreading().fit(inputs, given, seed=3), spread_over_folds(given, 3, 10)
        assert fold.max() == 9
        for number in range(10):
            left = np.flatnonzero(fold == number)
            expected = refit(inputs, given, left, whole)[given.nodes[left]]
            np.testing.assert_allclose(whole.left_out_logits()[left], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("steps", [2, 24])
def test_without_a_label_it_is_what_a_refit_says(graph, labels, steps):
    inputs, rows = DetectorInputs(graph), np.array([0, 7, 30])
    whole = Spreading(steps=steps).fit(inputs, labels)
    expected = np.stack([refit(inputs, labels, [row], whole, steps=steps) for row in rows], axis=1)
    found = gather_blocks(whole.logits_without(inputs, rows), rows, np.arange(graph.num_nodes))
    np.testing.assert_allclose(found, expected, atol=5e-4)
    moved = np.abs(expected - whole.logits(inputs)[:, None])
    assert moved.max() > 0.1 and np.abs(found - expected).max() < 5e-3 * moved.max()
    few = np.array([3, 100])
    np.testing.assert_allclose(whole.logits_without_at(inputs, rows, few), expected[few], atol=5e-4)


def test_labels_are_followed_the_same_in_sparse_and_dense_steps(graph, labels, monkeypatch):
    inputs, rows, nodes = DetectorInputs(graph), np.arange(20), np.arange(50)
    found = Spreading().fit(inputs, labels)
    answers = []
    monkeypatch.setattr(spreading, "_BLOCK_NUMBERS", 7 * graph.num_nodes)
    for much in (0, 1e9):
        monkeypatch.setattr(spreading, "_DENSE", much)
        answers.append(found.logits_without_at(inputs, rows, nodes))
    np.testing.assert_allclose(*answers, rtol=1e-12)
    assert (answers[0] != found.logits(inputs)[nodes][:, None]).any(axis=2).mean() > 0.5


def test_without_the_only_label_that_comes_it_has_nothing_to_say():
    rng = np.random.default_rng(0)
    graph = cr.RareGraph(
        x=np.zeros((8, 1)), edge_index=np.array([[0, 1, 0, 4, 5], [1, 2, 3, 5, 6]]), y=rng.integers(0, 2, 8)
    )
    found = Spreading().fit(DetectorInputs(graph), labels_at(np.array([0, 4]), np.array([1, 0])))
    told = found.logits_without_at(DetectorInputs(graph), np.array([0, 1]), np.array([2, 6]))
    assert (told[0, 0] == found.nothing).all() and (told[1, 1] == found.nothing).all()
    assert (told[0, 1] != found.nothing).all() and (told[1, 0] != found.nothing).all()


def with_kinds(graph, others, typed):
    """Besides the edges, called family, others that join anybody, called post."""
    rng = np.random.default_rng(3)
    own = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    both = np.hstack([own, rng.integers(0, 120, (2, others))])
    code = np.repeat([0, 1], [own.shape[1], others])
    columns = () if typed else (EdgeColumn("by", "category", code, ("family", "post")),)
    names = {"type": code, "type_names": ("family", "post")} if typed else {}
    return replace(graph, edge_index=both, edges=EdgeTable(*both, columns, **names))


@pytest.mark.parametrize("typed", [True, False])
def test_labels_go_along_the_kind_of_edges_that_joins_like_with_like(graph, labels, typed):
    mixed, kind = with_kinds(graph, 600, typed), "family" if typed else "by = family"
    found, inputs, plain = Spreading().fit(DetectorInputs(mixed), labels), DetectorInputs(mixed), DetectorInputs(graph)
    assert found.along_ == kind
    alone = Spreading().fit(plain, labels)
    np.testing.assert_allclose(found.logits(inputs), alone.logits(plain), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.left_out_logits(), alone.left_out_logits(), rtol=1e-5, atol=1e-6)
    rows, nodes = np.array([0, 7]), np.array([3, 50, 100])
    told = found.logits_without_at(inputs, rows, nodes)
    np.testing.assert_allclose(told, alone.logits_without_at(plain, rows, nodes), rtol=1e-4, atol=1e-5)
    assert found.contributions(inputs, 5, 1).names == (f"labels around it ({kind})",)
    again = Spreading().restore(found.state())
    assert again.along_ == kind and (again.logits(inputs) == found.logits(inputs)).all()
    every = Spreading(along="").fit(inputs, labels)
    assert every.along_ == "" and roc_auc(labels.y == 1, every.left_out_ @ [-1, 1]) < 1
    state = every.state()
    del state["along"]  # as models were stored before
    assert Spreading().restore(state).along_ == ""


def test_labels_go_along_all_kinds_that_join_like_with_like(graph, labels):
    mixed = with_kinds(graph, 600, typed=True)
    code = np.where(mixed.edges.type == 0, np.random.default_rng(0).integers(0, 2, len(mixed.edges)), 2)
    edges = replace(mixed.edges, type=code, type_names=("family", "work", "post"))
    found = Spreading().fit(DetectorInputs(replace(mixed, edges=edges)), labels)
    assert set(found.along_.split(" | ")) == {"family", "work"}
    plain = DetectorInputs(graph)
    alone = Spreading().fit(plain, labels).logits(plain)
    np.testing.assert_allclose(found.logits(DetectorInputs(replace(mixed, edges=edges))), alone, rtol=1e-5, atol=1e-6)


def with_amounts(graph, others):
    """Besides the edges, with large amounts, others that join anybody, with small ones; some edges twice, some amounts missing or 0."""
    rng = np.random.default_rng(4)
    own = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    both = np.hstack([own, own[:, :30], rng.integers(0, 120, (2, others))])
    amount = np.exp(rng.normal(np.repeat([3.0, -3.0], [own.shape[1] + 30, others]), 0.5))
    amount[::41], amount[5::41] = np.nan, 0.0
    number = np.ones(len(amount)) * 7
    columns = (EdgeColumn("amount", "number", amount), EdgeColumn("even", "number", number))
    return replace(graph, edge_index=both, edges=EdgeTable(*both, columns))


def test_labels_go_by_the_amounts_that_tell_who_is_close(graph, labels):
    mixed = with_amounts(graph, 600)
    inputs, table = DetectorInputs(mixed), mixed.edges
    found = Spreading().fit(inputs, labels)
    assert found.by_ == "amount" and found.along_ == ""
    A = np.zeros((120, 120))
    for a, b, amount in zip(table.source, table.target, table.columns[0].values, strict=True):
        if a != b and amount > 0:
            A[a, b] += amount
            A[b, a] += amount
    expected = by_powers(mixed, labels, 0.95, 24, A=A)
    np.testing.assert_allclose(found.logits(inputs), expected, rtol=1e-3, atol=1e-4)
    every = Spreading(by="").fit(inputs, labels)
    assert every.by_ == "" and roc_auc(labels.y == 1, every.left_out_ @ [-1, 1]) < roc_auc(
        labels.y == 1, found.left_out_ @ [-1, 1]
    )
    rows, nodes = np.array([0, 7]), np.array([3, 50, 70])
    expected = np.stack([refit(inputs, labels, [row], found, by="amount")[nodes] for row in rows], axis=1)
    np.testing.assert_allclose(found.logits_without_at(inputs, rows, nodes), expected, atol=1e-3)
    assert found.contributions(inputs, 5, 1).names == ("labels around it by amount",)
    again = Spreading().restore(found.state())
    assert again.by_ == "amount" and (again.logits(inputs) == found.logits(inputs)).all()
    state = found.state()
    del state["by"]  # as models were stored before
    assert Spreading().restore(state).by_ == ""


def test_what_neighbours_cannot_count_by_is_named(graph, labels):
    mixed = with_amounts(graph, 600)
    with pytest.raises(InputError, match=r"such as \['number of edges', 'amount', 'even'\]; got 'fee'"):
        Spreading(by="fee").fit(DetectorInputs(mixed), labels)
    with pytest.raises(InputError, match=r"such as \[\]; got 'amount'"):
        Spreading(by="amount").fit(DetectorInputs(graph), labels)


@pytest.mark.refits
def test_along_all_edges_where_no_kind_is_surely_better(graph):
    rng = np.random.default_rng(0)
    code = rng.integers(0, 2, graph.edge_index.shape[1])
    amount = EdgeColumn("amount", "number", np.exp(rng.normal(size=code.size)))
    mixed = replace(graph, edges=EdgeTable(*graph.edge_index, (amount,), type=code, type_names=("a", "b")))
    chosen, counted = [], []
    for seed in range(20):
        nodes = np.sort(rng.permutation(80)[:40])
        y = graph.y[nodes] if seed < 10 else rng.permutation(graph.y[nodes])
        found = Spreading().fit(DetectorInputs(mixed), labels_at(nodes, y), seed=seed)
        chosen.append(found.along_)
        counted.append(found.by_)
    assert chosen.count("") >= 18 and counted.count("") >= 18


def test_a_kind_of_edges_that_is_not_there_is_named(graph, labels):
    mixed = with_kinds(graph, 600, typed=True)
    with pytest.raises(InputError, match=r"such as \['post', 'family'\]; got 'phone'"):
        Spreading(along="phone").fit(DetectorInputs(mixed), labels)
    with pytest.raises(InputError, match="such as \\[\\]; got 'phone'"):
        Spreading(along="phone").fit(DetectorInputs(graph), labels)


@pytest.mark.refits
def test_labels_that_mean_nothing_are_not_found(graph):
    """Over many draws: of one draw the nodes of a half have nearly one score, and their labels are theirs by chance."""
    rng, inputs, nodes = np.random.default_rng(0), DetectorInputs(graph), np.arange(80)
    found = []
    for _ in range(40):
        labels = labels_at(nodes, (rng.permutation(80) < 24).astype(np.int64))
        left_out = Spreading().fit(inputs, labels).left_out_logits()
        found.append(roc_auc(labels.y == 1, left_out[:, 1]))
    assert np.mean(found) == pytest.approx(0.5, abs=0.05)


def test_nodes_are_known_again_by_their_ids(graph, labels):
    named = replace(graph, node_ids=np.array([f"n{k}" for k in range(120)]))
    found = Spreading().fit(DetectorInputs(named), labels)
    order = np.random.default_rng(2).permutation(120)
    place = np.argsort(order)
    turned = cr.RareGraph(
        x=graph.x[order], edge_index=place[graph.edge_index], y=graph.y[order], node_ids=named.node_ids[order]
    )
    logits = found.logits(DetectorInputs(named))
    np.testing.assert_allclose(found.logits(DetectorInputs(turned)), logits[order])
    without = found.logits_without_at(DetectorInputs(turned), np.array([4]), place[[int(labels.nodes[4]), 9]])
    expected = found.logits_without_at(DetectorInputs(named), np.array([4]), np.array([int(labels.nodes[4]), 9]))
    np.testing.assert_allclose(without, expected)


def test_keys_far_apart_are_restored():
    """Two ids whose keys lie further apart than a number of the same size can say."""
    ids = np.array([f"n{k}" for k in range(40)])
    graph = cr.RareGraph(
        x=np.zeros((40, 1)), edge_index=np.array([[0, 1], [1, 2]]), y=np.zeros(40, dtype=np.int64), node_ids=ids
    )
    keys = DetectorInputs(graph).keys
    low, high = np.argsort(keys)[[0, -1]]
    pair = replace(graph, edge_index=np.array([[low], [high]]))
    found = Spreading().fit(DetectorInputs(pair), labels_at(np.array([low, high]), np.array([0, 1])))
    assert int(keys[high]) - int(keys[low]) > 2**63 and len(found.passed_.keys) == 2
    again = Spreading().restore(found.state())
    np.testing.assert_array_equal(again.logits(DetectorInputs(pair)), found.logits(DetectorInputs(pair)))


def test_a_new_node_hears_its_neighbours_and_another_network_nothing(graph, labels):
    named = replace(graph, node_ids=np.array([f"n{k}" for k in range(120)]))
    found = Spreading().fit(DetectorInputs(named), labels)
    grown = cr.RareGraph(
        x=np.zeros((122, 2)),
        edge_index=np.hstack([graph.edge_index, [[120, 120, 120, 121], [41, 42, 43, 100]]]),
        y=np.full(122, -1),
        node_ids=np.array([*named.node_ids, "new", "far"]),
    )
    told = found.logits(DetectorInputs(grown))
    assert (
        told[120, 1] > 0.5 and (told[121] == found.nothing).all()
    )  # its neighbours are of the rare half; nobody labels the third
    bare = Spreading().fit(DetectorInputs(graph), labels)
    other = cr.RareGraph(x=graph.x, edge_index=graph.edge_index[:, (graph.edge_index != 5).all(axis=0)], y=graph.y)
    silent = (bare.logits(DetectorInputs(graph)) == bare.nothing).all(axis=1)
    assert silent[80:].all() and not silent[:80].all() and (bare.logits(DetectorInputs(other)) == bare.nothing).all()


def test_another_network_with_the_same_ids_is_not_taken_for_it(graph, labels):
    """As where two banks number their accounts alike; half of the edges may be gone."""
    named = replace(graph, node_ids=np.arange(120))
    found = Spreading().fit(DetectorInputs(named), labels)
    rng = np.random.default_rng(0)
    other = replace(named, edge_index=rng.permutation(120)[graph.edge_index])
    assert (found.logits(DetectorInputs(other)) == found.nothing).all()
    assert (found.logits_without_at(DetectorInputs(other), np.arange(3), np.arange(5)) == found.nothing).all()
    once = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    fewer = replace(named, edge_index=once[:, rng.random(once.shape[1]) < 0.7])
    assert (found.logits(DetectorInputs(fewer))[:80] != found.nothing).any(axis=1).mean() > 0.8


def test_where_no_label_reaches_the_others_speak_for_it(graph, labels):
    inputs = DetectorInputs(graph)
    stack = Stack(["linear", "spreading"]).fit(inputs, labels)
    assert stack.silence_.silent.tolist() == [False, True]
    linear, spreading = (member.logits(inputs) for member in stack.members_)
    nothing = stack.members_[1].nothing
    assert (spreading[80:] == nothing).all()
    logits = stack.logits(inputs)
    np.testing.assert_allclose(logits[80:, 1], stack.silence_.mixture[1, 0] * linear[80:] + stack.silence_.shift[1])
    assert (logits[:80, 1] == spreading[:80])[(spreading[:80] != nothing).any(axis=1)].all()
    weights = np.array([0.6, 0.5])
    (why,) = stack.weighted_contributions(inputs, np.array([100]), 1, weights)
    assert "labels around it" not in why.names
    own = stack.members_[0].contributions(inputs, 100, 1)
    assert why.logit == pytest.approx((0.6 + 0.5 * stack.silence_.mixture[1, 0]) * own.logit)
    (near,) = stack.weighted_contributions(inputs, np.array([5]), 1, weights)
    parts = [member.contributions(inputs, 5, 1) for member in stack.members_]
    assert near.logit == pytest.approx(0.6 * parts[0].logit + 0.5 * parts[1].logit)


def test_it_is_left_out_where_no_label_reaches_another(graph, labels):
    lonely = cr.RareGraph(x=graph.x, edge_index=np.zeros((2, 0), dtype=np.int64), y=graph.y)
    stack = Stack(["linear", "spreading"]).fit(DetectorInputs(lonely), labels)
    assert stack.left_out_reasons_ == {"spreading": "no label reaches another along the edges"}


@pytest.mark.parametrize("wrong", [{"alpha": 1.0}, {"alpha": 0}, {"alpha": "much"}, {"steps": 0}, {"steps": 2.5}])
def test_parameters_out_of_range_are_refused(graph, labels, wrong):
    with pytest.raises(cr.errors.InputError, match=next(iter(wrong))):
        Spreading(**wrong).fit(DetectorInputs(graph), labels)
