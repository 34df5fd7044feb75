"""The ten-minute guide followed literally, through the desk in a real browser, to a refit that knows what was decided."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import calirare as cr

START = Path(__file__).resolve().parents[2] / "docs" / "start.md"
DECISIONS = 12  # "after a dozen decisions"
FEWER = " --nodes 1200"
"""Of the 5,000 accounts of the guide: a quarter of the time."""
INSTALLS = ("python -m venv", "pip install")


def commands() -> list[str]:
    """Every command of the guide but those that install, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```", START.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.startswith(INSTALLS)]


def python() -> str:
    """Its Python."""
    (found,) = re.findall(r"^```python\n(.*?)^```", START.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_guide_goes_from_two_tables_to_a_fit_with_decisions():
    said = commands()
    assert [line.split()[1] for line in said] == [
        "--version",
        "demo",
        "fit",
        "score",
        "triage",
        "report",
        "review",
        "fit",
    ]
    assert "--decisions" in said[-1] and "Refit with decisions" in START.read_text(encoding="utf-8")


@pytest.fixture
def shell(tmp_path):
    """An empty folder, `calirare` and `python` as if installed, and a browser that only writes down what it should open."""
    tools, work = tmp_path / "bin", tmp_path / "empty"
    tools.mkdir()
    work.mkdir()
    for name, words in (("calirare", "-m calirare"), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
    (tools / "look").write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/address"\n')
    for script in tools.iterdir():
        script.chmod(0o755)
    return work, {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "BROWSER": "look"}


@pytest.mark.slow
@pytest.mark.browser
def test_the_guide_can_be_followed_to_a_decided_case(shell, browser, tmp_path):
    work, settings = shell

    def run(*command):
        done = subprocess.run(command, cwd=work, env=settings, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    decided = {}
    for command in commands():
        if command.startswith("calirare review"):
            decided = review(command, work, settings, browser, tmp_path / "address")
        else:
            run("bash", "-c", command + FEWER * ("demo --out" in command))
    assert (work / "scores.csv").exists() and (work / "queue.csv").exists() and (work / "report.html").exists()

    clf, graph = cr.load(work / "model"), cr.RareGraph.load(next((work / "model").glob("graph-*.npz")))
    place = {str(name): node for node, name in enumerate(graph.ids)}
    known = {place[name]: int(decision == "rare") for name, decision in decided.items()}
    assert set(known) <= set(clf.labelled_nodes_.tolist())
    assert {node: int(graph.y[node]) for node in known} == known
    assert "review" in run("python", "-c", python())


def review(command, work, settings, browser, address):
    """What the guide says to do at the desk; the decisions made there."""
    from playwright.sync_api import expect

    desk = subprocess.Popen(f"exec {command} --port 0", cwd=work, env=settings, shell=True, text=True)
    try:
        until = time.monotonic() + 300
        while not address.exists() or not address.read_text().endswith("\n"):
            assert desk.poll() is None and time.monotonic() < until
            time.sleep(0.2)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address.read_text().strip())
        first = page.locator("#queue-grid [row-index='0'] a.node-link")
        expect(first).to_be_visible()
        first.click()
        found: dict[str, str] = {}
        for turn in range(DECISIONS):
            expect(page.locator("#decision-card:not(.waiting)")).to_be_visible()
            for part in ("why", "record", "edges", "neighbours"):  # all of what the guide promises
                expect(page.locator(f"#{part}")).to_be_visible()
            expect(page.locator(".pull").first).to_be_attached()
            name, word = page.inner_text("#case-id"), "normal" if turn % 3 else "rare"
            page.get_by_role("button", name=re.compile(f"^{word}", re.IGNORECASE)).click()
            expect(page.locator(f"#decision-now .pill-{word}")).to_be_visible()
            found[name] = word
            page.keyboard.press("j")
            expect(page.locator("#case-id")).not_to_have_text(name)
        page.get_by_role("link", name="Model").click()
        page.get_by_role("button", name="Refit with decisions").click()
        expect(page.locator("#refit-done")).to_be_visible(timeout=600_000)
        expect(page.locator("#outcome-said")).to_contain_text(f"{DECISIONS} decisions")
        page.close()
        desk.send_signal(signal.SIGINT)  # Ctrl-C
        assert desk.wait(60) in (0, 130)  # as a shell says of Ctrl-C
        return found
    finally:
        desk.kill()
