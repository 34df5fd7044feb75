"""The examples in docstrings, one test each, for `mutants.py`.

pytest finds them by itself in the default run; in the code that mutmut writes it would find each once for every mutant.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[2]
ROOT = HERE.parent if HERE.name == "mutants" else HERE  # mutmut works on a copy
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
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]["only_mutate"]
    files = {path for pattern in patterns for path in ROOT.glob(pattern.removesuffix("*") + "**/*.py")}
    return [
        (".".join(path.relative_to(ROOT / "src").with_suffix("").parts), name)
        for path in sorted(files)
        for name in documented(ast.parse(path.read_text(encoding="utf-8")))
    ]


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
