"""What shells do to a program's streams, and what is left when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calirare.cli import streams
from calirare.data.storage import locking
from calirare.data.storage.locking import working_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells and signals")


def shell(words, redirection):
    """The program's exit code and what still reaches us, with its streams as the shell line says."""
    line = f'"{sys.executable}" -m calirare {words} {redirection}'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", ["methods", "methods --json", "--help", "--version"])
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams(words, redirection):
    code, said = shell(words, redirection)
    assert code == 0 and "Traceback" not in said and "Exception" not in said


@pytest.mark.slow
@pytest.mark.parametrize("redirection", ["2>&-", ">&- 2>&-", "2>/dev/full", ">/dev/full 2>&1"])
def test_an_error_that_nobody_hears_still_has_its_code(redirection):
    code, said = shell("fit no.csv such.csv --label a --rare b --out /tmp/never-made", redirection)
    assert code == 2 and said == ""


@pytest.mark.slow
@pytest.mark.parametrize("words", ["methods", "methods --json", "--help"])
def test_a_full_output_is_said_in_one_line(words):
    code, said = shell(words, "> /dev/full")
    assert code in (1, 2) and said.count("\n") <= 1 and "Traceback" not in said and "Exception ignored" not in said


@pytest.mark.slow
@pytest.mark.parametrize("words", ["methods", "methods --json", "--help", "nope"])
def test_a_reader_that_has_had_enough(words):
    line = f'"{sys.executable}" -m calirare {words} 2>&1 | true; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)
    assert done.stderr == "" and done.stdout.strip() in ("0", "1", "2", "141")


@pytest.mark.slow
def test_a_model_saved_with_closed_streams_is_whole(tables, tmp_path):
    """The model's files must not get the numbers of the closed streams, which libraries write to."""
    import calirare as cr

    words = (
        f"fit {tables[0]} {tables[1]} --label is_fraud --rare yes --detector linear --out {tmp_path / 'model'} --json"
    )
    code, _ = shell(words, "<&- >&- 2>&-")
    assert code == 0
    cr.load(tmp_path / "model")


WORKER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
from calirare.cli import streams
from calirare.data.storage.locking import working_folder
streams.prepare()
with working_folder(Path(sys.argv[1]), "calirare-parts-") as folder:
    (folder / "large").write_bytes(b"x" * 1000)
    print("ready", flush=True)
    time.sleep(60)
"""


def start_worker(base):
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(base)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout.readline() == "ready\n"
    return worker


def end(worker, number):
    os.kill(worker.pid, number)
    worker.stdout.close()
    return worker.wait(timeout=120)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stop_leaves_no_working_folder(tmp_path, number, code):
    assert end(start_worker(tmp_path), number) == code
    assert not list(tmp_path.iterdir())


def test_what_a_killed_program_left_goes_with_the_next_one(tmp_path):
    at_work, killed = start_worker(tmp_path), start_worker(tmp_path)
    assert end(killed, signal.SIGKILL) == -signal.SIGKILL
    (tmp_path / "calirare-parts-elsewhere-abc").mkdir()  # of another machine
    assert len(list(tmp_path.iterdir())) == 3
    with working_folder(tmp_path, "calirare-parts-") as own:
        names = {path.name for path in tmp_path.iterdir()}
        assert own.name in names and len(names) == 3  # ours, the one at work, the other machine's
    end(at_work, signal.SIGTERM)
    assert [path.name for path in tmp_path.iterdir()] == ["calirare-parts-elsewhere-abc"]


def test_without_locks_nothing_is_taken_for_abandoned(tmp_path, monkeypatch):
    monkeypatch.setattr(locking, "fcntl", None)
    with working_folder(tmp_path, "p-") as first:
        (first / "file").touch()
        with working_folder(tmp_path, "p-"):
            assert first.is_dir()
    assert not list(tmp_path.iterdir())


def test_a_file_of_that_name_stays(tmp_path):
    import socket

    mine = tmp_path / f"p-{socket.gethostname()}-mine"
    mine.write_text("mine")
    with working_folder(tmp_path, "p-"):
        time.sleep(0)
    assert Path(mine).read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "left"), [(["serve", "model"], True), (["-q", "serve"], True), (["fit", "serve"], False), ([], False)]
)
def test_sighup_is_left_to_a_service_from_the_start(monkeypatch, words, left):
    monkeypatch.setattr(sys, "argv", ["calirare", *words])
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGHUP, signal.SIGTERM)}
    try:
        streams.prepare()
        assert (signal.getsignal(signal.SIGHUP) is signal.SIG_IGN) == left
        assert callable(signal.getsignal(signal.SIGTERM))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
