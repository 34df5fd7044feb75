"""`make sbom` lists what is installed, with versions and who needs whom."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytest.importorskip("cyclonedx_py")

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")]


@pytest.fixture(scope="module")
def bill(tmp_path_factory) -> dict:
    """The bill of this Python's environment, made by the target itself; the tool checks it against the schema."""
    path = tmp_path_factory.mktemp("sbom") / "sbom.json"
    words = [f"BIN={Path(sys.executable).parent}", "READY=", f"SBOM={path}"]
    made = subprocess.run(["make", "sbom", *words], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return json.loads(path.read_text(encoding="utf-8"))


def test_it_is_a_cyclonedx_document_about_calirare(bill):
    assert bill["bomFormat"] == "CycloneDX"
    about = bill["metadata"]["component"]
    assert (about["name"], about["type"]) == ("calirare", "library")
    assert about["licenses"][0]["license"]["id"] == "MIT"


def test_it_lists_every_installed_package_at_its_version(bill):
    installed = {(canonicalize_name(found.metadata["Name"]), found.version) for found in distributions()}
    listed = {(canonicalize_name(part["name"]), part["version"]) for part in bill["components"]}
    own = {name for name, _ in installed if name == "calirare"}
    assert {pair for pair in installed if pair[0] not in own} <= listed
    for part in bill["components"]:
        assert part["purl"].startswith("pkg:pypi/") or canonicalize_name(part["name"]) == "calirare"


def test_it_says_what_calirare_needs(bill):
    with open(ROOT / "pyproject.toml", "rb") as file:
        needs = tomllib.load(file)["project"]["dependencies"]
    names = {part["bom-ref"]: canonicalize_name(part["name"]) for part in bill["components"]}
    edges = {entry["ref"]: entry.get("dependsOn", []) for entry in bill["dependencies"]}
    needed = {names[ref] for ref in edges[bill["metadata"]["component"]["bom-ref"]]}
    assert needed >= {canonicalize_name(Requirement(line).name) for line in needs}


def test_it_names_no_path_of_this_machine(bill):
    text = json.dumps(bill)
    assert str(ROOT) not in text
    assert str(Path(sys.prefix)) not in text
