"""Pages from templates: jinja escapes every value, and a name that a template lacks is an error."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from calirare.errors import optional

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates_of(package: str, extra: str) -> Environment:
    """The templates in the folder `templates/` of a package; `extra` of ours installs jinja. Each is compiled once."""
    jinja = optional("jinja2", extra)
    return jinja.Environment(
        loader=jinja.PackageLoader(package),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
