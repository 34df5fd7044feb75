"""The rules that Containerfile and compose.yaml keep, by parsing them: where no builder is, this is their lint.

Checked: pinned bases, pinned packages, nothing added from a URL, one layer of apt without rubbish, a user that is not root,
exec forms, a health check on a route that exists, commands that the program knows, every copied file there and not ignored;
of compose: read-only roots, no privileges, ports on loopback alone, secrets from the environment alone.
"""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from calirare.cli.main import app

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Containerfile").read_text()


def instructions():
    """(word, rest) of each instruction, continued lines joined."""
    lines = [line for line in TEXT.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(" ", 1)) for line in joined.splitlines()]


def of(word):
    return [rest for name, rest in instructions() if name == word]


def last_stage():
    found = instructions()
    start = max(place for place, (word, _) in enumerate(found) if word == "FROM")
    return dict(found[start:])


def check_command(words):
    """Whether the program has this command with these options, and enough words for its arguments."""
    command = get_command(app).commands[words[0]]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known


def test_bases_and_packages_are_pinned():
    for base in of("FROM"):
        assert re.search(r":\d+\.\d+\.\d+-", base), base
    assert not of("ADD")
    (install,) = [run for run in of("RUN") if "pip install" in run]
    assert "--constraint constraints.txt" in install
    extras = re.search(r"\.\[([\w,]+)\]", install)[1].split(",")
    assert {"serve", "review", "cli", "tables", "trees"} <= set(extras)


def test_apt_leaves_nothing_behind():
    for run in of("RUN"):
        if "apt-get install" in run:
            assert "--no-install-recommends" in run and "rm -rf /var/lib/apt/lists" in run and "apt-get update" in run


def test_nobody_is_root_and_forms_are_exec():
    stage = last_stage()
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", stage["USER"])
    assert stage["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(stage["ENTRYPOINT"]) == ["calirare"]
    check_command(json.loads(stage["CMD"]))
    check = json.loads(stage["HEALTHCHECK"].partition("CMD ")[2])
    assert "/health" in check[2]
    compile(check[2], "health", "exec")
    assert not re.search(r"(?i)password|token|secret", " ".join(of("ENV") + of("ARG")))


def test_what_is_copied_is_there_and_not_ignored():
    rules = [line for line in (ROOT / ".containerignore").read_text().splitlines() if line]
    for copy in of("COPY"):
        if copy.startswith("--from"):
            continue
        for name in copy.split()[:-1]:
            assert (ROOT / name).exists(), name
            ignored = False
            for rule in rules:
                if fnmatch.fnmatch(name, rule.lstrip("!").removeprefix("**/")):
                    ignored = not rule.startswith("!")
            assert not ignored, name


SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


@pytest.mark.parametrize("name", SERVICES)
def test_services_of_compose(name):
    service = SERVICES[name]
    assert service["read_only"] is True and "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged") and "network_mode" not in service
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    for key, value in service.get("environment", {}).items():
        if re.search("PASSWORD|TOKEN", key):
            assert re.match(r"\$\{\w+:\?", value), key
    if service["image"] == "calirare":
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"]) and service["cap_drop"] == ["ALL"]
        check_command([str(word) for word in service["command"]])
    else:
        assert re.search(r":\d+\.\d+", service["image"]) and service["healthcheck"]
