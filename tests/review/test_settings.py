"""What is set once for the desk."""

from __future__ import annotations

import shutil

import numpy as np
import polars as pl
import pytest

from calirare.decisions.costs import Costs
from calirare.errors import InputError
from calirare.review.app import open_desk
from calirare.review.settings import DeskSettings
from calirare.review.view import View


def post(client, path, **body):
    return client.post(f"/api/{path}", json=body)


def numeric(desk):
    return next(name for name, column in desk.station.records.columns.items() if column.is_number)


def test_settings_are_kept_with_who_set_them(client, desk, model):
    answer = post(client, "settings", miss=120, budget=7, order="doubt")
    assert answer.json["settings"]["miss"] == 120 and answer.json["number"] > 0
    change = desk.setting
    assert (change.by, change.settings.budget, change.settings.order) == ("ada", 7, "doubt")
    again = open_desk(model)  # another desk, or the same after a restart
    assert again.setting.settings == change.settings and again.setting.by == "ada"
    again.close()
    assert post(client, "settings", miss=120).json["number"] == answer.json["number"]  # nothing new, no new row


def test_the_queue_obeys_the_desk_and_not_what_a_page_says(client, desk):
    post(client, "settings", miss=500, review=2)
    view = desk.view({"miss": 1, "alarm": 1, "review": 1, "budget": 1, "action": "review"})
    assert (view.costs.miss, view.costs.review, view.budget, view.action) == (500, 2, None, "review")


def test_a_price_may_be_a_column(client, desk):
    name = numeric(desk)
    assert post(client, "settings", miss=name).status_code == 200
    view = desk.view({})
    column = desk.station.records.columns[name].values
    assert np.array_equal(view.costs.miss, np.nan_to_num(np.maximum(column, 0)))
    listed = desk.snapshot.listed
    gain = desk.queue.judge(view.costs, None).decisions.gain
    p = desk.snapshot.scores.probability[listed]
    by_hand = np.minimum(view.costs.miss[listed] * p, 5 * (1 - p)) - 1
    assert np.allclose(gain, by_hand)
    order = desk.queue.order(view)
    assert np.array_equal(order, listed[np.argsort(-by_hand, kind="stable")]) or np.all(
        np.diff(by_hand[np.searchsorted(listed, order)]) <= 1e-12
    )
    assert client.get("/export/queue.csv").status_code == 200


def test_what_another_desk_has_set_stops_no_desk_whose_table_lacks_the_column(tables, tmp_path):
    """It was refused with the name of an option that nobody had typed."""
    model = shutil.copytree(tables / "model", tmp_path / "model")
    first = open_desk(model)
    first.set({"miss": "amount", "columns": ["amount"]}, reviewer="ada")
    first.close()
    without = pl.read_csv(tables / "nodes.csv").drop("amount")
    second = open_desk(model, table=without)
    assert second.set({}, reviewer="bo").settings.miss == "amount"
    assert second.set({"budget": 7}, reviewer="bo").settings.budget == 7
    assert second.view({}).costs == Costs()  # until there is the column again
    with pytest.raises(InputError, match="did you mean|column of the nodes"):
        second.set({"alarm": "amount"}, reviewer="bo")
    second.close()


@pytest.mark.parametrize(
    "body",
    [{"miss": "no such column"}, {"miss": 0}, {"miss": -1}, {"alarm": ""}, {"review": None}, {"budget": "many"}, {"order": "x"},
     {"review_error": 0.7}, {"columns": "a"}, {"columns": ["no such"]}, {"miss": True}],
)  # fmt: skip
def test_what_cannot_be_set_is_refused_and_changes_nothing(shown_client, shown_desk, body):
    before = shown_desk.setting
    answer = shown_client.post("/api/settings", json=body)
    assert answer.status_code == 400 and answer.json["error"]
    assert shown_desk.setting == before


def test_typed_numbers_are_numbers():
    assert DeskSettings().changed({"miss": "1,250.5"}).miss == 1250.5
    with pytest.raises(InputError, match="budget"):
        DeskSettings().changed({"budget": "x"})


def test_the_queue_is_ordered_by_what_a_look_saves(desk):
    order = desk.queue.order(desk.view({}))
    saves = desk.queue.columns(order, desk.view({}))["saves"]
    assert saves == sorted(saves, reverse=True)
    desk.set({"order": "doubt"}, reviewer="ada")
    p = desk.snapshot.scores.probability[desk.queue.order(desk.view({}))]
    assert np.all(np.diff(np.abs(p - 0.5)) >= 0)
    desk.set({"order": "probability"}, reviewer="ada")
    assert np.all(np.diff(desk.snapshot.scores.probability[desk.queue.order(desk.view({}))]) <= 0)


def test_columns_and_filters_of_the_records(desk):
    name = numeric(desk)
    desk.set({"columns": [name]}, reviewer="ada")
    values = desk.station.records.columns[name].values
    middle = float(np.median(values))
    rule = {f"record:{name}": {"filterType": "number", "type": "greaterThan", "filter": middle}}
    view = desk.view({}, [{"colId": f"record:{name}", "sort": "asc"}], rule)
    order = desk.queue.order(view)
    assert order.size and (values[order] > middle).all() and np.all(np.diff(values[order]) >= 0)
    rows, _ = desk.queue.rows(view, 0, 3, [name])
    assert rows[0][f"record:{name}"] == desk.station.records.columns[name].say(int(order[0]))
    assert desk.queue.order(
        desk.view({}, [], {"record:gone": {"filterType": "text", "type": "equals", "filter": "a"}})
    ).size
    assert View.parse({}, [{"colId": "record:x", "sort": "asc"}]).sort == (("record:x", False),)


@pytest.mark.parametrize(("typed", "price"), [("2.5", 2.5), ("12,500", 12_500.0), ("1,250.75", 1_250.75), (" 7 ", 7.0)])
def test_typed_prices_are_numbers_with_a_point(typed, price):
    assert DeskSettings().changed({"alarm": typed}).alarm == price


@pytest.mark.parametrize("typed", ["2,5", "1,50", "1.250,75", "1,2345"])
def test_a_decimal_comma_is_no_grouping(typed):
    with pytest.raises(InputError, match="with a point"):
        DeskSettings().changed({"alarm": typed})
