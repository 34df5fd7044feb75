"""The program `calirare`, made of one file per command."""

from __future__ import annotations

import pkgutil
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import calirare
from calirare import cli
from calirare.cli import console, streams
from calirare.cli.voice import Quiet, Verbose, is_verbose, set_voice, voiced


class OneLineErrors(TyperGroup):
    """Says what went wrong in one line on stderr and exits with 2; with 130 when the user interrupts."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()  # a full disk is said here, not by Python when it ends
        except BrokenPipeError:  # the reader of our output, `head` say, has had enough
            streams.let_go()
            code = 1
        except Exception as error:
            if not standalone_mode:
                raise
            if type(error).__name__ == "NoArgsIsHelpError":  # nothing was asked: the help is the answer
                sys.stderr.write(f"{error.format_message()}\n")  # type: ignore[attr-defined]
                sys.exit(2)
            if is_verbose():
                traceback.print_exception(error)
            message = console.describe(error)
            if message is None:
                raise
            console.fail(message)
            if isinstance(error, OSError):
                streams.let_go()  # it may be the output itself that is full
            code = 2
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each command with its first sentence whole, those for research apart."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            found: Any = self.get_command(ctx, name)
            said = (found.help or "").split("\n\n")[0].replace("\n", " ")
            panel = found.rich_help_panel
            groups.setdefault(panel if isinstance(panel, str) else "Commands", []).append((name, said))
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(calirare.__version__)
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the few nodes that matter in a graph, and know how far to trust each call."""
    set_voice(quiet, verbose)


def make_app() -> typer.Typer:
    """The program with every command of this package.

    A module here is a command if it has a function of its own name, with an `EXAMPLE`, or a `commands` of its own (a
    Typer with several); `PANEL` names its group in the help. A new command is one file.
    """
    made = typer.Typer(
        cls=OneLineErrors,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(root)
    for found in pkgutil.iter_modules(cli.__path__):
        if found.name == "main":
            continue
        module = import_module(f"{cli.__name__}.{found.name}")
        panel = getattr(module, "PANEL", None)
        if isinstance(getattr(module, "commands", None), typer.Typer):
            made.add_typer(module.commands, name=found.name, rich_help_panel=panel)
        elif hasattr(module, "EXAMPLE"):
            made.command(epilog=module.EXAMPLE, rich_help_panel=panel)(voiced(getattr(module, found.name)))
    return made


app = make_app()
