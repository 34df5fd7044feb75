"""The program `calirare`, made of one file per command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import calirare
from calirare.cli import benchmark, console, datasets, demo, figures, fit, methods, report, review, score, triage


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
        except BrokenPipeError:  # the reader of our output, `head` say, has had enough
            sys.stdout = None  # else Python complains once more when it flushes
            code = 1
        except Exception as error:
            if not standalone_mode:
                raise
            message = console.describe(error)
            if message is None:
                raise
            console.fail(message)
            code = 2
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(calirare.__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the few nodes that matter in a graph, and know how far to trust each call."""


app.command(epilog=demo.EXAMPLE)(demo.demo)
app.command(epilog=fit.EXAMPLE)(fit.fit)
app.command(epilog=score.EXAMPLE)(score.score)
app.command(epilog=triage.EXAMPLE)(triage.triage)
app.command(epilog=report.EXAMPLE)(report.report)
app.command(epilog=review.EXAMPLE)(review.review)
app.command(epilog=methods.EXAMPLE)(methods.methods)
app.command(epilog=benchmark.EXAMPLE)(benchmark.benchmark)
app.command(epilog=figures.EXAMPLE)(figures.figures)
app.add_typer(datasets.app, name="datasets")
