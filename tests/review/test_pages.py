"""Pages drawn without a browser: what only some models and some moments show."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import calirare as cr
from calirare.decisions.costs import Costs
from calirare.decisions.numbers import say_probability
from calirare.errors import DataError, InputError
from calirare.evaluation import first_lines, look_again
from calirare.review import app
from calirare.review.case.attributes import Attribute, Comparison
from calirare.review.case.edges_of import Neighbour
from calirare.review.case.summary import describe_case
from calirare.review.exports import encode
from calirare.review.pages import case_sections, forecast, model_page, record_sections, shell, widgets
from calirare.review.queue import Queue
from calirare.review.snapshot import Scores, Snapshot
from calirare.review.versions import Base, list_versions
from calirare.review.view import View


def words(component) -> str:
    """Every text in a component, in order."""
    if component is None:
        return ""
    if isinstance(component, (list, tuple)):
        return " ".join(words(one) for one in component)
    return words(component.children) if hasattr(component, "children") else str(component)


def test_a_labelled_node_shows_what_the_model_says_without_its_label(desk):
    node = int(desk.snapshot.clf.labelled_nodes_[3])
    case = describe_case(desk.queue, View(), node)
    assert f"labelled {case.label}" in words(case_sections.head(case))
    assert "not in this queue" in words(case_sections.head(case))
    said = words(case_sections.probability(case))
    assert "has trained the model" in said and f"would be {case.without_label:.3f}" in said


def test_each_detector_of_a_stack_is_told_beside_the_probability(desk):
    graph = cr.make_transactions(200, rare_share=0.2, labelled_share=0.5, seed=0)
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", cr.detectors.Forest(trees=10)])).fit(graph)
    scores = Scores.from_arrays(Scores.of(clf, graph).to_arrays())
    assert scores.fits(graph) and not replace(scores, alone=scores.alone[1:]).fits(graph)
    queue = Queue(Snapshot("v", clf, graph, Base(graph.y, None), scores), desk.book, desk.team)
    case = describe_case(queue, View(), 7)
    assert case.alone == {name: p[7] for name, p in clf.predict_alone(graph).items()}
    linear, forest = map(say_probability, case.alone.values())
    assert f"Each detector alone: linear {linear}, forest {forest}." in words(case_sections.probability(case))
    assert "Each detector" not in words(case_sections.probability(replace(case, alone={})))
    near = replace(case, probability=0.0912, lower=0.0262, upper=0.0936)  # in two digits P would lie above its interval
    assert "0.091 90% interval 0.026 to 0.094" in words(case_sections.probability(near))


def test_attributes_of_every_kind():
    comparison = Comparison(
        [
            Attribute("country", "KP", "NO", None, 0.01, 0.99),
            Attribute("age", "missing", "40", None, None, 0.0),
            Attribute("amount", "9", "5", 0.93, None, 0.86),
            Attribute("balance", "2", "50", 0.05, None, 0.9),
            Attribute("closed", "2021-01-01", "2023-01-31", 0.3, None, 0.4, is_moment=True),
            Attribute("opened", "2024-05-01", "2023-01-31", 0.8, None, 0.6, is_moment=True),
        ],
        "50 labelled normal nodes",
        4,
    )
    said = words(case_sections.attributes(comparison))
    assert "shared by 1.0% of them; most often NO" in said
    assert "their median is 40" in said and "above 93% of them" in said and "4 more usual ones" in said
    assert "later than 80% of them; their median is 2023-01-31" in said
    assert "below 95% of them; their median is 50" in said and "earlier than 70% of them" in said
    assert "none of the attributes" in words(case_sections.attributes(Comparison([], "x", 0)))


def test_where_a_review_never_pays_the_page_says_so(desk):
    costs = Costs(miss=1, alarm=1, review=5)
    view = View(costs)
    said = words(forecast.draw_forecast(view, desk.queue))
    assert "a review never pays" in said and "0.500" in said
    track = widgets.interval_track(0.4, 0.2, 0.6, costs.thresholds())
    assert "zone-review" not in json.dumps(track, default=lambda one: one.to_plotly_json())


def test_the_thresholds_shown_are_those_in_force(desk):
    judged = desk.queue.judge(Costs(), 10)
    limits = Costs().thresholds(judged.decisions.cutoff)
    said = words(forecast.draw_forecast(View(Costs(), 10), desk.queue))
    assert f"{limits.review:.3f}" in said and f"{limits.alert:.3f}" in said and "The budget sets these" in said
    node = int(desk.queue.order(View(budget=10))[0])
    assert desk.queue.thresholds_of(View(budget=10), node) == limits
    assert "no review" in words(forecast.draw_forecast(View(Costs(), 0), desk.queue))
    own = Costs(miss=np.linspace(1, 200, desk.snapshot.graph.num_nodes))
    judged = desk.queue.judge(own, 10)
    assert f"from a saving of {widgets.say_amount(judged.decisions.cutoff)}" in words(
        forecast.draw_forecast(View(own, 10), desk.queue)
    )


def test_the_forecast_says_what_is_open_beside_what_it_counts(own_desk):
    queue, view = own_desk.queue, View(budget=20)
    assert "decided cases" not in words(forecast.draw_forecast(view, queue))
    first = queue.order(View(action="review", budget=20))[:3]
    for number, node in enumerate(first):
        own_desk.decide(queue.snapshot.ids[node], "rare", note="", reviewer="ada", seen=0, action_key=str(number))
    said, counted = words(forecast.draw_forecast(view, queue)), queue.judge(Costs(), 20).groups
    for name, waiting in queue.open_counts(view).items():  # what the buttons of the queue show
        assert waiting == len(queue.order(View(action=name, status="open", budget=20)))
        assert f"{name} {counted[name].num_nodes} {waiting} " in said
    assert f"all {counted['all'].num_nodes} {counted['all'].num_nodes - 3} " in said
    assert said.endswith("The forecast holds the 3 decided cases too.")
    narrow = replace(
        view, conditions=View.parse({}, None, {"probability": {"type": "lessThan", "filter": 0}}).conditions
    )
    assert said + " The filter kept for everybody does not narrow it." == words(forecast.draw_forecast(narrow, queue))
    total = len(queue.order(View(action="review", budget=20)))
    assert words(shell.draw_progress(queue, view)).split() == f"3 of {total} reviews done".split()
    assert words(shell.draw_progress(queue, narrow)).strip() == "0 of 0 reviews done under the kept filter"


def test_a_single_neighbour_is_no_list_of_all():
    one = Neighbour(0, "a1", 0.2, "", 1)
    assert words(record_sections.neighbours([one], 1)).endswith("Its only neighbour.")
    assert words(record_sections.neighbours([one, one], 2)).endswith("All 2.")
    assert words(record_sections.neighbours([one], 2)).endswith("The 1 most probable of 2.")
    unscored = Neighbour(0, "S1", None, "", 1)
    assert words(record_sections.neighbours([unscored], 2)).endswith("The first 1 of 2.")


def test_a_label_that_pulls_against_its_class_is_explained():
    pulls = [case_sections.Pull("a1", "fraud", True, 0.2), case_sections.Pull("a2", "fraud", True, -0.1)]
    assert "a2 is labelled fraud, yet pulls away from it" in words(case_sections.pulls(pulls))
    assert "yet" not in words(case_sections.pulls(pulls[:1]))
    other = [case_sections.Pull("a3", "normal", False, 0.1)]
    assert "a3 is labelled normal, yet pulls towards rare" in words(case_sections.pulls(other))


def test_why_shows_what_speaks_for_and_against():
    facts = [case_sections.Fact("amount is 9", 0.4), case_sections.Fact("age is 3", -0.2)]
    said = words(case_sections.why(facts, "1 of 2 neighbours is known fraud"))
    assert "amount is 9" in said and "1 of 2 neighbours" in said and "speaks against" in said
    assert "Most unusual" in words(case_sections.why([case_sections.Fact("age is 3", 0.0)], ""))
    assert case_sections.why([], "") is None


def test_another_model_in_the_folder_is_pointed_out(desk, model):
    assert "another model" not in words(model_page._versions(desk, list_versions(model)))
    graph = desk.snapshot.graph
    cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=1, hidden=4)).fit(graph).save(model, graph=graph)
    assert "another model" in words(model_page._versions(desk, list_versions(model)))


@pytest.mark.parametrize(
    ("error", "says", "hides"),
    [
        (InputError("cost_miss must be positive."), "cost_miss", "zzz"),
        (DataError("/secret/place cannot be read"), "did not answer", "/secret"),
        (ZeroDivisionError("inside"), "went wrong", "inside"),
    ],
)
def test_errors_of_callbacks_in_words(monkeypatch, error, says, hides):
    shown = {}
    monkeypatch.setattr(app, "set_props", lambda name, props: shown.update({name: props}))
    app._say_error(error)
    assert says in shown["message"]["data"]["text"] and hides not in shown["message"]["data"]["text"]


def test_a_desk_that_cannot_open_lets_go_of_its_database(model, monkeypatch):
    closed = []
    monkeypatch.setattr(app.DecisionStore, "close", lambda store: closed.append(store.database.engine.dispose()))
    next(model.glob("arrays-*.safetensors")).write_bytes(b"")
    with pytest.raises(DataError):
        app.open_desk(model)
    assert len(closed) == 1


def test_no_database_is_made_beside_what_is_no_model(model):
    (model / "model.json").write_text("{}")
    with pytest.raises(DataError):
        app.open_desk(model)
    assert not list(model.glob("*.sqlite*"))


def test_a_port_in_use_is_said_in_one_line(desk):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match="choose another --port"):
            app.DeskServer(desk, app.Access(port=port))
    with pytest.raises(InputError, match="cannot listen"):
        app.DeskServer(desk, app.Access("no such host.invalid", token="a token that is long enough"))


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match="csv"):
        encode({"a": np.arange(2)}, "xlsx")


def test_the_model_page_says_what_to_beware_of_and_which_labels_to_look_at_again(desk):
    station = desk.station
    assert station.beware == first_lines(desk.snapshot.clf, desk.snapshot.graph, station.quality.skill)
    said = words(model_page.draw_look_again(station.look_again))
    assert station.look_again == look_again(desk.snapshot.clf, desk.snapshot.graph)
    for one in station.look_again:
        assert f"{one.id} {one.label} {one.probability:.3f} {one.likelier}" in said
    assert model_page.draw_look_again([]) is None
    sure = replace(station.look_again[0], probability=2e-7)
    assert f"{sure.label} <0.0001 {sure.likelier}" in words(model_page.draw_look_again([sure]))


def test_the_queue_begins_with_what_to_beware_of(client, desk):
    vars(desk.station)["beware"] = ("No skill is shown.", "'<b>closed' gives the label away.")
    body = {
        "output": "queue-beware.children",
        "outputs": {"id": "queue-beware", "property": "children"},
        "inputs": [{"id": "stamp", "property": "data", "value": 1}],
        "changedPropIds": ["stamp.data"],
    }
    answer = client.post("/_dash-update-component", json=body).get_json()
    drawn = answer["response"]["queue-beware"]["children"]
    assert [one["props"]["children"] for one in drawn] == list(desk.station.beware)
