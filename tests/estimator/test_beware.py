"""What a fit logs, and left-out evidence where a column is made from neighbours' labels."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from made_columns import World
from sklearn.metrics import log_loss

import calirare as cr
from calirare.evaluation import evaluate, first_lines

LOGGER = "calirare.estimator.beware"


@pytest.fixture(scope="module")
def made():
    """Nothing to learn, and a column that is made from labels."""
    world = World.draw()
    contacts = world.sums(world.y * world.known)
    return world, cr.read_tables(*world.tables(contacts=contacts), label="fraud", rare="yes")


@pytest.fixture(scope="module")
def forest(made):
    return cr.RareCategoryClassifier("forest").fit(made[1])


def test_left_out_evidence_is_worth_what_hidden_labels_say(made, forest):
    (world, graph), (left_out, y) = made, forest.left_out_rare()
    hidden, p = ~world.known, forest.predict_proba(graph)[:, 1]
    base = y.mean()
    nothing = -base * np.log(base) - (1 - base) * np.log(1 - base)
    assert log_loss(y, left_out) == pytest.approx(nothing, rel=0.05)
    assert log_loss(world.y[hidden], p[hidden]) == pytest.approx(
        log_loss(world.y[hidden], np.full(hidden.sum(), base)), rel=0.05
    )


def test_neighbours_are_not_asked_about_it_and_the_node_itself_is(made, forest):
    names = forest.inputs(made[1]).columns.names
    assert [name for name in names if "contacts" in name] == ["contacts"]
    assert "age, mean over neighbours" in names


def test_it_is_said_first_and_the_model_is_kept(made, forest, tmp_path):
    graph = made[1]
    said = first_lines(forest, graph)
    assert said[0].startswith("'contacts' seems to be made from the labels") and "own value alone" in said[0]
    assert said[0].endswith("Fit again with --type contacts=ignore.") and said[1].startswith("No skill is shown")
    forest.save(tmp_path, graph)
    loaded = cr.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(graph), forest.predict_proba(graph))
    assert first_lines(loaded, graph) == said


def test_a_stack_goes_without_networks_and_says_why(made):
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["gcn", "linear"])).fit(made[1])
    assert list(clf.weights_) == ["linear"] and "'contacts'" in clf.detector_.left_out_reasons_["gcn"]


def test_a_network_alone_reads_it_and_nothing_is_promised(made):
    clf = cr.RareCategoryClassifier(cr.detectors.GCN(epochs=20, hidden=4)).fit(made[1])
    assert "No number here will hold" in first_lines(clf, made[1])[0]
    assert "'contacts'" in evaluate(clf, made[1], num_resamples=2).verdict.warnings[0]


def test_one_warning_is_logged_and_none_where_there_is_nothing_to_beware_of(made, caplog):
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        cr.RareCategoryClassifier("linear").fit(cr.make_transactions(600, rare_share=0.2, labelled_share=0.5, seed=0))
        assert not caplog.records
        clf = cr.RareCategoryClassifier("linear").fit(made[1])
    (record,) = caplog.records
    assert (record.name, record.levelname) == (LOGGER, "WARNING")
    assert record.getMessage() == " ".join(first_lines(clf, made[1])[:2])
