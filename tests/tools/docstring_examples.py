"""The examples in docstrings, one test each, for `mutants.py`.

pytest finds them by itself in the default run; in the code that mutmut writes it would find each once for every mutant.
"""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest
from mutants import ROOT, packages

ORIGINALS = ROOT.parent if ROOT.name == "mutants" else ROOT
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def documented(tree: ast.Module) -> list[str]:
    """Names of functions, classes and methods whose docstring holds an example."""
    found = []
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else []
        for one, name in [(node, ""), *((method, f"{node.name}.") for method in inner)]:  # type: ignore[attr-defined]
            if isinstance(one, ast.FunctionDef | ast.ClassDef) and ">>>" in (ast.get_docstring(one) or ""):
                found.append(name + one.name)
    return found


def examples() -> list[tuple[str, str]]:
    """(module, name) of every example in the packages that mutmut breaks."""
    files = {path for one in packages(ORIGINALS) for path in _folder(one).rglob("*.py")}
    return [
        (".".join(path.relative_to(ORIGINALS / "src").with_suffix("").parts), name)
        for path in sorted(files)
        for name in documented(ast.parse(path.read_text(encoding="utf-8")))
    ]


def _folder(package: str) -> Path:
    return ORIGINALS / "src" / "calirare" / Path(*package.split("."))


@pytest.mark.parametrize(("module", "name"), examples())
def test_example(module: str, name: str) -> None:
    home = importlib.import_module(module)
    documented = home
    for part in name.split("."):
        documented = getattr(documented, part)
    text = documented.__doc__
    test = doctest.DocTestParser().get_doctest(text, dict(vars(home)), name, None, None)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not outcome.failed, "".join(said)
