"""The exceptions that users meet.

Every one also inherits the built-in type a caller would expect, so `except ValueError` keeps working.
A message names the argument, the rule, what came, and the way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self


class CalirareError(Exception):
    """Base of every error that calirare raises on purpose.

    `guide` is the page of the documentation that helps; it stands in a note below the message.
    """

    guide = ""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.see(self.guide)

    def see(self, page: str) -> Self:
        """The same error, with a note that names this page of the documentation.

        >>> InputError("cost_miss must be a positive number; got 0.").see("guides/costs.md").__notes__
        ['See docs: guides/costs.md']
        """
        if page:
            self.guide = page
            self.__notes__ = [f"See docs: {page}"]
        return self


class InputError(CalirareError, ValueError):
    """An argument or a table breaks a stated rule."""


class ColumnError(InputError):
    """A column that was asked for is not in the table."""

    guide = "guides/tables.md"


class LabelError(InputError):
    """The labels do not allow what was asked: none, too few, or a single class."""

    guide = "guides/tables.md#labels"


class DataError(CalirareError, OSError):
    """A file is missing, truncated, altered, or not what its name says."""


class ModelFormatError(DataError):
    """A model folder cannot be trusted or read."""


class NumericalError(CalirareError, ArithmeticError):
    """A computation left the range where its answer means something."""

    guide = "guides/methods.md#how-much-weight-decay"


if TYPE_CHECKING:

    class NotFittedError(CalirareError, ValueError, AttributeError):
        """A result was asked of an object that has not been fitted; also scikit-learn's error of that name."""


class ContractError(CalirareError, AssertionError):
    """An object does not do what every member of its family promises; see `calirare.testing`."""

    guide = "guides/extend.md"


class MissingDependencyError(CalirareError, ImportError):
    """An optional library is not installed; the message gives the line that installs it."""

    guide = "guides/big-graphs.md#install-only-what-you-need"

    def __init__(self, library: str, extra: str | None) -> None:
        wanted = library if extra is None else f"'calirare[{extra}]'"
        super().__init__(f"This needs {library}, which is not installed. Run: pip install {wanted}")


def optional(module: str, extra: str | None, library: str | None = None) -> Any:
    """A library that not everybody installs, or the line that installs it.

    Args:
        module: What to import.
        extra: The extra of ours that brings it; None: it is installed by its own name.
        library: What it is called where it is installed; default: the module's first name.
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingDependencyError(library or module.partition(".")[0], extra) from None


def first_line(error: BaseException) -> str:
    """The first line of what another library says went wrong, without its full stop; else the error's name.

    >>> first_line(ValueError("no such page.\\nHint: …")), first_line(KeyboardInterrupt())
    ('no such page', 'KeyboardInterrupt')
    """
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def did_you_mean(word: str, names: Sequence[str]) -> str:
    """Say which of the names look like `word`; empty where none does."""
    close = [name for name in names if name.strip().lower() == word.strip().lower()]
    close = close[:3] or get_close_matches(word, names, n=3, cutoff=0.5)
    return "did you mean " + " or ".join(map(repr, close)) + "?" if close else ""


def nearest(word: str, choices: Iterable[object]) -> str:
    """Say which of the choices look like `word`, for the end of an error message.

    >>> nearest("is_frod", ["age", "is_fraud"])
    "did you mean 'is_fraud'?"
    >>> nearest("y", ["X", "Y"])
    "did you mean 'Y'?"
    >>> nearest("amount", [])
    'there are no others.'
    """
    names = [str(choice) for choice in choices]
    if meant := did_you_mean(word, names):
        return meant
    if not names:
        return "there are no others."
    shown = ", ".join(repr(name) for name in names[:12])
    return f"choices: {shown}" + (", …" if len(names) > 12 else ".")


@cache
def _not_fitted_error() -> type[Exception]:
    """Made when it is first asked for: scikit-learn takes a second to load, and `calirare --help` has no use for it."""
    from sklearn.exceptions import NotFittedError as OfSklearn

    words = "A result was asked of an object that has not been fitted; also scikit-learn's error of that name."
    return type("NotFittedError", (CalirareError, OfSklearn), {"__doc__": words, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name == "NotFittedError":
        return _not_fitted_error()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
