"""Pages from templates: jinja escapes every value, and a name that a template lacks is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calirare.errors import MissingDependencyError

if TYPE_CHECKING:
    from jinja2 import Environment


def templates_of(package: str, extra: str) -> Environment:
    """The templates in the folder `templates/` of a package; `extra` of ours installs jinja."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingDependencyError("jinja2", extra) from None
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
