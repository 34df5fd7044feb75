"""The public surface: what `import calirare` gives, and how little it loads."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import calirare

PROMISED = {
    "detectors",
    "read_tables",
    "from_pyg",
    "from_networkx",
    "load_benchmark",
    "make_transactions",
    "split_labels",
    "Split",
    "RareGraph",
    "RareCategoryClassifier",
    "load",
    "triage",
    "score_table",
    "methods",
    "metrics",
    "plots",
    "__version__",
}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_surface_is_what_was_promised():
    assert set(calirare.__all__) == PROMISED
    assert set(dir(calirare)) == PROMISED


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_every_name_resolves(name):
    home = calirare._HOMES.get(name)
    if home and find_spec(home) is None:
        pytest.skip(f"{home} is not part of this version")
    assert getattr(calirare, name) is not None


def test_unknown_names_raise():
    with pytest.raises(AttributeError, match="read_table"):
        calirare.read_table  # noqa: B018


def test_import_is_lazy():
    loaded = run(
        "import sys, calirare; print([m for m in ('torch', 'polars', 'typer', 'sklearn') if m in sys.modules])"
    )
    assert loaded == "[]"


def test_the_package_tells_type_checkers_that_it_is_typed():
    assert (Path(calirare.__file__).parent / "py.typed").is_file()
