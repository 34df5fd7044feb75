"""What a new user does wrong gets a sentence of ours, and what looks right is right."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import calirare as cr
from calirare.errors import InputError, LabelError, MissingDependencyError

pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.fixture(scope="module")
def case():
    graph = cr.make_transactions(200, labelled_share=0.5, rare_share=0.15, seed=0, with_payments=False)
    return graph, cr.RareCategoryClassifier("linear").fit(graph)


def test_score_counts_known_labels_alone_and_weighs_them(case):
    graph, clf = case
    right = (clf.predict(graph) == graph.y)[graph.known]
    assert clf.score(graph) == clf.score(graph, graph.y) == clf.score(graph, graph.y.tolist()) == right.mean()
    weights = np.arange(graph.num_nodes)
    assert clf.score(graph, None, weights) == pytest.approx(np.average(right, weights=weights[graph.known]))


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda clf, graph: clf.score(graph, ["yes"] * 200), "y must hold one class per node"),
        (lambda clf, graph: clf.score(graph, [1, 0]), "y must hold one class per node"),
        (lambda clf, graph: clf.score(graph, graph.y, [1.0]), "sample_weight must hold one number per node"),
        (lambda clf, graph: clf.score(graph, graph.y, -np.ones(200)), "sample_weight must hold .* 0 or more"),
        (lambda clf, graph: clf.score(graph, graph.y, np.zeros(200)), "sample_weight must be above 0"),
        (lambda clf, graph: clf.score(graph.x), "graph must be a RareGraph"),
        (lambda clf, graph: clf.evaluate(graph.x), "graph must be a RareGraph"),
        (lambda clf, graph: clf.evaluate(graph, coverage="x"), "coverage must lie between 0 and 1"),
        (lambda clf, graph: clf.predict_interval(graph, "0.9"), "coverage must lie between 0 and 1; got '0.9'"),
        (lambda clf, graph: clf.predict_interval(graph, None), "coverage must lie between 0 and 1"),
        (lambda clf, graph: clf.predict_set(graph, "a"), "coverage must lie between 0 and 1"),
        (lambda clf, graph: clf.jackknife_interval(graph, "a"), "coverage must lie between 0 and 1"),
        (lambda clf, graph: clf.individual_calibration_error(graph, "a"), "coverage must lie between 0 and 1"),
        (
            lambda clf, graph: clf.predict(
                replace(
                    graph,
                    x=graph.x[:0],
                    edge_index=[[], []],
                    y=graph.y[:0],
                    node_ids=None,
                    edges=None,
                    original_y=None,
                    true_probability=None,
                )
            ),
            "must have at least one node",
        ),
        (
            lambda clf, graph: clf.individual_calibration_error(graph, nodes=[-1]),
            "nodes must list node indices in 0…199",
        ),
        (lambda clf, graph: clf.estimate_rare_share(graph, []), "nodes must name at least one node"),
        (lambda clf, graph: clf.explain(graph, "nobody"), "there is no 'nobody'"),
        (lambda clf, graph: clf.explain(graph, 1.5), "or an id; got 1.5"),
        (lambda clf, graph: cr.triage(clf, graph, coverage="x"), "coverage must lie between 0 and 1"),
        (lambda clf, graph: cr.triage(clf, graph, num_pulls="x"), "num_pulls must be a whole number"),
        (lambda clf, graph: cr.triage(clf, graph, review_error="x"), "review_error must lie in"),
        (
            lambda clf, graph: cr.triage(clf, graph, cost_miss=np.ones((200, 1))),
            r"one per node, .* got shape \(200, 1\)",
        ),
        (lambda clf, graph: cr.triage(clf, graph.x), "graph must be a RareGraph"),
        (lambda clf, graph: cr.triage("model", graph), "clf must be a fitted RareCategoryClassifier; got str"),
        (lambda clf, graph: cr.RareCategoryClassifier(method=["a"]).fit(graph), "method must be one of"),
        (lambda clf, graph: cr.RareCategoryClassifier.from_trained("m", graph), "module must be a torch.nn.Module"),
        (
            lambda clf, graph: cr.RareCategoryClassifier.from_trained(torch.nn.Linear(2, 2), graph.x),
            "graph must be a RareGraph",
        ),
        (
            lambda clf, graph: cr.RareCategoryClassifier(torch.nn.Linear).fit(graph),
            r"not a class; got Linear. Make one: Linear\(…\)",
        ),
        (
            lambda clf, graph: cr.RareCategoryClassifier(torch.nn.Linear(9, 2)).fit(graph),
            r"must take module\(x, edge_index\) .* TypeError",
        ),
        (
            lambda clf, graph: cr.RareCategoryClassifier(GCNConv(99, 2)).fit(graph),
            "with x of 12 columns; .* shapes cannot be multiplied",
        ),
        (
            lambda clf, graph: cr.split_labels(replace(graph, public_split=cr.Split(train=[0, 1])), 1),
            "as it is: graph.public_split",
        ),
        (lambda clf, graph: cr.split_labels(graph, train_fraction="a"), "train_fraction must lie between 0 and 1"),
        (lambda clf, graph: cr.split_labels(graph.y), "graph must be a RareGraph"),
        (lambda clf, graph: cr.make_transactions(100, rare_share="a"), "rare_share must lie above 0"),
        (lambda clf, graph: cr.make_transactions(100, average_degree=None), "average_degree must lie between 0"),
        (lambda clf, graph: cr.load(3), "path must name a folder; got 3"),
        (lambda clf, graph: clf.save(3), "path must name a folder; got 3"),
    ],
)
def test_mistakes_get_a_sentence_of_ours(case, ask, says):
    graph, clf = case
    with pytest.raises(InputError, match=says):
        ask(clf, graph)


def test_a_node_is_explained_by_its_id_too(case):
    graph, clf = case
    by_id, by_index = clf.explain(graph, str(graph.ids[7])), clf.explain(graph, 7)
    assert by_id.node == by_index.node == 7 and by_id.probability == by_index.probability
    columns, labels = by_id.columns_frame().to_pandas(), by_id.frame().to_pandas()
    assert list(columns) == ["column", "group", "share"] and list(labels) == ["labelled_node", "label", "pull"]
    assert columns["share"].sum() + by_id.base == pytest.approx(by_id.logit)


def pyg(**more):
    torch.manual_seed(0)
    y = (torch.arange(120) % 4 == 0).long()
    data = Data(x=torch.randn(120, 3) + y[:, None], edge_index=torch.randint(0, 120, (2, 300)), y=y)
    for name, value in more.items():
        data[name] = value
    return data


@pytest.mark.parametrize("masks", [("train", "val", "test"), ("train", "test"), ("train",)])
def test_masks_make_a_split_and_fit_keeps_to_it(masks):
    """With masks for some parts alone, test nodes must not train either."""
    rows = {"train": slice(0, 60), "val": slice(60, 80), "test": slice(80, 120)}
    given = {}
    for part in masks:
        given[f"{part}_mask"] = torch.zeros(120, dtype=torch.bool)
        given[f"{part}_mask"][rows[part]] = True
    graph = cr.from_pyg(pyg(**given))
    clf = cr.RareCategoryClassifier("linear").fit(graph)
    assert clf.labelled_nodes_.max() < (80 if "val" in masks else 60)
    assert graph.public_split.test.size == (40 if "test" in masks else 0)


def test_numbers_on_edges_become_columns():
    values = torch.rand(300, 2)
    graph = cr.from_pyg(pyg(edge_attr=values))
    assert [column.name for column in graph.edges.columns] == ["edge_attr 0", "edge_attr 1"]
    np.testing.assert_allclose(graph.edges.columns[1].values, values[:, 1], rtol=1e-6)
    names = cr.RareCategoryClassifier("linear").fit(graph).explain(graph, 0).column
    assert any("edge_attr 1" in name for name in names)
    weighed = cr.from_pyg(pyg(edge_attr=values[:, :1]))  # one number is a weight
    assert weighed.edge_weight is not None and not weighed.edges.columns


class Ends(torch.nn.Module):
    """A module whose last step is given."""

    def __init__(self, width, end):
        super().__init__()
        self.linear, self.end = torch.nn.Linear(width, 2), end

    def forward(self, x, edge_index, edge_weight=None):
        return self.end(self.linear(x))


def test_a_module_that_returns_probabilities_is_refused(case, quick_networks):
    graph, _ = case
    with pytest.raises(InputError, match="let it return logits, without softmax"):
        cr.RareCategoryClassifier.from_trained(Ends(graph.num_features, lambda z: z.softmax(dim=1)), graph)
    # Logarithms of probabilities are logits up to a constant, which calibration does not see.
    cr.RareCategoryClassifier.from_trained(Ends(graph.num_features, lambda z: z.log_softmax(dim=1)), graph)


def test_scores_carry_ids_and_become_frames(case):
    graph, clf = case
    table = cr.score_table(clf, graph)
    for frame in (table.to_pandas(), table.to_polars()):
        assert list(frame["id"]) == graph.ids.tolist()
        np.testing.assert_array_equal(frame["probability"], clf.predict_proba(graph)[:, 1])
    queue = cr.triage(clf, graph)
    assert queue.to_pandas()["id"].tolist() == queue.to_polars()["id"].to_list() == queue.id.tolist()


def test_without_pandas_the_line_that_installs_it(case, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="Run: pip install pandas"):
        cr.score_table(case[1], case[0]).to_pandas()


def test_recall_and_precision_say_at_which_decision(case):
    graph, clf = case
    found = clf.evaluate(graph, num_resamples=0)
    said = str(found)
    assert (
        "Recall of the rare class (likeliest class called)" in said and "Precision of the rare class (likeliest" in said
    )
    p, y = clf.predict_left_out()[:, 1], clf.labelled_y_ == 1
    assert found["recall"].value == pytest.approx((p[y] > 0.5).mean())
    assert found["precision"].value == pytest.approx(y[p > 0.5].mean())


def test_parameters_of_a_detector_need_a_detector_that_is_an_object():
    clf = cr.RareCategoryClassifier("gcn")
    with pytest.raises(InputError, match=r"detector__hidden is for .* the name 'gcn'. .*detector=cr.detectors.GCN\(\)"):
        clf.set_params(detector__hidden=8)
    assert clf.set_params(detector=cr.detectors.GCN(), detector__hidden=8).detector.hidden == 8


def test_classes_without_labels_are_named_in_short_with_the_way_out():
    graph = cr.from_pyg(pyg(y=torch.tensor([0, 1, 9] * 40)), rare_class=9)
    with pytest.raises(LabelError, match=r"none of \['2', '3', '4', '5', '6', …\] .*graph.against_rest\(\)"):
        cr.RareCategoryClassifier("linear").fit(graph)


def test_tables_that_were_read_on_their_own_are_refused(caplog):
    """The same amount would be another number than at the fit, and every score wrong without a word."""
    rng = np.random.default_rng(0)
    nodes = {
        "id": np.arange(80),
        "amount": rng.normal(size=80),
        "age": rng.normal(size=80),
        "y": np.arange(80) % 4 == 0,
    }
    edges = {"source": rng.integers(0, 80, 99), "target": rng.integers(0, 80, 99)}
    graph = cr.read_tables(nodes, edges, label="y", rare=True)
    clf = cr.RareCategoryClassifier("linear").fit(graph)
    caplog.clear()  # of no skill
    later = nodes | {"age": 5 * nodes["age"] + 3}
    with pytest.raises(InputError, match=r"'age' is scaled otherwise.* read_tables\(…, schema=clf.schema_\)"):
        clf.predict_proba(cr.read_tables(later, edges, label="y", rare=True))
    clf.predict_proba(cr.read_tables(later, edges, schema=clf.schema_))
    assert not caplog.records
    clf.predict_proba(cr.read_tables(nodes | {"age": nodes["age"] + 0.1}, edges, label="y", rare=True))
    assert "column 'age' is scaled a little otherwise" in caplog.text
    caplog.clear()
    order = rng.permutation(80)  # sums in another order
    turned = cr.read_tables({name: column[order] for name, column in nodes.items()}, edges, label="y", rare=True)
    np.testing.assert_allclose(clf.predict_proba(turned), clf.predict_proba(graph)[order], atol=1e-6)
    assert not caplog.records


def test_arguments_that_were_changed_since_the_fit_are_not_saved(tmp_path):
    graph = cr.make_transactions(120, rare_share=0.2, seed=0, with_payments=False)
    for change in ({"detector": "forest"}, {"method": "isotonic"}, {"detector__hops": 1}):
        clf = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1)).fit(graph)
        with pytest.raises(InputError, match="must be those of the fit to save the model"):
            clf.set_params(**change).save(tmp_path / "model")
    clf.set_params(detector__hops=cr.detectors.Linear().hops, seed=3).save(tmp_path / "model")
    np.testing.assert_array_equal(cr.load(tmp_path / "model").predict(graph), clf.predict(graph))


def test_arguments_of_numpy_and_torch_are_saved(tmp_path):
    graph = cr.make_transactions(120, rare_share=0.2, seed=0, with_payments=False)
    arguments = {"seed": np.int64(3), "rare_share": np.float64(0.2), "class_costs": np.array([1.0, 2.0])}
    detector = cr.detectors.Linear(hops=np.int64(1), penalty=np.float32(0.1))
    clf = cr.RareCategoryClassifier(detector, device=torch.device("cpu"), **arguments).fit(graph)
    clf.save(tmp_path / "model")
    again = cr.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(graph), clf.predict_proba(graph))
    assert (again.seed, again.class_costs, again.device, again.detector.hops) == (3, [1.0, 2.0], "cpu", 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"detector": cr.detectors.Module(None)}, "module must be a torch.nn.Module; got NoneType"),
        ({"detector": "module"}, "needs a module of your own"),
        ({"device": None}, "device must be 'auto', 'cpu' or 'cuda'; got None"),
    ],
)
def test_what_is_no_module_or_device(case, arguments, says):
    with pytest.raises(InputError, match=says):
        cr.RareCategoryClassifier(**arguments).fit(case[0])
