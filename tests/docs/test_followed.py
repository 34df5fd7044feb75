"""Guides followed literally: every command and every Python block, in their order, in an empty folder.

Services are started, waited for and left to run to the end of their page. Commands that need another place or hours are
left out, each with its reason; the names of machines that no reader has stand for ones that are started here.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["start.md", *(f"guides/{path.name}" for path in sorted((DOCS / "guides").glob("*.md")))]
BLOCK = re.compile(r"^( *)```(sh|python)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"# (\w+\.py)\n")
MAY_ALARM = ("calirare monitor", "calirare refit", "calirare evaluate")
SERVICES = ("calirare serve", "calirare review")
NOT_HERE = {
    "python -m venv": "the environment that runs the tests is this one",
    "pip install": "the same",
    "make container": "builds an image from a clone; tests/tools/test_container.py has its rules",
    "podman compose": "needs that image",
    "python benchmarks/": "minutes to hours, in a clone; tests/docs/test_commands.py holds their arguments",
    "calirare benchmark --backend ray": "tests/benchmark/test_cluster.py starts a cluster",
}
SHORT = " --seeds 1 --labels 20 --methods temperature"
"""Added to benchmarks, which are left to choose their graphs: hours else."""
DRIVER = """
import json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    try:
        exec(compile(json.loads(line), "<guide>", "exec"), names)
        said = ""
    except BaseException:
        said = traceback.format_exc()
    print("\\0" + json.dumps(said), flush=True)
"""


def steps(page: str) -> list[tuple[str, str]]:
    """(kind, text) of every command of the shell, which may go over several lines, and of every block of Python."""
    found: list[tuple[str, str]] = []
    for _, kind, block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        text = textwrap.dedent(block)
        lines = [text] if kind == "python" else re.split(r"(?<!\\)\n", text)
        found += [(kind, line) for line in lines if line.strip()]
    return found


class Reader:
    """Somebody with a shell, a Python and patience, in an empty folder."""

    def __init__(self, folder: Path, stand_ins: dict[str, str]) -> None:
        self.work, self.stand_ins, self.codes = folder / "empty", stand_ins, {}
        self.services, self.drains, self.decisions = [], [], 0
        tools, self.environment = folder / "bin", folder / "environment"
        tools.mkdir()
        self.work.mkdir()
        for name, words in (("calirare", "-m calirare"), ("python", "")):
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (tools / name).chmod(0o755)
        self.settings = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "MPLBACKEND": "agg", "NO_COLOR": "1"}
        self.environment.write_text("")
        self.python = subprocess.Popen(
            [sys.executable, "-c", DRIVER], cwd=self.work, env=self.settings, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def follow(self, kind: str, text: str) -> None:
        if kind == "python":
            return self.run_python(text)
        for word, stand_in in self.stand_ins.items():
            text = text.replace(word, stand_in)
        if text.startswith(tuple(NOT_HERE)):
            return None
        if text.startswith(SERVICES):
            return self.start(text)
        if text.startswith("calirare benchmark"):
            text += SHORT + ("" if "--dataset" in text else " --datasets cora")
        if text.startswith("kill"):
            text = text.replace("PID", str(self.services[-1].pid))
        self.run_shell(text)
        return None

    def run_shell(self, text: str) -> None:
        """With what earlier lines exported."""
        script = f". {self.environment}\n{text}\ncode=$?\nexport -p > {self.environment}\nexit $code"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.work, env=self.settings, capture_output=True, text=True, timeout=900
        )
        allowed = (0, 1) if text.startswith(MAY_ALARM) else (0,)
        assert done.returncode in allowed, (text, done.stdout[-2000:], done.stderr[-2000:])
        assert '{"error"' not in done.stdout, (text, done.stdout)  # curl is content with any answer
        self.codes.setdefault(text, []).append(done.returncode)

    def run_python(self, text: str) -> None:
        """In one session for the page; a block that begins with the name of a file is saved under it too."""
        if named := SAVED.match(text):
            (self.work / named[1]).write_text(text)
        self.python.stdin.write(json.dumps(text) + "\n")
        self.python.stdin.flush()
        while not (line := self.python.stdout.readline()).startswith("\0"):
            assert line, f"Python ended in {text}"
        assert not json.loads(line[1:]), (text, json.loads(line[1:]))

    def start(self, text: str) -> None:
        """Wait for the address; one that is there already is stopped, as a reader would."""
        while self.services:
            self.stop()
        words = shlex.split(text.replace("\\\n", " ")) + (
            ["--no-open"] if "review" in text and "--no-open" not in text else []
        )
        words += [] if "--port" in words else ["--port", free_port()]
        lines = f". {self.environment}\nexec {shlex.join(words)}"
        process = subprocess.Popen(
            ["bash", "-c", lines], cwd=self.work, env=self.settings, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.services.append(process)
        said = ""
        while "http://" not in said:
            line = process.stdout.readline()
            assert line, (text, said)
            said += line
        url = re.search(r"http://\S+:\d+", said)[0].replace("0.0.0.0", "127.0.0.1")
        if "review" in text:
            self.decide(url)
        else:
            urllib.request.urlopen(f"{url}/health", timeout=60).close()
        self.drains.append(threading.Thread(target=drain, args=(process.stdout,)))
        self.drains[-1].start()

    def decide(self, url: str) -> None:
        """A dozen cases at the desk, as a person would before fitting with them; logged in where a token is wanted."""
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        if token := re.search(r'CALIRARE_TOKEN="(.+)"', self.environment.read_text()):
            form = urllib.parse.urlencode({"reviewer": "ada", "token": token[1]}).encode()
            browser.open(f"{url}/login", form, timeout=60).close()
        with browser.open(f"{url}/export/queue.csv", timeout=60) as answer:
            cases = [row["id"] for row in csv.DictReader(answer.read().decode().splitlines())][:12]
        for place, case in enumerate(cases):
            self.decisions += 1
            said = {"node": case, "decision": "normal" if place % 3 else "rare", "seen": 0, "key": str(self.decisions)}
            request = urllib.request.Request(f"{url}/api/decide", json.dumps(said).encode(), {"Content-Type": "application/json"})  # fmt: skip
            with contextlib.suppress(urllib.error.HTTPError):  # 409: it was decided at an earlier desk of the page
                browser.open(request, timeout=60).close()

    def stop(self) -> None:
        process = self.services.pop()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0  # what a service manager takes for a success

    def close(self) -> None:
        for process in self.services:
            process.kill()
            process.wait()
        for thread in self.drains:
            thread.join(60)
        with self.python:  # closes its pipes, which ends it
            pass


def drain(stream) -> None:
    """What a service logs must go somewhere, or it stops."""
    with stream:
        stream.read()


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@contextlib.contextmanager
def stand_ins(page: str):
    """What is another on every machine: ports, and a database where the page names one."""
    found = {"8060": free_port(), "8050": free_port()}
    if "db.example" not in (DOCS / page).read_text(encoding="utf-8"):
        yield found
        return
    from private_postgres import NoPostgresError, private_postgres

    try:
        with private_postgres() as address:
            yield found | {"postgresql://desk@db.example/cases": address}
    except NoPostgresError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.datasets
@pytest.mark.parametrize("page", [page for page in PAGES if steps(page)])
def test_the_guide_can_be_followed(page, tmp_path):
    with stand_ins(page) as words, contextlib.closing(Reader(tmp_path, words)) as reader:
        for kind, text in steps(page):
            reader.follow(kind, text)
        while reader.services:
            reader.stop()
    if page == "guides/monitoring.md":
        assert reader.codes["calirare monitor demo/model"] == [0, 1]  # quiet first, then the planted shift


def test_the_guides_have_steps():
    counts = {page: len(steps(page)) for page in PAGES}
    assert counts["guides/warehouse.md"] >= 6 and counts["guides/monitoring.md"] >= 7
    assert counts["guides/serving.md"] >= 10 and counts["start.md"] >= 8
    assert all(counts.values())


@pytest.mark.parametrize("start", NOT_HERE)
def test_what_is_left_out_is_on_a_page(start):
    assert any(text.startswith(start) for page in PAGES for _, text in steps(page))
