"""What the case page says, against brute force."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import calirare as cr
from calirare.data.graph import RareGraph
from calirare.decisions.costs import Costs
from calirare.errors import DataError
from calirare.persistence.folder import load_graph
from calirare.review.app import open_desk
from calirare.review.case.attributes import compare, say_number
from calirare.review.case.edges_of import likeliest_neighbours
from calirare.review.case.neighbourhood import MOST_DRAWN, MOST_NEIGHBOURS, neighbourhood
from calirare.review.case.summary import describe_case, pulling_labels
from calirare.review.pages.case_sections import head, probability
from calirare.review.queue import Queue
from calirare.review.records import Records
from calirare.review.snapshot import Scores, Snapshot
from calirare.review.store.book import DecisionBook
from calirare.review.store.decisions import DecisionStore
from calirare.review.store.events import EventLog
from calirare.review.store.team import Team
from calirare.review.versions import Base
from calirare.review.view import View
from calirare.uncertainty.calibration_maps import CalibrationDraws


def snapshot_of(graph, probability=None):
    """A snapshot without a model's work: scores as given."""
    n = graph.num_nodes
    p = np.linspace(0, 1, n) if probability is None else probability
    scores = Scores(p, p, p, p, np.ones((n, 2), dtype=bool), CalibrationDraws(np.tile([0.0, 1.0], (10, 1))), p[:, None])

    class Fitted:
        labelled_nodes_, labelled_y_ = graph.known, graph.y[graph.known]
        held_out_nodes_, rare_class_ = graph.known[:0], graph.rare_class

    return Snapshot("v", Fitted(), graph, Base(graph.y, None), scores)


def test_numeric_attributes_in_the_units_of_the_table():
    nodes = {
        "id": [f"n{i}" for i in range(60)],
        "amount": [float(i) for i in range(59)] + [1000.0],
        "age": [None] + [30 + i % 5 for i in range(59)],
        "debts": [0.0 if i % 3 else i * 7.7 for i in range(60)],
        "country": ["NO"] * 40 + ["SE"] * 19 + ["KP"],
        "opened": [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(60)],
        "fraud": ["yes" if i in (0, 59) else "no" for i in range(60)],
    }
    edges = {"source": ["n0", "n1"], "target": ["n1", "n2"]}
    snapshot = snapshot_of(cr.read_tables(nodes, edges, label="fraud", rare="yes"))
    found = {one.name: one for one in compare(snapshot, 59).attributes}
    assert found["amount"].value == "1,000" and found["amount"].percentile == 1.0
    normal = np.arange(1, 59)
    assert found["amount"].usual == say_number(float(np.median(normal)))
    assert (found["country"].value, found["country"].usual, found["country"].share) == ("KP", "NO", 0.0)
    assert (
        found["opened"].usual == nodes["opened"][29] and found["opened"].is_moment
    )  # of 29 and 30, and no noon between
    assert "58 labelled normal nodes" in compare(snapshot, 59).against
    middle = {one.name: one for one in compare(snapshot, 30).attributes}
    assert middle["amount"].percentile == pytest.approx(((normal < 30).sum() + 0.5) / 58)
    assert middle["country"].share == pytest.approx(39 / 58)
    assert {one.name: one for one in compare(snapshot, 30).attributes}["debts"].usual == "0"
    first = {one.name: one for one in compare(snapshot, 0).attributes}
    assert first["age"].value == "missing" and first["age"].percentile is None


def test_of_several_kinds_each_is_compared_with_its_like():
    """Forty doctors with years, thirty patients with ages."""
    kind = ["doctor"] * 40 + ["patient"] * 30
    nodes = {
        "id": [f"n{i}" for i in range(70)],
        "kind": kind,
        "years": [float(i) if i < 40 else None for i in range(70)],
        "town": ["Oslo" if i < 40 else None for i in range(70)],
        "age": [None if i < 40 else 20.0 + i for i in range(70)],
        "mill": [("yes" if i < 5 else "no") if i < 35 else None for i in range(70)],
    }
    graph = cr.read_tables(nodes, {"source": ["n0"], "target": ["n60"]}, label="mill", rare="yes", node_type="kind")
    snapshot = snapshot_of(graph)
    doctor, patient = compare(snapshot, 39), compare(snapshot, 69)
    assert {one.name for one in doctor.attributes} == {"years", "town"} and doctor.against == "30 labelled normal nodes"
    assert [one.name for one in patient.attributes] == ["age"] and patient.against == "30 nodes of its kind"
    assert patient.attributes[0].percentile == pytest.approx(29.5 / 30)


@pytest.mark.parametrize("more_words", [0, 300])  # many words are kept sparse
def test_a_text_is_shown_by_its_words_the_rarest_first(more_words):
    extra = [f"w{chr(97 + k % 26)}{chr(97 + k // 26)}" for k in range(more_words)]
    notes = [
        f"card was {'lost' if i < 20 else 'stolen'} in {'town' if i < 50 else 'Rome'} {' '.join(extra)} x{i}"
        for i in range(300)
    ]
    notes[41:] = [f"asks when {'salary' if i % 2 else 'rent'} comes" for i in range(41, 300)]
    nodes = {"id": range(300), "note": [None, *notes[1:]], "fraud": ["yes" if i < 5 else "no" for i in range(300)]}
    graph = cr.read_tables(nodes, {"source": [0], "target": [1]}, label="fraud", rare="yes", types={"note": "text"})
    snapshot = snapshot_of(graph)
    [note] = [one for one in compare(snapshot, 1).attributes if one.name == "note"]
    assert note.value.split(", ")[0] == "lost" and note.share == pytest.approx(15 / 295)  # of 295 normal nodes
    [gap] = [one for one in compare(snapshot, 0).attributes if one.name == "note"]
    assert (gap.value, gap.share) == ("missing", None)
    record = Records.of(snapshot).columns["note"].values
    assert record[0] is None and record[299] == "salary"  # the other words are of more than half of the texts


def test_generated_transactions_read_in_their_units(shown_desk):
    snapshot = shown_desk.snapshot
    column = snapshot.graph.schema["columns"][2]
    node = int(snapshot.listed[0])
    [age] = [one for one in compare(snapshot, node).attributes if one.name == "account_age_days"]
    assert age.value == say_number(round(float(snapshot.graph.x[node, 2]) * column["scale"] + column["mean"], 3))


@pytest.mark.parametrize("sparse", [True, False])
def test_marks_that_few_normal_nodes_have_come_first(sparse):
    x = np.zeros((50, 4), dtype=np.float32)
    x[:, 0] = 1
    x[0, 3] = 1
    x[5:20, 1] = 1
    x[0, 1] = 1
    graph = RareGraph(
        x=sp.csr_array(x) if sparse else x,
        edge_index=np.array([[0], [1]]),
        y=np.array([1] + [0] * 49),
        feature_names=("a", "b", "c", "d"),
    )
    found = compare(snapshot_of(graph), 0).attributes
    assert [one.name for one in found] == ["d", "b", "a"]
    assert [round(one.share, 3) for one in found] == [0.0, round(15 / 49, 3), 1.0]


def test_plain_features_without_names_and_labels():
    rng = np.random.default_rng(0)
    graph = RareGraph(x=rng.normal(size=(80, 3)), edge_index=np.array([[0], [1]]), y=np.array([0, 1] + [-1] * 78))
    found = compare(snapshot_of(graph), 7)
    assert {one.name for one in found.attributes} == {"attribute 0", "attribute 1", "attribute 2"}
    assert "too few normal ones" in found.against


def star(leaves, labelled=5):
    edges = np.vstack([np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)])
    y = np.full(leaves + 1, -1)
    y[1 : labelled + 1] = [1, 0, 0, 0, 0][:labelled]
    return RareGraph(x=np.ones((leaves + 1, 1)), edge_index=edges, y=y)


def test_neighbours_of_a_kind_that_is_not_scored_are_not_called_probable():
    graph = star(100, labelled=0)
    y = np.array([1, *graph.y[1:-1], 0])
    kind = np.array([0] + [1] * 99 + [0])
    graph = replace(graph, y=y, node_type=kind, node_type_names=("user", "shop"))
    said = "40 of 100 neighbours: 1 with a label, the 0 most probable, 39 at random."
    assert neighbourhood(snapshot_of(graph), 0).said == said
    edges = graph.edge_index[:, (graph.edge_index < 100).all(axis=0)]
    assert neighbourhood(snapshot_of(replace(graph, edge_index=edges)), 0).said == (
        "40 of 99 neighbours, at random; their kind is not scored."
    )


def test_a_hub_with_fifty_thousand_neighbours_is_sampled_and_says_so():
    snapshot = snapshot_of(star(50_000))
    around = neighbourhood(snapshot, 0)
    assert around.nodes.size == MOST_NEIGHBOURS + 1 and around.nodes[0] == 0
    assert around.said == "40 of 50,000 neighbours: 5 with a label, the 16 most probable, 19 at random."
    assert {1, 2, 3, 4, 5} <= set(around.nodes.tolist())
    assert {50_000, 49_999, 49_985} <= set(around.nodes.tolist())
    assert np.array_equal(neighbourhood(snapshot, 0).nodes, around.nodes)
    leaf = neighbourhood(snapshot, 7)
    assert leaf.said.startswith("Its only neighbour. The 62 most probable of 1,999 nodes")
    assert leaf.nodes.size == MOST_DRAWN


def test_a_node_without_neighbours():
    graph = RareGraph(x=np.ones((3, 1)), edge_index=np.array([[0], [1]]), y=np.array([0, 1, -1]))
    around = neighbourhood(snapshot_of(graph), 2)
    assert (around.nodes.tolist(), around.said, around.edges.shape) == ([2], "No neighbours.", (2, 0))


def test_what_is_drawn_is_there(shown_desk):
    graph = shown_desk.snapshot.graph
    pairs = set(zip(*graph.edge_index.tolist(), strict=True))
    for node in shown_desk.snapshot.listed[:20].tolist():
        around = neighbourhood(shown_desk.snapshot, node)
        drawn = {(int(around.nodes[a]), int(around.nodes[b])) for a, b in around.edges.T}
        assert drawn <= pairs
        near = {int(v) for u, v in pairs if u == node}
        assert set(around.nodes[around.step == 1].tolist()) == near if len(near) <= MOST_NEIGHBOURS else True
        assert len(set(around.nodes.tolist())) == around.nodes.size
        assert ((around.position >= 0) & (around.position <= 1)).all()
        np.testing.assert_allclose(around.position[0], 0.5)


def test_the_words_of_a_case(shown_desk):
    view = View(action="review")
    node = int(shown_desk.queue.order(view)[2])
    case = describe_case(shown_desk.queue, view, node)
    assert (case.place, case.action) == (2, "review")
    assert case.lower <= case.probability <= case.upper
    assert case.costs.startswith("A review costs 1.00; without one")
    assert case.label is None and case.without_label is None
    labelled = int(shown_desk.snapshot.clf.labelled_nodes_[0])
    known = describe_case(shown_desk.queue, view, labelled)
    assert known.action is None and known.label in ("normal", "fraud")
    assert known.without_label == pytest.approx(shown_desk.snapshot.clf.predict_left_out()[0, 1])


def test_what_is_ruled_out_is_said_by_the_probability_and_never_against_the_action(shown_desk):
    queue = shown_desk.queue
    scores, clf = queue.snapshot.scores, queue.snapshot.clf
    least = 1 - clf.set_thresholds(0.9)[clf.rare_class_]
    for costs in (Costs(50, 5, 1), Costs(1, 1_000, 900)):  # the second clears all
        view = View(costs=costs)
        for node in queue.order(view)[::20].tolist():
            case = describe_case(queue, view, node)
            ruled_out = "is ruled out" in case.ruled_out and "all but" not in case.ruled_out
            assert ruled_out == (scores.probability[node] < least and case.action != "alert")
            assert not (case.action == "clear" and "so all but" in case.ruled_out)
            assert case.ruled_out.startswith(f"P({queue.snapshot.wording.rare}) is ")


def test_pulls_are_those_of_explain(shown_desk):
    node = int(shown_desk.snapshot.listed[0])
    expected = shown_desk.snapshot.clf.explain(shown_desk.snapshot.graph, node)
    found = pulling_labels(shown_desk.queue, node)[:4]
    assert [one.pull for one in found] == expected.pull[:4].tolist()
    assert [one.node_id for one in found] == shown_desk.snapshot.ids[expected.labelled_node[:4]].tolist()


def test_labels_kept_for_testing_are_not_shown():
    graph = cr.make_transactions(num_nodes=300, rare_share=0.2, seed=0)
    split = cr.split_labels(graph, train_fraction=0.3, val_fraction=0.1, test_fraction=0.6, seed=0)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=5, hidden=4)).fit(graph, split)
    snapshot = Snapshot("v", clf, graph, Base(graph.y, split), Scores.of(clf, graph))
    assert (snapshot.label[split.test] == -1).all()
    assert np.array_equal(snapshot.label[split.train], graph.y[split.train])
    assert np.array_equal(snapshot.listed, np.sort(split.test))


def test_where_every_node_is_labelled_all_are_listed():
    graph = cr.make_transactions(num_nodes=300, rare_share=0.2, seed=0)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=5, hidden=4)).fit(graph)
    snapshot = Snapshot("v", clf, graph, Base(graph.y, None), Scores.of(clf, graph))
    assert snapshot.listed.size == 300
    assert replace(snapshot, version="w").find(str(graph.ids[5])) == 5


def test_of_several_kinds_those_with_labels_are_the_queue_as_in_triage():
    made = cr.make_transactions(num_nodes=300, rare_share=0.2, labelled_share=0.5, seed=0)
    kinds = np.arange(300) % 3 // 2  # every third is a shop
    graph = replace(
        made, y=np.where(kinds, -1, made.y), node_type=kinds, node_type_names=("person", "shop"), true_probability=None
    )
    clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    snapshot = Snapshot("v", clf, graph, Base(graph.y, None), Scores.of(clf, graph))
    assert np.array_equal(snapshot.listed, np.sort(cr.triage(clf, graph).node))
    assert not kinds[snapshot.listed].any()
    store = DecisionStore.open("sqlite://")
    book = DecisionBook(store)
    queue = Queue(snapshot, book, Team(EventLog(store.database), book))
    shop, person = 2, int(snapshot.listed[0])
    said = {node: describe_case(queue, View(), node) for node in (shop, person)}
    assert (said[shop].other_kind, said[shop].action, said[shop].place) == ("shop", None, None)
    assert "does not speak of it" in str(probability(said[shop])) and "shop" in str(head(said[shop]))
    assert said[person].other_kind == "" and said[person].action is not None
    known, _ = likeliest_neighbours(snapshot, queue.book, person)
    assert {one.node for one in known if one.probability is None} == {one.node for one in known if kinds[one.node]}


def test_another_version_of_calirare_scores_again(model, monkeypatch):
    kept = {file.name for file in model.glob("scores-*.npz")}
    assert Snapshot.load(model) and {file.name for file in model.glob("scores-*.npz")} == kept
    monkeypatch.setattr("calirare.review.snapshot.__version__", "99.0")
    Snapshot.load(model)
    (fresh,) = {file.name for file in model.glob("scores-*.npz")} - kept
    assert fresh.endswith("-99.0.npz")


def test_two_nodes_of_one_name_are_refused(model, tmp_path):
    """Decisions are kept by name: one of the two would get the other's."""
    clf, graph = cr.load(model), load_graph(model)
    ids = graph.ids.astype(object)
    ids[7] = ids[3]
    clf.save(tmp_path / "twins", graph=replace(graph, node_ids=ids.astype(str)))
    with pytest.raises(DataError, match=f"several nodes are called '{ids[3]}'"):
        open_desk(tmp_path / "twins")


def test_reasons_are_the_same_when_several_people_ask_at_once(shown_desk):
    snapshot = shown_desk.snapshot
    nodes = np.split(snapshot.listed[:16], 16)
    alone = [next(snapshot.clf.column_shares(snapshot.graph, node)).shares for node in nodes]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda node: next(snapshot.clf.column_shares(snapshot.graph, node)).shares, nodes))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
