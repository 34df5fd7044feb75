"""CONTRIBUTING tells the truth: the layers are those of the contract, and a contribution is one file and one line."""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import calirare

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(calirare.__file__).parent


def contract():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]


def test_the_layers_are_those_of_the_contract():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\w+)`", text[text.index("\n`errors`, ") :].split("\n\n")[0])
    assert contract()["exhaustive"] and not any("(" in layer for layer in contract()["layers"])
    assert listed == [*reversed(contract()["layers"])]


def test_the_top_level_holds_packages():
    loose = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert loose == {"__init__.py", "__main__.py", "errors.py", "py.typed"}
    packages = {path.parent.name for path in PACKAGE.glob("*/*.py")}  # an older checkout may leave folders of bytecode
    assert packages == {*contract()["layers"]} - {"__main__", "errors"}


ADDED = {
    "calibration/shares.py": """
import numpy as np

from calirare.calibration.base import Calibrator


class Shares(Calibrator):
    def _fit(self, logits, y, weights):
        self.shares_ = np.bincount(y, weights, minlength=logits.shape[1])

    def _predict(self, logits):
        return np.tile(self.shares_, (len(logits), 1))
""",
    "detectors/constant.py": """
from calirare.detectors.base import Detector
from calirare.detectors.registry import register


@register
class Constant(Detector):
    name = "constant"

    def fit(self, inputs, labels, *, seed=0, progress=None): ...
    def logits(self, inputs): ...
    def left_out_logits(self): ...
    def logits_without(self, inputs, rows): ...
    def contributions(self, inputs, node, rare_class): ...
    def state(self): ...
    def restore(self, state): ...
""",
    "metrics/alarms.py": '''
def specificity(y, predicted, rare_class=1):
    """Share of the other nodes that are not called rare."""
    return float((predicted[y != rare_class] != rare_class).mean())
''',
    "data/catalogue/karate.py": """
import numpy as np


def read(name, folder):
    return {"y": np.zeros(34, dtype=np.int64)}
""",
    "cli/hello.py": '''
from calirare.cli import console
from calirare.cli.options import AsJson

EXAMPLE = "Example: calirare hello"


def hello(as_json: AsJson = False) -> None:
    """Say hello."""
    console.show("hello")
''',
}
LINES = {
    "estimator/methods.py": (
        "\ndef methods()",
        "\nfrom calirare.calibration.shares import Shares  # noqa: E402\n\n"
        'register(Method("shares", "class shares", calibrator=Shares, evidence="val"))\n\n\ndef methods()',
    ),
    "metrics/registry.py": (
        "    Metric(accuracy,",
        '    Metric(specificity, "Specificity", "Specificity", (*DECISIONS, "rare_class"), "finding"),\n    Metric(accuracy,',
    ),
    "data/catalogue/entries.py": (
        "_CORA, _CITESEER",
        'Benchmark("karate", "Karate", "calirare.data.catalogue.karate:read", (), 34, 156, 34, (33, 1), 1, "", "", ""), _CORA, _CITESEER',
    ),
}
USE = """
import numpy as np
from typer.testing import CliRunner

from calirare import calibration, detectors, metrics
from calirare.benchmark.grid import calibration_entries
from calirare.calibration.base import Calibrator
from calirare.cli.main import app
from calirare.data.catalogue.benchmarks import list_benchmarks
from calirare.data.catalogue.convert import convert
from calirare.detectors.base import Detector
from calirare.estimator.methods import methods
from calirare.testing import check_calibrator, members

found = {member.__name__: member for member in (*members(calibration, Calibrator), *members(detectors, Detector))}
check_calibrator(found["Shares"]())
assert type(detectors.make_detector("constant")) is found["Constant"]
assert methods()["shares"].calibrator is found["Shares"] and "shares" in {one.method for one in calibration_entries()}
y, p = np.array([0, 0, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
assert metrics.summary(y, p, 1, num_resamples=0)["specificity"].value == metrics.specificity(y, p.argmax(1)) == 0.5
assert "karate" in {entry.name for entry in list_benchmarks()}
assert convert("calirare.data.catalogue.karate:read", "karate", None)["y"].size == 34
assert CliRunner().invoke(app, ["hello"]).stdout == "hello\\n"
"""


@pytest.mark.slow
def test_a_contribution_is_one_file_and_at_most_one_line(tmp_path):
    copy = tmp_path / "calirare"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in ADDED.items():
        (copy / name).write_text(text, encoding="utf-8")
    for name, (old, new) in LINES.items():
        before = (copy / name).read_text(encoding="utf-8")
        assert before.count(old) == 1
        (copy / name).write_text(before.replace(old, new), encoding="utf-8")
    registry = (copy / "metrics/registry.py").read_text(encoding="utf-8")
    (copy / "metrics/registry.py").write_text(
        registry.replace("\nReads = ", "\nfrom calirare.metrics.alarms import specificity\n\nReads = ", 1),
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-c", USE],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    ours = [path.relative_to(copy) for path in copy.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    new = {str(path) for path in ours if not (PACKAGE / path).exists()}
    changed = {
        str(path)
        for path in ours
        if (PACKAGE / path).exists() and not filecmp.cmp(copy / path, PACKAGE / path, shallow=False)
    }
    assert (new, changed) == (set(ADDED), set(LINES))
