"""Decisions become labels, the old model stays, and nothing breaks halfway."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import calirare as cr
from calirare.data.arrays import UNKNOWN
from calirare.decisions.costs import Costs
from calirare.errors import DataError, InputError, LabelError
from calirare.persistence import folder as persistence
from calirare.review import versions
from calirare.review.app import open_desk
from calirare.review.jobs import Job
from calirare.review.pages import model_page
from calirare.review.queue import Workload
from calirare.review.refit import Decided, as_labels, fit_with_decisions, index_of, read_decisions
from calirare.review.snapshot import Snapshot
from calirare.review.store.decisions import DecisionStore
from calirare.review.versions import Base, list_versions
from calirare.review.view import View


def decide(desk, nodes, decision="rare"):
    for node in nodes:
        name = desk.snapshot.ids[node]
        history = desk.store.history(name)
        seen = history[-1].id if history else 0
        desk.decide(name, decision, note="", reviewer="ada", seen=seen, action_key=f"{node}-{seen}-{decision}")


def run_refit(desk):
    assert desk.job.start("ada")
    deadline = time.monotonic() + 60
    while desk.job.status.state == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return desk.job.status


def test_a_page_that_is_drawn_while_models_change_tells_of_neither_half(desk, monkeypatch):
    """The folder holds the new model seconds before the pages have it."""
    opened, seen = desk._open, []

    def look(snapshot):
        found = opened(snapshot)
        seen.append((desk.outcome, desk.is_current(), desk.snapshot.version != snapshot.version))
        return found

    monkeypatch.setattr(desk, "_open", look)
    decide(desk, desk.queue.order(View())[:1].tolist())
    assert run_refit(desk).state == "done"
    assert seen == [(None, True, True)] and desk.outcome is not None and desk.is_current()


def test_a_refit_uses_the_decisions_and_keeps_the_old_model(desk, model):
    old_version, old_p = desk.snapshot.version, desk.snapshot.scores.probability
    rare, normal, unsure = desk.queue.order(View())[[0, 50, 60]].tolist()
    decide(desk, [rare], "rare")
    decide(desk, [normal], "normal")
    decide(desk, [unsure], "unsure")
    status = run_refit(desk)
    assert status.state == "done", status.doing
    change = desk.outcome.change
    assert change.num_decisions == 2 and change.labels_after == change.labels_before + 2
    new = cr.load(model)
    labels = dict(zip(new.labelled_nodes_.tolist(), new.labelled_y_.tolist(), strict=True))
    assert (labels[rare], labels[normal]) == (1, 0) and unsure not in labels
    assert desk.snapshot.version == persistence.model_version(model) != old_version
    np.testing.assert_allclose(
        desk.snapshot.scores.probability, new.predict_proba(desk.snapshot.graph)[:, 1], atol=1e-6
    )
    assert np.abs(desk.snapshot.scores.probability - old_p).max() > 1e-3
    kept = cr.load(model / "versions" / old_version)
    old_graph = persistence.load_graph(model / "versions" / old_version)
    np.testing.assert_allclose(kept.predict_proba(old_graph)[:, 1], old_p, atol=1e-9)
    assert [one.is_current for one in list_versions(model)] == [True, False]
    other = desk.queue.order(View(status="open"))[0]
    assert rare in desk.queue.order(View())  # a decided node stays in the queue, with its decision
    action = desk.queue.judge(Costs(), None).action
    rows = model_page._changed(desk.outcome, desk.book, action, action, np.array([rare, normal, other])).children[-1]
    marks = {
        row.children[0].children.children: getattr(row.children[-1].children, "children", "") for row in rows.children
    }
    names = desk.snapshot.ids[[rare, normal, other]]
    assert marks == dict(zip(names, ("decided rare", "decided normal", ""), strict=True))


def test_the_model_page_tells_what_is_learned_from_what_is_new(desk):
    def said():
        counts, learned, _ = model_page._about(desk)
        return "".join(part for part in counts.children if isinstance(part, str)).split(), learned.children

    nodes = desk.queue.order(View())[[0, 1, 2, 50]].tolist()
    decide(desk, nodes[:2], "rare")
    decide(desk, nodes[2:3], "normal")
    decide(desk, nodes[3:], "unsure")
    assert said() == (["2", "1", "1"], "decided and not learned yet; 0 more have trained this model.")
    assert run_refit(desk).state == "done"
    assert said() == (["0", "0", "1"], "decided and not learned yet; 3 more have trained this model.")
    decide(desk, nodes[:1], "normal")  # on second thoughts
    assert said() == (["0", "1", "1"], "decided and not learned yet; 2 more have trained this model.")


def test_what_a_refit_has_learned_counts_as_done_and_takes_no_budget(desk):
    view = View(budget=20)
    decide(desk, desk.queue.order(replace(view, action="review"))[:9].tolist(), "normal")
    assert desk.queue.progress(view) == Workload(done=9, total=20, decided=9)
    assert run_refit(desk).state == "done"
    learned = desk.snapshot.learned
    assert learned.size == 9 and (desk.book.codes[learned] > 0).all()
    listed, p = desk.snapshot.listed, desk.snapshot.scores.probability
    saves = {node: 1e4 * min(p[node], 1 - p[node]) for node in listed.tolist()}  # a review pays everywhere
    ranked = sorted(saves, key=lambda node: (-saves[node], node))
    budget = ranked.index(next(node for node in ranked if node in learned)) + 1  # would reach one of them
    wanted, view = [node for node in ranked if node not in learned][:budget], View(Costs(miss=1e4, alarm=1e4), budget)
    assert set(desk.queue.order(replace(view, action="review"))) == set(wanted)
    assert desk.queue.progress(view) == Workload(done=9, total=9 + budget, decided=9)
    decide(desk, wanted[:3])
    assert desk.queue.progress(view) == Workload(done=12, total=9 + budget, decided=12)
    last = desk.store.history(desk.snapshot.ids[learned[0]])[-1]
    desk.undo(last.id, reviewer="ada", action_key="back")
    assert desk.queue.progress(view) == Workload(done=11, total=8 + budget, decided=11)


def test_the_share_of_rare_nodes_is_not_moved_by_reviewed_cases(desk):
    before = desk.snapshot.clf.shares_[1]
    decide(desk, desk.queue.order(View())[:25].tolist(), "rare")
    assert run_refit(desk).state == "done"
    assert desk.snapshot.clf.shares_[1] == pytest.approx(before)


def test_a_decision_taken_back_is_no_label_at_the_next_refit(desk, model):
    node = int(desk.queue.order(View())[0])
    decide(desk, [node, int(desk.queue.order(View())[1])])
    assert run_refit(desk).state == "done"
    assert desk.snapshot.graph.y[node] == 1 and desk.snapshot.base.y[node] == -1
    last = desk.store.history(desk.snapshot.ids[node])[-1]
    desk.undo(last.id, reviewer="ada", action_key="back")
    desk.close()
    desk = open_desk(model)  # the labels before any decision are found again after a restart
    assert run_refit(desk).state == "done"
    assert desk.snapshot.graph.y[node] == -1 and node not in desk.snapshot.clf.labelled_nodes_
    desk.close()


def test_going_back_gives_the_old_answers(desk, model):
    old_version, old_p = desk.snapshot.version, desk.snapshot.scores.probability
    decide(desk, desk.queue.order(View())[:5].tolist(), "normal")
    run_refit(desk)
    new_version = desk.snapshot.version
    desk.go_back_to(old_version)
    assert persistence.model_version(model) == desk.snapshot.version == old_version
    np.testing.assert_allclose(desk.snapshot.scores.probability, old_p)
    assert {one.version for one in list_versions(model)} == {old_version, new_version}
    with pytest.raises(InputError, match="version must be one of"):
        desk.go_back_to("../elsewhere")
    desk.go_back_to(new_version)
    assert desk.snapshot.version == new_version


def test_a_decision_names_the_model_that_was_on_the_page(desk):
    before = desk.snapshot.version
    decide(desk, desk.queue.order(View())[:3].tolist())
    assert run_refit(desk).state == "done"
    name = desk.snapshot.ids[desk.queue.order(View())[9]]
    late = desk.decide(name, "rare", note="", reviewer="ada", seen=0, action_key="late", shown=before)
    assert late.model_version == before != desk.snapshot.version
    with pytest.raises(InputError, match="reload"):
        desk.decide(name, "rare", note="", reviewer="ada", seen=late.id, action_key="x", shown="unknown")


def test_without_decisions_a_refit_says_so_and_changes_nothing(desk, model):
    before = sorted(path.name for path in model.iterdir())
    decide(desk, desk.queue.order(View())[:1].tolist(), "unsure")
    status = run_refit(desk)
    assert status.state == "failed" and "no decision “rare” or “normal”" in status.doing
    assert sorted(path.name for path in model.iterdir() if "-wal" not in path.name and "-shm" not in path.name) == [
        name for name in before if "-wal" not in name and "-shm" not in name
    ]


@pytest.fixture(scope="module")
def other(made_model, briefly):
    """Another model of the same graph."""
    with briefly():
        return cr.RareCategoryClassifier(cr.detectors.GCN(epochs=1, hidden=4)).fit(Snapshot.load(made_model).graph)


@pytest.mark.parametrize("step", ["_rename_folder", "make_current", "staged", "_link"])
def test_a_crash_while_writing_leaves_the_old_model(model, other, monkeypatch, step):
    old = Snapshot.load(model)
    monkeypatch.setattr(versions, step, lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        versions.install(other, old.graph, old.base, model)
    assert Snapshot.load(model).version == old.version
    assert not list((model / "versions").glob(".new-*"))
    monkeypatch.undo()
    version = versions.install(other, old.graph, old.base, model)
    assert persistence.model_version(model) == version
    assert {one.version for one in list_versions(model)} == {version, old.version}


def test_a_failed_refit_says_so_and_leaves_the_desk_as_it_was(desk, monkeypatch):
    version = desk.snapshot.version
    decide(desk, desk.queue.order(View())[:2].tolist())
    monkeypatch.setattr(versions, "install", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    status = run_refit(desk)
    assert status.state == "failed" and "unchanged" in status.doing
    assert desk.snapshot.version == version and desk.outcome is None


def test_a_closing_desk_stops_the_refit_without_a_trace(model, monkeypatch):
    desk = open_desk(model)
    old_version = desk.snapshot.version
    decide(desk, desk.queue.order(View())[:2].tolist())
    desk.snapshot.clf.set_params(detector=cr.detectors.GCN(epochs=100_000, hidden=8))
    desk.job.start("ada")
    while desk.job.status.share < 0.05:
        time.sleep(0.01)
    desk.close()
    assert desk.job.status.state == "failed" and "closed" in desk.job.status.doing
    assert persistence.model_version(model) == old_version and not (model / "versions").exists()


def test_decided_nodes_leave_validation_and_test():
    graph = cr.make_transactions(num_nodes=300, rare_share=0.2, seed=0)
    split = cr.split_labels(graph, train_fraction=0.3, val_fraction=0.2, test_fraction=0.5, seed=0)
    store = DecisionStore.open("sqlite://")
    names = graph.ids[[split.val[0], split.test[0]]].tolist()
    for name in names:
        store.record(name, "rare", reviewer="a", model_version="m", seen=0, action_key=name)
    decided = as_labels(store.current().values(), index_of(graph), graph.scored)
    clf, labelled = fit_with_decisions(
        cr.RareCategoryClassifier(detector="linear"), graph, Base(graph.y, split), decided
    )
    assert {split.val[0], split.test[0]} <= set(clf.split_.train.tolist())
    assert split.val[0] not in clf.split_.val and split.test[0] not in clf.split_.test
    assert labelled.y[split.test[0]] == 1
    assert clf.base_rate_ == (graph.y[split.val] == 1).mean()  # as before any decision
    assert np.array_equal(graph.y, cr.make_transactions(num_nodes=300, rare_share=0.2, seed=0).y)


@pytest.mark.parametrize("held_out", [0.0, 0.4])
def test_the_share_is_counted_on_the_labels_before_any_decision(held_out, tmp_path):
    """And known as well as they tell it: neither the decisions nor a later fit on other labels change that."""
    graph = cr.make_transactions(num_nodes=400, rare_share=0.2, labelled_share=0.5, seed=0)
    split = None
    if held_out:
        split = cr.split_labels(graph, train_fraction=1 - held_out, val_fraction=held_out, test_fraction=0.0, seed=0)
    nodes = graph.known if split is None else split.val
    rare = nodes[graph.y[nodes] == 1]
    chosen = np.flatnonzero(graph.y == UNKNOWN)[:30] if split is None else rare[1:]
    decided = Decided(np.sort(chosen), np.ones(chosen.size, dtype=bool))
    clf = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1))
    clf, labelled = fit_with_decisions(clf, graph, Base(graph.y, split), decided)
    clf.save(tmp_path / "model")
    for one in (clf, cr.load(tmp_path / "model")):
        assert one.base_rate_ == pytest.approx(rare.size / nodes.size)
        assert one._num_share_labels() == nodes.size
    fewer = labelled.with_labels(np.where(labelled.y == 1, labelled.y, UNKNOWN))
    fewer.y[: graph.num_nodes // 4] = labelled.y[: graph.num_nodes // 4]
    assert clone(clf).fit(fewer).base_rate_ == (fewer.y[fewer.known] == 1).mean()


def test_with_more_classes_normal_is_the_most_probable_other_one():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    graph = cr.RareGraph(
        x=np.eye(3)[y] + 0.1 * rng.normal(size=(90, 3)),
        edge_index=rng.integers(0, 90, (2, 60)),
        y=np.where(np.arange(90) < 45, y, -1),
        class_names=("a", "b", "rare"),
        rare_class=2,
    )
    store = DecisionStore.open("sqlite://")
    node = 45  # of class a, unknown to the model
    store.record("45", "normal", reviewer="a", model_version="m", seen=0, action_key="1")
    decided = as_labels(store.current().values(), index_of(graph), graph.scored)
    clf, labelled = fit_with_decisions(
        cr.RareCategoryClassifier(detector="linear"),
        graph,
        Base(graph.y, None),
        decided,
        other_class=np.full(90, 1),
    )
    assert labelled.y[node] == 1


def test_decisions_of_other_nodes_and_unsure_ones_are_not_used(tmp_path):
    graph = cr.make_transactions(num_nodes=50, rare_share=0.2, seed=0)
    store = DecisionStore.open(tmp_path / "d.sqlite")
    store.record("gone", "rare", reviewer="a", model_version="m", seen=0, action_key="1")
    store.record(str(graph.ids[3]), "unsure", reviewer="a", model_version="m", seen=0, action_key="2")
    store.close()
    decided = as_labels(read_decisions(tmp_path / "d.sqlite", graph), index_of(graph), graph.scored)
    assert not decided.nodes.size
    with pytest.raises(LabelError, match="decide some cases first"):
        fit_with_decisions(cr.RareCategoryClassifier(), graph, Base(graph.y, None), decided)


def test_one_job_at_a_time_and_failures_in_words(caplog):
    go = threading.Event()
    job = Job(lambda report: go.wait(10))
    assert job.start("ada") and not job.start("bob")
    assert job.status.state == "running" and job.status.by == "ada"
    go.set()
    job.stop()
    assert job.status.state == "done" and not job.start("carl")
    broken = Job(lambda report: 1 / 0)
    broken.start("ada")
    broken.stop()
    assert broken.status.state == "failed" and "division" not in broken.status.doing
    assert "ZeroDivisionError" in caplog.text


def test_scores_from_a_file_that_does_not_fit_are_not_believed(model, caplog):
    [file] = model.glob("scores-*.npz")
    good = Snapshot.load(model).scores.probability
    from calirare.data.storage.archive import read_arrays, write_arrays

    arrays = read_arrays(file)
    for change in (
        {"probability": arrays["probability"] + 5},
        {"lower": arrays["lower"][:10]},
        {"draws": arrays["draws"][:, :1]},
    ):
        write_arrays(file, arrays | change)
        np.testing.assert_allclose(Snapshot.load(model).scores.probability, good)
        assert "does not fit" in caplog.text
        caplog.clear()
    file.write_bytes(b"not an archive")
    np.testing.assert_allclose(Snapshot.load(model).scores.probability, good)


INSTALLER = """
import itertools, sys
from pathlib import Path
import calirare as cr
from calirare.review.snapshot import Snapshot
from calirare.review.versions import install
folder = Path(sys.argv[1])
old = Snapshot.load(folder)
models = [cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=1, hidden=4), seed=seed).fit(old.graph) for seed in range(2)]
print("ready", flush=True)
for turn in itertools.count():
    install(models[turn % 2], old.graph, old.base, folder)
"""


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(6))
def test_a_desk_killed_while_it_switches_models_leaves_one_that_loads(model, turn):
    writer = subprocess.Popen([sys.executable, "-c", INSTALLER, str(model)], stdout=subprocess.PIPE, text=True)
    writer.stdout.readline()
    time.sleep(random.Random(turn).uniform(0.0, 1.5))
    os.kill(writer.pid, signal.SIGKILL)
    writer.stdout.close()
    writer.wait()
    Snapshot.load(model)
    for one in list_versions(model):
        cr.load(model / "versions" / one.version)
        persistence.load_graph(model / "versions" / one.version)


def test_what_a_crash_left_is_removed_after_a_day(model):
    fresh, old = model / "versions" / ".new-fresh", model / "versions" / ".new-old"
    for folder in (fresh, old):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    versions.remove_leftovers(model)
    assert fresh.exists() and not old.exists()


def test_a_model_of_a_first_fit_with_decisions_knows_its_base(tmp_path):
    graph = cr.make_transactions(num_nodes=100, rare_share=0.2, labelled_share=0.5, seed=0)
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=2, hidden=4)).fit(graph)
    base = np.where(graph.y == 1, -1, graph.y)
    version = versions.install(clf, graph, Base(base, None), tmp_path / "new")
    assert persistence.model_version(tmp_path / "new") == version
    assert np.array_equal(versions.load_base(tmp_path / "new", clf, graph).y, base)
    small = cr.make_transactions(num_nodes=50, rare_share=0.2, seed=0)
    with pytest.raises(DataError, match="does not belong"):
        versions.load_base(tmp_path / "new", clf, small)
