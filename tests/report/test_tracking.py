"""A fit in MLflow: by the real library where it is installed, else by one that writes down what it is told."""

from __future__ import annotations

import contextlib
import sys
import types

import pytest

import calirare as cr
from calirare.errors import DataError, MissingDependencyError
from calirare.persistence.folder import fingerprint_of
from calirare.report.card import write_card
from calirare.report.tracking import log_to_mlflow


@pytest.fixture(scope="module")
def saved(tmp_path_factory, few_draws, briefly):
    graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, rare_share=0.2, seed=0, with_payments=False)
    clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    folder = tmp_path_factory.mktemp("model")
    clf.save(folder, graph)
    with briefly():
        write_card(folder, clf, graph)
    (folder / "decisions.sqlite").write_text("stays at home")
    return clf, graph, folder


def test_what_is_logged(saved, monkeypatch):
    told = {"artifacts": []}
    fake = types.ModuleType("mlflow")
    fake.exceptions = types.SimpleNamespace(MlflowException=RuntimeError)
    fake.set_tracking_uri = lambda address: told.update(address=address)
    fake.set_experiment = lambda name: told.update(experiment=name)
    run = types.SimpleNamespace(info=types.SimpleNamespace(run_id="r1"))
    fake.start_run = lambda: contextlib.nullcontext(run)
    fake.log_params = lambda given: told.update(params=given)
    fake.log_metrics = lambda given: told.update(metrics=given)
    fake.set_tags = lambda given: told.update(tags=given)
    fake.log_artifact = lambda path, where: told["artifacts"].append(path.rsplit("/", 1)[1])
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    clf, graph, folder = saved
    assert log_to_mlflow(clf, graph, folder, experiment="fraud", address="http://x") == "r1"
    assert told["experiment"] == "fraud" and told["params"]["detector"] == "linear"
    assert told["metrics"]["average_precision_lower"] <= told["metrics"]["average_precision"]
    assert told["tags"]["calirare.model"] == fingerprint_of(folder).model
    assert {"model.json", "MODEL_CARD.md"} <= set(told["artifacts"]) and "decisions.sqlite" not in told["artifacts"]

    def refuse(name):
        raise RuntimeError("no such server\nTraceback")

    fake.set_experiment = refuse
    with pytest.raises(DataError, match=r"no such server\.$"):
        log_to_mlflow(clf, graph, folder, experiment="fraud")

    def lack(name):
        raise ModuleNotFoundError("No module named 'alembic'", name="alembic")

    address = "mysql://ada:secret@db/runs"  # pragma: allowlist secret
    fake.set_experiment, fake.get_tracking_uri = lack, lambda: address
    with pytest.raises(DataError, match=r"cannot write to .*without alembic; set MLFLOW_TRACKING_URI") as found:
        log_to_mlflow(clf, graph, folder, experiment="fraud")
    assert "secret" not in str(found.value)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingDependencyError, match=r"calirare\[mlflow\]"):
        log_to_mlflow(clf, graph, folder, experiment="fraud")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow's own libraries
def test_the_real_one_gives_back_a_model_that_loads(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    clf, graph, folder = saved
    address = f"file://{tmp_path}/runs"  # a database would need more than mlflow-skinny
    run = log_to_mlflow(clf, graph, folder, experiment="fraud", address=address)
    found = mlflow.tracking.MlflowClient(address).get_run(run)
    assert found.data.params["detector"] == "linear" and found.data.metrics["average_precision"] > 0.2
    place = found.info.artifact_uri.removeprefix("file://") + "/model"
    assert (cr.load(place).predict_proba(graph) == clf.predict_proba(graph)).all()
