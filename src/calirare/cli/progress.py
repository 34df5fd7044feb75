"""A bar for long runs that knows how much is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from calirare.cli.voice import is_quiet, is_verbose


@contextmanager
def share_done(description: str, *, lines: bool = True) -> Iterator[Callable[[float, str], None]]:
    """A bar on stderr with the time left; gives the function to call with the share done and what was done last.

    Into a file or a pipe it writes one line for every tenth of the work instead, or none without `lines`, unless
    `--verbose` asks for them.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    moving = sys.stderr.isatty() and not is_quiet()
    lines = (lines or is_verbose()) and not is_quiet()
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[last]}"),
        console=Console(stderr=True),
        disable=not moving,
        transient=True,
        speed_estimate_period=600,  # tasks are few and long
    )
    with bar:
        task = bar.add_task(description, total=1.0, last="")
        tenth = 0

        def step(share: float, last: str) -> None:
            nonlocal tenth
            bar.update(task, completed=share, last=last)
            if lines and not moving and int(share * 10) > tenth:
                tenth = int(share * 10)
                sys.stderr.write(f"{description}: {tenth}0%\n")

        yield step
