"""Signals from a series: quiet, planted shifts, too little to tell; the same in SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from dataclasses import asdict, replace

import numpy as np
import pytest
from private_postgres import NoPostgresError, private_postgres

from calirare.decisions.costs import Costs
from calirare.evaluation.monitoring.alarms import DAY, _calibration, watch
from calirare.evaluation.monitoring.feeding import take_decision
from calirare.evaluation.monitoring.observed import Outcome
from calirare.evaluation.monitoring.runs import Reference, measure_run
from calirare.evaluation.monitoring.series import Series
from calirare.metrics.bootstrap import Estimate
from calirare.review.store.database import Database, database_url
from calirare.uncertainty.calibration_maps import CalibrationDraws

CERTAIN = CalibrationDraws(np.tile([0.0, 1.0], (1_000, 1)))
NOW = 1_000 * DAY


def scores(seed, n=3_000, shift=0.0):
    return 1 / (1 + np.exp(-np.random.default_rng(seed).normal(-3 + shift, 1.5, n)))


@pytest.fixture
def series(tmp_path):
    database = Database(database_url(tmp_path / "d.sqlite"))
    yield Series(database)
    database.close()


@pytest.fixture
def reference(series):
    found = Reference.of(scores(0))
    series.add("reference", "m", "fit", asdict(found), time=0.0)
    return found


def states(series, now=NOW):
    return {one.name: one.state for one in watch(series, "m", CERTAIN, now=now).signals}


def add_run(series, reference, p, time, **changed):
    run = replace(measure_run(p, reference, CERTAIN), **changed)
    series.add("run", "m", "score", run.to_json(), time=time)


def add_decisions(series, p, truth, seed, time):
    rng = np.random.default_rng(seed)
    for k, (said, true) in enumerate(zip(p, truth, strict=True)):
        what = "rare" if rng.random() < true else "normal"
        take_decision(series, "m", f"{seed}-{k}", what, float(said), "alert", Costs(), time=time)


def test_nothing_is_known_of_a_model_that_was_never_used(series):
    assert set(states(series).values()) == {"unknown"}
    found = watch(series, "m", CERTAIN, now=NOW)
    assert not found.alarms and found.observed is None and found.to_json()["alarm"] is False


def test_a_quiet_week_is_quiet(series, reference):
    add_run(series, reference, scores(1), NOW - DAY, columns={"nodes: x": (0.01, -0.1)})
    p = scores(2, 60)
    add_decisions(series, p, p, 5, NOW - DAY)
    assert set(states(series).values()) == {"quiet"}
    assert watch(series, "m", CERTAIN, now=NOW).observed.bins
    assert states(series, NOW + 30 * DAY)["scores"] == "unknown"  # that week is over
    assert watch(series, "other", CERTAIN, now=NOW).runs == ()


@pytest.mark.parametrize(
    ("factor", "state"), [(1.1, "quiet"), (1.6, "watch"), (2.4, "alarm"), (0.6, "watch"), (0.3, "alarm")]
)
def test_half_as_many_alerts_again_are_worth_a_look_and_twice_as_many_an_alarm(series, reference, factor, state):
    """With so many nodes that none of it is chance."""
    add_run(series, reference, scores(1), NOW - 1.0, nodes=100_000, alerted=factor * reference.alerted)
    assert states(series)["share alerted"] == state


def test_planted_shifts_alarm(series, reference):
    add_run(series, reference, scores(1, shift=1.4), NOW - 1.0)
    found = states(series)
    assert found["scores"] == found["share alerted"] == "alarm"
    shifted = [("large", "nodes: x", "another unit?"), ("moderate", "nodes: y", "")]
    add_run(series, reference, scores(1), NOW - 0.5, columns={"nodes: x": (3.0, 2.0)}, shifted=shifted)
    assert states(series)["input columns"] == "alarm"
    add_run(series, reference, scores(1), NOW - 0.4, columns={"nodes: x": (3.0, 2.0)}, shifted=shifted[1:])
    assert states(series)["input columns"] == "watch"
    found = {one.name: one for one in watch(series, "m", CERTAIN, now=NOW).signals}
    assert found["scores"].state == "watch" and "earlier run in this window alarmed" in found["scores"].words
    quiet = measure_run(scores(0), reference, CERTAIN)
    series.add("run", "m", "review", quiet.to_json(), time=NOW - 0.1)  # the desk's own nodes hide nothing
    assert states(series)["input columns"] == "watch"


@pytest.mark.parametrize(
    ("lower", "upper", "state"),
    [(0.21, 0.30, "alarm"), (0.13, 0.30, "watch"), (0.11, 0.30, "quiet"), (0.01, 0.04, "alarm"), (0.01, 0.09, "quiet")],
)
def test_a_share_of_rare_nodes_that_has_moved_for_sure(series, reference, lower, upper, state):
    share = {"before": 0.1, "now": (lower + upper) / 2, "lower": lower, "upper": upper}
    add_run(series, reference, scores(1), NOW - DAY, share=share)
    assert states(series)["scores"] == state


@pytest.mark.parametrize(("upper", "told"), [(0.4, "30.0% (5.0% to 40.0%)"), (1.0, "do not tell what share")])
def test_a_share_that_could_be_anything_is_not_told(series, reference, upper, told):
    share = {"before": 0.1, "now": 0.3, "lower": 0.05, "upper": upper}
    add_run(series, reference, scores(1), NOW - DAY, share=share)
    words = {one.name: one.words for one in watch(series, "m", CERTAIN, now=NOW).signals}
    assert told in words["scores"]


def test_decisions_that_contradict_the_scores_alarm(series, reference):
    add_run(series, reference, scores(1), NOW - DAY)
    p = np.full(60, 0.5)
    add_decisions(series, p, p / 3, 5, NOW - DAY)
    found = states(series)
    assert found["calibration, this window"] == found["calibration, since the model came"] == found["cost"] == "alarm"
    assert states(series, NOW + 30 * DAY)["calibration, this window"] == "unknown"


def test_decisions_under_the_model_before_are_told_and_judge_no_other(series, reference):
    p = np.full(18, 0.5)
    add_decisions(series, p, p, 5, NOW - DAY)
    signals = {one.name: one for one in watch(series, "next", CERTAIN, now=NOW).signals}
    said = "Fewer than 10 decisions “rare” or “normal” under this model"
    for name in ("calibration, this window", "cost"):
        assert (signals[name].state, signals[name].words) == ("unknown", f"{said}; 18 in this window under others.")
    assert signals["calibration, since the model came"].words == f"{said}."
    later = {one.name: one for one in watch(series, "next", CERTAIN, now=NOW + 30 * DAY).signals}
    assert later["cost"].words == f"{said}."


@pytest.mark.parametrize(("rare", "state"), [(200, "quiet"), (260, "watch"), (310, "alarm"), (90, "alarm")])
def test_many_decisions_that_differ_a_little_are_worth_a_look(rare, state):
    """Of 400 cases at one half, 28 either way are chance; what is beyond that matters from half as many again on."""
    spread = 2.81 * np.sqrt(400 / 4)
    rows = Estimate(200.0, 200 - spread, 200 + spread)
    found = Outcome(cases=400, rare=rows, observed_rare=rare, cost=rows, observed_cost=200.0)
    assert _calibration("calibration", found).state == state


def test_networks_share_a_database_without_meeting(series, reference):
    add_run(series, reference, scores(1), NOW - DAY)
    assert Series(series.database, "cards").read("run") == [] and len(series.read("run")) == 1


@pytest.mark.slow
def test_many_processes_may_make_the_table_in_postgresql():
    try:
        with private_postgres() as url:

            def add(k):
                database = Database(database_url(url))
                Series(database).add("run", "m", "score", {"k": k})
                database.close()

            threads = [threading.Thread(target=add, args=(k,)) for k in range(6)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            database = Database(database_url(url))
            assert sorted(row.value["k"] for row in Series(database).read("run")) == list(range(6))
            database.close()
    except NoPostgresError as error:
        pytest.skip(str(error))
