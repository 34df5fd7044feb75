"""Options that belong together, as one parameter of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

Command = Callable[..., None]
Options = Mapping[str, tuple[Any, Any]]
"""Annotation and default by name."""


def expand(
    parameter: str, options: Options, make: Callable[..., Any], late: Options | None = None
) -> Callable[[Command], Command]:
    """A decorator that gives a command these options instead of one of its parameters.

    Args:
        parameter: The name of the parameter; the options stand where it stood.
        options: What the command line asks for.
        make: Called with their values by name; gives the parameter.
        late: Further ones, which stand at the end of the help, before `--json`.
    """
    names = [*options, *(late or {})]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            said = {name: given.pop(name) for name in names}
            command(**given, **{parameter: make(**said)})

        own = parameters_of(command, but=parameter)
        at = [one.name for one in own].index(parameter)
        last = [own.pop()] if own[-1].name == "as_json" else []
        return asking(run, [*own[:at], *as_parameters(options), *own[at + 1 :], *as_parameters(late or {}), *last])

    return decorate


def parameters_of(command: Command, but: str = "") -> list[inspect.Parameter]:
    """By keyword, annotations evaluated, but for one parameter, whose type may not be loaded before the command runs."""
    scope = vars(inspect.getmodule(command))
    return [
        one.replace(
            kind=inspect.Parameter.KEYWORD_ONLY,
            annotation=eval(one.annotation, scope)
            if isinstance(one.annotation, str) and one.name != but
            else one.annotation,
        )
        for one in inspect.signature(command).parameters.values()
    ]


def as_parameters(options: Options) -> list[inspect.Parameter]:
    """Options as parameters of a command."""
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]


def asking(command: Command, parameters: Iterable[inspect.Parameter]) -> Command:
    """The command, of which the command line sees these parameters."""
    asked = list(parameters)
    command.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in asked}
    return command
