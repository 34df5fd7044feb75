import json
import os
import pickle

import numpy as np
import pytest

import calirare as cr
from calirare.errors import ModelFormatError
from calirare.persistence.folder import header_checksum, load_graph, model_version, replace_file

pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.fixture(scope="module")
def fitted():
    graph = cr.make_transactions(num_nodes=300, rare_share=0.2, seed=0)
    return cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=8, hidden=4), device="cpu").fit(graph), graph


@pytest.fixture
def folder(fitted, tmp_path):
    clf, graph = fitted
    clf.save(tmp_path / "model", graph)
    return tmp_path / "model"


def rewrite(folder, header):
    """Edit as one would who knows the format: the checksum fits."""
    (folder / "model.json").write_text(json.dumps(header | {"checksum": header_checksum(header)}))


def test_graph_travels_with_the_model(folder, fitted):
    graph = load_graph(folder)
    np.testing.assert_array_equal(graph.y, fitted[1].y)
    np.testing.assert_array_equal(cr.load(folder).predict_proba(graph), fitted[0].predict_proba(fitted[1]))


def test_how_it_was_trained_travels_with_the_model(folder, fitted):
    assert fitted[0].history_.slope is not None and len(fitted[0].history_.loss) == 8
    assert cr.load(folder).history_ == fitted[0].history_


def test_intervals_travel_with_the_model_and_older_ones_go_without_degrees(folder, fitted):
    clf, graph = fitted
    want, kept = clf.predict_interval(graph), cr.load(folder).predict_interval(graph)
    np.testing.assert_array_equal([kept.lower, kept.upper], [want.lower, want.upper])
    header = json.loads((folder / "model.json").read_text())
    del header["connections"], header["checksum"]  # as 0.7.0 wrote it
    rewrite(folder, header)
    older = cr.load(folder)
    plain = clf.calibration_draws().interval(clf.predict_proba(graph)[:, 1])
    found = older.predict_interval(graph)
    np.testing.assert_array_equal([found.lower, found.upper], [plain.lower, plain.upper])
    assert (want.width > found.width).mean() > 0.5


def test_degrees_that_are_none_are_refused(folder):
    header = json.loads((folder / "model.json").read_text())
    del header["checksum"]
    rewrite(folder, header | {"connections": {"degree": [1, 2]}})
    with pytest.raises(ModelFormatError, match="number of neighbours for each label"):
        cr.load(folder)


def test_saving_again_replaces_and_leaves_no_rubbish(folder, fitted):
    version = model_version(folder)
    other = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=3, hidden=4), device="cpu").fit(fitted[1])
    other.save(folder, fitted[1])
    assert model_version(folder) != version
    assert len(list(folder.iterdir())) == 3


def test_a_crash_before_the_last_step_keeps_the_old_model(folder, fitted, monkeypatch):
    version = model_version(folder)
    real = os.replace

    def crash(source, target):
        if str(target).endswith("model.json"):
            raise KeyboardInterrupt
        real(source, target)

    other = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=3, hidden=4), device="cpu").fit(fitted[1])
    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        other.save(folder, fitted[1])
    monkeypatch.undo()
    assert model_version(folder) == version
    cr.load(folder)


@pytest.mark.parametrize("name", ["model.json", "arrays", "graph"])
def test_truncated_files_are_refused(folder, name):
    file = next(path for path in folder.iterdir() if path.name.startswith(name))
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(ModelFormatError):
        cr.load(folder)
        load_graph(folder)


def test_edited_arrays_are_refused(folder):
    file = next(folder.glob("arrays-*"))
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFormatError, match="sha256"):
        cr.load(folder)


def test_another_format_version_is_refused(folder):
    header = json.loads((folder / "model.json").read_text())
    header["format_version"] = 99
    rewrite(folder, header)
    with pytest.raises(ModelFormatError, match="format version 99"):
        cr.load(folder)


@pytest.mark.parametrize("name", ["../elsewhere.safetensors", "/etc/hostname", None, 3])
def test_files_outside_the_folder_are_refused(folder, name):
    header = json.loads((folder / "model.json").read_text())
    header["arrays"]["file"] = name
    rewrite(folder, header)
    with pytest.raises(ModelFormatError, match="outside"):
        cr.load(folder)


class _Bomb:
    def __reduce__(self):
        return (os.mkdir, ("planted-by-pickle",))


def test_a_planted_pickle_is_not_run(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    file = next(folder.glob("arrays-*"))
    file.write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(ModelFormatError):
        cr.load(folder)
    assert not (tmp_path / "planted-by-pickle").exists()


def test_not_a_model(tmp_path):
    with pytest.raises(ModelFormatError, match=r"no model\.json"):
        cr.load(tmp_path)


def test_replace_file_leaves_nothing_behind_on_failure(tmp_path, monkeypatch):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        replace_file(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
