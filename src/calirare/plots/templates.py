"""Pages from templates: jinja escapes every value, and a name that a template lacks is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calirare.errors import optional

if TYPE_CHECKING:
    from jinja2 import Environment


def templates_of(package: str, extra: str) -> Environment:
    """The templates in the folder `templates/` of a package; `extra` of ours installs jinja."""
    jinja = optional("jinja2", extra)
    made: Environment = jinja.Environment(
        loader=jinja.PackageLoader(package),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return made
