"""Options that belong together, as one parameter of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
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

        own = [_keyword(one) for one in signature(command).parameters.values()]
        at = [one.name for one in own].index(parameter)
        last = [own.pop()] if own[-1].name == "as_json" else []
        asked = [*own[:at], *_parameters(options), *own[at + 1 :], *_parameters(late or {}), *last]
        run.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in asked}
        return run

    return decorate


def signature(command: Command) -> inspect.Signature:
    """With its annotations evaluated; what only loads when the command runs may be anything."""
    plain = inspect.signature(command)
    scope = {**vars(inspect.getmodule(command)), "Costs": Any}
    return plain.replace(
        parameters=[
            one.replace(annotation=eval(one.annotation, scope) if isinstance(one.annotation, str) else one.annotation)
            for one in plain.parameters.values()
        ]
    )


def _keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _parameters(options: Options) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
