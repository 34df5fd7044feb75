"""How much the program says: `--quiet` and `--verbose`, before or after the name of a command."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

import typer

from calirare.cli.expand import as_parameters, asking, parameters_of

Voice = Literal["quiet", "usual", "verbose"]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors alone, and what --json asks for.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say on stderr what is being done, and more of errors.")]
_now: dict[str, Voice] = {"voice": "usual"}


def is_quiet() -> bool:
    """Whether nothing but errors and JSON is printed."""
    return _now["voice"] == "quiet"


def is_verbose() -> bool:
    """Whether every step is said on stderr."""
    return _now["voice"] == "verbose"


def set_voice(quiet: bool, verbose: bool) -> None:
    """For the command that follows; of the two, quiet wins."""
    _now["voice"] = "quiet" if quiet else "verbose" if verbose else "usual"
    # Commands print what to beware of themselves, before anything else.
    logging.getLogger("calirare.estimator.beware").setLevel(logging.ERROR)
    level = logging.ERROR if is_quiet() else logging.INFO if is_verbose() else logging.NOTSET
    logging.getLogger("calirare").setLevel(level)
    if is_verbose():
        logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")


def voiced(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options `--quiet` and `--verbose`, which may also stand before its name."""

    @wraps(command)
    def run(quiet: bool = False, verbose: bool = False, **given: Any) -> Any:
        if quiet or verbose:
            set_voice(quiet, verbose)
        return command(**given)

    both = as_parameters({"quiet": (Quiet, False), "verbose": (Verbose, False)})
    return asking(run, [*parameters_of(command), *both])
