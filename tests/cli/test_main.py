"""How the program answers mistakes and interrupts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from calirare import __version__
from calirare.cli import console
from calirare.cli.main import OneLineErrors, app
from calirare.errors import InputError

run = CliRunner().invoke


def commands():
    """Every command of the program, as the words that call it."""

    def walk(group, words):
        for name, command in getattr(group, "commands", {}).items():
            yield from walk(command, [*words, name])
        if words and not hasattr(group, "commands"):
            yield words

    return list(walk(typer.main.get_command(app), []))


def takes_model(words):
    """Whether a command reads a fitted model."""
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    return any(parameter.name == "model" for parameter in command.params)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_help_with_an_example_and_json(words):
    answer = run(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert answer.exit_code == 0
    assert f"Example: calirare {' '.join(words)}" in answer.output
    assert "--json" in answer.output


def test_version():
    assert run(app, ["--version"]).stdout.strip() == __version__


@pytest.mark.parametrize("words", [words for words in commands() if takes_model(words)], ids=" ".join)
def test_a_model_that_is_not_there_is_told_before_torch_is_loaded(words, tmp_path):
    needed = {
        "score": ["nodes.csv", "--out", "scores.csv"],
        "triage": ["nodes.csv", "--out", "queue.csv"],
        "serve": ["nodes.csv"],
    }
    program = [sys.executable, "-X", "importtime", "-m", "calirare"]
    asked = [*program, *words, str(tmp_path / "no model"), *needed.get(words[0], ())]
    answer = subprocess.run(asked, capture_output=True, text=True, timeout=120)
    loaded = {line.rpartition("|")[2].strip() for line in answer.stderr.splitlines()}
    assert "typer" in loaded and loaded.isdisjoint({"torch", "numpy", "sklearn", "polars"})
    assert "no model does not exist" in answer.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nope"], "No such command 'nope'"),
        (["datasets", "list", "--jsn"], "--json"),
        (["datasets", "verify", "coraa"], "did you mean 'cora'"),
        (["fit", "a.csv", "b.csv", "c.csv", "--rare", "x", "--out", "m"], "Further tables are --nodes NAME=FILE"),
    ],
)
def test_mistakes_get_one_line_on_stderr_and_exit_code_2(words, says):
    answer = run(app, words)
    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.startswith("Error: ") and says in answer.stderr


def failing(error):
    program = typer.Typer(cls=OneLineErrors, pretty_exceptions_enable=False)
    program.callback()(lambda: None)

    @program.command()
    def fail():
        raise error

    return run(program, ["fail"])


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (InputError("rare must be\n one of these"), "Error: rare must be one of these\n"),
        (OSError(28, "No space left on device", "scores.csv"), "Error: scores.csv: No space left on device\n"),
        (PermissionError(13, "Permission denied", "model"), "Error: model: Permission denied\n"),
        (
            MemoryError(),
            "Error: the graph does not fit into memory. See docs: guides/big-graphs.md#when-it-is-too-much\n",
        ),
    ],
)
def test_errors_that_users_can_mend(error, says):
    answer = failing(error)
    assert (answer.exit_code, answer.stderr) == (2, says)


def test_an_interrupt_exits_with_130():
    assert failing(KeyboardInterrupt()).exit_code == 130


def test_our_own_bugs_keep_their_traceback():
    answer = failing(ZeroDivisionError("oops"))
    assert isinstance(answer.exception, ZeroDivisionError)


def test_json_has_no_nan(capsys):
    import numpy as np

    console.show_json({"a": float("nan"), "b": np.array([1.5, np.inf]), "c": np.int64(3)})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": 3}


def test_tables_print_markup_as_it_is(capsys):
    console.show_table("t", ["id", "n"], [("[red]x[/red]", 1234)], right=(1,))
    printed = capsys.readouterr().out
    assert "[red]x[/red]" in printed and "1,234" in printed


@pytest.mark.slow
def test_the_program_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "calirare", "nope"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: No such command 'nope'")


def test_without_typer_the_install_line_is_shown():
    code = "import sys; sys.modules['typer'] = None; from calirare.cli import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "Error: the command line needs typer. Run: pip install 'calirare[cli]'\n"


def test_help_waits_for_no_large_library():
    code = (
        "import sys, calirare.cli.main;"
        "print([name for name in ('torch', 'scipy', 'sklearn', 'polars', 'pandas', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
