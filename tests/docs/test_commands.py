"""What the pages tell readers to type exists: commands with their options, scripts, figures, Python lines."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

import calirare as cr
from calirare.cli.main import app
from calirare.data.tables.files import write_tables

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    ((?:calirare|python) .+)$", re.MULTILINE)
INLINE = re.compile(r"`((?:calirare|python) [^`]+)`")
PROGRAM = get_command(app)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def typed() -> list[str]:
    """Every command line on a page, once."""
    found: set[str] = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in FENCED.findall(text):
            found |= set(block.replace("\\\n", " ").splitlines())
        found |= {line.replace("\n", " ") for line in [*INDENTED.findall(text), *INLINE.findall(text)]}
    return sorted(line.split("  #")[0].strip() for line in found if line.startswith(("calirare ", "python ")))


def test_the_program_understands_every_command(monkeypatch):
    monkeypatch.setattr("calirare.persistence.writing.header_of", lambda folder: folder)  # no model is there
    for line in typed():
        if not line.startswith("calirare "):
            continue
        command, words = PROGRAM, shlex.split(line)[1:]
        while hasattr(command, "commands") and words and words[0] in command.commands:
            command, words = command.commands[words[0]], words[1:]
        if words == ["--version"] or hasattr(command, "commands"):
            assert words in (["--version"], []), f"{line}: there is no such command"
            continue
        named = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = [word for word in words if word.startswith("--")]
        assert set(given) <= named, line
        if len(words) > len(given):  # a whole command, not the name of one
            command.make_context(command.name, list(words), resilient_parsing=False)


@cache
def source_of(module: str) -> tuple[str, bool]:
    """The text of a module of the library, and whether it is a package. It is read, not imported: that takes seconds."""
    path = ROOT / "src" / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8"), path.is_dir()


def test_scripts_take_from_the_library_what_it_has():
    for script in [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "examples").glob("*.py")]:
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("calirare"):
                text, is_package = source_of(node.module)
                for one in node.names:
                    found = re.search(rf"\b{one.name}\b", text) or is_package and source_of(f"{node.module}.{one.name}")
                    assert found, f"{script.name}: {node.module} has no {one.name}"


def test_every_script_is_there_and_takes_the_arguments():
    for line in typed():
        if not line.startswith("python ") or ".py" not in line:
            continue
        script, *words = shlex.split(line)[1:]
        text = (ROOT / script).read_text(encoding="utf-8")
        for word in words:
            if word.startswith("--"):
                assert f'"{word}"' in text, f"{script} has no {word}"
            elif script == "docs/figures.py":
                assert f'"{word}"' in text or (ROOT / "examples" / f"{word}.py").exists(), line


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_the_first_python_lines_run(page, tmp_path, monkeypatch, capsys, few_sentences, quick_networks):
    graph = cr.make_transactions(num_nodes=160, labelled_share=0.5, rare_share=0.2, seed=0, with_payments=False)
    write_tables(graph, tmp_path, format="csv")
    write_tables(graph, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    (code,) = PYTHON.findall((ROOT / page).read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    exec(code, names)
    assert names["p"].shape == (160,)
    assert len(names["queue"]) == 160 - graph.known.size
