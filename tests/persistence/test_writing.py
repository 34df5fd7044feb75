"""Several writers and readers of one model folder, killed, without space, beside the user's own files."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import calirare as cr
from calirare.data.storage import locking
from calirare.errors import DataError, InputError
from calirare.persistence import writing
from calirare.persistence.folder import load_graph, model_version


@pytest.fixture(scope="module")
def models():
    """(three models, their graph)."""
    graph = cr.make_transactions(num_nodes=200, rare_share=0.2, seed=0, with_payments=False)
    found = [
        cr.RareCategoryClassifier("linear", class_costs=(1.0, 1.0 + seed), device="cpu").fit(graph) for seed in range(3)
    ]
    for clf in found:
        clf.predict_left_out()  # so that threads that save them find it done
    return found, graph


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_whole(folder, graph):
    assert cr.load(folder).predict_proba(load_graph(folder)).shape == (graph.num_nodes, 2)


def test_writers_and_readers_at_once_end_with_one_whole_model(models, tmp_path):
    clfs, graph = models
    folder = tmp_path / "model"
    clfs[0].save(folder, graph)
    done = threading.Event()

    def write(clf):
        for _ in range(2):
            clf.save(folder, graph)

    def read():
        times = 0
        while not done.is_set():
            assert_whole(folder, graph)
            times += 1
        return times

    with ThreadPoolExecutor(4) as pool:
        reader = pool.submit(read)
        for writer in [pool.submit(write, clf) for clf in clfs]:
            writer.result()
        done.set()
        assert reader.result() > 0
    assert_whole(folder, graph)
    assert len(files_in(folder)) == 3


def test_files_of_the_user_stay(models, tmp_path):
    """Names like ours, hidden files of other programs, a header that names the user's file."""
    clfs, graph = models
    mine = ["graph-january.npz", "arrays-2023.safetensors", "arrays-0123456789abcdef.safetensors", ".movie.mkv.part"]
    for name in mine:
        (tmp_path / name).write_bytes(b"mine")
        os.utime(tmp_path / name, (1, 1))
    clfs[0].save(tmp_path, graph)
    header = json.loads((tmp_path / "model.json").read_text())
    header["graph"]["file"] = "graph-january.npz"
    (tmp_path / "model.json").write_text(json.dumps(header | {"checksum": writing.header_checksum(header)}))
    clfs[1].save(tmp_path, graph)
    assert all((tmp_path / name).read_bytes() == b"mine" for name in mine)


@pytest.mark.parametrize(
    ("path", "says"), [("", "empty"), (" ", "empty"), ("a\0b", "holds a null"), ("\ud800", "is no text")]
)
def test_an_empty_path_is_not_the_current_folder_and_nonsense_is_none(models, path, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=says):
        models[0][0].save(path)
    assert not files_in(tmp_path)


@pytest.mark.parametrize("writes", range(1, 4))
def test_a_disk_that_fills_leaves_no_orphan(models, tmp_path, monkeypatch, writes):
    """Whichever file is the one that no longer fits."""
    clfs, graph = models
    clfs[0].save(tmp_path, graph)
    before, real, count = files_in(tmp_path), os.fsync, iter(range(100))

    def full(handle):
        if next(count) == writes - 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    other = cr.make_transactions(num_nodes=200, rare_share=0.2, seed=5, with_payments=False)
    with pytest.raises(DataError, match=f"{tmp_path} cannot be written: No space"):
        clfs[1].save(tmp_path, other)
    assert files_in(tmp_path) == before
    assert_whole(tmp_path, graph)


@pytest.mark.parametrize("at", range(3))
def test_a_rename_that_fails_leaves_no_orphan(models, tmp_path, monkeypatch, at):
    clfs, graph = models
    clfs[0].save(tmp_path, graph)
    before, real, count = files_in(tmp_path), os.replace, iter(range(100))

    def crash(source, target):
        if os.path.dirname(target) == str(tmp_path) and next(count) == at:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        clfs[1].save(tmp_path, cr.make_transactions(num_nodes=200, rare_share=0.2, seed=5, with_payments=False))
    monkeypatch.undo()
    assert files_in(tmp_path) == before
    assert_whole(tmp_path, graph)


KILLED = """
import os, sys
import calirare as cr
graph = cr.make_transactions(num_nodes=200, rare_share=0.2, seed=int(sys.argv[2]))
clf = cr.RareCategoryClassifier("linear", device="cpu").fit(graph)
real, left = os.replace, [int(sys.argv[2])]
def die(source, target):
    if left[0] == 0:
        os._exit(9)
    left[0] -= 1
    real(source, target)
os.replace = die
clf.save(sys.argv[1], graph)
"""


@pytest.mark.slow
def test_what_killed_writers_left_is_gone_after_the_next_save(models, tmp_path):
    """Killed before every rename of a save: nothing else moves files."""
    clfs, graph = models
    clfs[0].save(tmp_path, graph)
    version, codes = model_version(tmp_path), []
    for renames in range(7):
        codes.append(subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(renames)]).returncode)
        assert codes[-1] == 0 or model_version(tmp_path) == version
        version = model_version(tmp_path)
        assert_whole(tmp_path, graph)
    assert codes[0] == 9
    clfs[1].save(tmp_path, graph)
    assert len(files_in(tmp_path)) == 3


def test_where_a_folder_cannot_be_locked_nothing_is_removed(models, tmp_path, monkeypatch):
    clfs, graph = models
    monkeypatch.setattr(locking, "fcntl", None)
    for clf in clfs:
        clf.save(tmp_path, graph)
    assert len(list(tmp_path.glob("arrays-*"))) == 3
    assert_whole(tmp_path, graph)
    monkeypatch.undo()
    shutil.copytree(tmp_path, tmp_path / "copy")
    refused = random.Random(0).choice([errno.ENOLCK, errno.ENOTSUP])
    monkeypatch.setattr(locking.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(refused, "no locks here")))
    clfs[0].save(tmp_path / "copy", graph)
    assert_whole(tmp_path / "copy", graph)
