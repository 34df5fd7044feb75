"""How the program speaks: tables and JSON on stdout, progress and errors on stderr."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from calirare.cli.voice import is_quiet, is_verbose
from calirare.data.tables.sources.addresses import hide_passwords
from calirare.errors import CalirareError


def show(*parts: Any) -> None:
    """Print to stdout, tables included."""
    from rich.console import Console  # not above: it takes a fifth of a second, which `--help` has no use for

    if not is_quiet():
        shown = [hide_passwords(str(part)) if isinstance(part, str | os.PathLike) else part for part in parts]
        console = Console(highlight=False)
        console.print(*shown, markup=False, soft_wrap=not console.is_terminal)  # in a pipe a line stays a line


def show_lines(lines: Iterable[str]) -> None:
    """Print sentences that a reader must not miss, each on a line of its own."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines if not is_quiet() else ():
        console.print(Text(line, style="bold"), soft_wrap=not console.is_terminal)


def show_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> None:
    """Print a table; the columns in `right` are aligned to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if is_quiet():
        return
    table = Table(header_style="bold")
    for position, name in enumerate(header):
        table.add_column(name, justify="right" if position in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    Console(highlight=False).print(Text(title, style="bold"), table)  # a title inside would be as narrow as the table


def show_json(value: Any) -> None:
    """Print one JSON object to stdout. What is not a number is null: JSON has no NaN."""
    sys.stdout.write(json.dumps(_jsonable(value), indent=2, ensure_ascii=False) + "\n")


def show_ready(host: str, travels: str) -> None:
    """To be called after the line that says where a server is; `travels`: what it sends besides the token."""
    from calirare.scoring.service.access import is_loopback

    if not is_loopback(host):
        sys.stderr.write(f"Note: the token and the {travels} travel unencrypted; put a proxy with TLS in front.\n")
    sys.stdout.flush()  # whoever started us and reads our output waits for that line


def note(message: str) -> None:
    """Print a line to stderr that is neither a result nor an error."""
    if not is_quiet():
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


@contextmanager
def each_once() -> Iterator[None]:
    """What libraries log is printed once while this runs, however often it is said: tables may be read twice."""
    filters = [(handler, _News()) for handler in (logging.lastResort, *logging.getLogger().handlers) if handler]
    for handler, news in filters:
        handler.addFilter(news)
    try:
        yield
    finally:
        for handler, news in filters:
            handler.removeFilter(news)


class _News(logging.Filter):
    """Lets each message through once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        is_new = message not in self._said
        self._said.add(message)
        return is_new


def fail(message: str) -> None:
    """Print an error to stderr, in one line."""
    with contextlib.suppress(OSError, ValueError):  # nobody listens: the exit code still says it
        sys.stderr.write(f"Error: {hide_passwords(' '.join(message.split()))}\n")
        sys.stderr.flush()


def describe(error: BaseException) -> str | None:
    """The line to print for an error that users can do something about; None for our own bugs."""
    if isinstance(error, CalirareError):
        return f"{error} See docs: {error.guide}" if error.guide else str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    no_memory = isinstance(error, RuntimeError) and ("allocate memory" in str(error) or "out of memory" in str(error))
    if isinstance(error, MemoryError) or no_memory:  # torch has no type of its own for it on the CPU
        return "the graph does not fit into memory. See docs: guides/big-graphs.md#when-it-is-too-much"
    if hasattr(error, "format_message"):  # a mistake on the command line, found by typer
        return _usage(error.format_message(), getattr(error, "ctx", None))
    return None


def _usage(message: str, context: Any) -> str:
    """A mistake on the command line, and where to look; `context` is typer's, None where it names no command."""
    if context is None:
        return f"{message} Try: calirare --help"
    options = {option for parameter in context.command.params for option in parameter.opts}
    if "unexpected extra argument" in message and "--nodes" in options:
        message += ". Further tables are --nodes NAME=FILE and --edges NAME=FILE."
    return f"{message} Try: {context.command_path} --help"


@contextmanager
def working(description: str) -> Iterator[None]:
    """A moving bar on stderr while a step of unknown length runs; with `--verbose` a line when it is done."""
    started = time.perf_counter()
    with _bar(description) if sys.stderr.isatty() and not is_quiet() else contextlib.nullcontext():
        yield
    if is_verbose():
        sys.stderr.write(f"{description}: {time.perf_counter() - started:.1f} s\n")


def _bar(description: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task(description, total=None)
    return bar


def _plain(cell: object) -> str:
    from rich.markup import escape

    return escape(f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell))


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy
        return _jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (int, float, bool, type(None))) else hide_passwords(str(value))
