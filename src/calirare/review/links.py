"""Links from a case to other systems."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from calirare.errors import InputError


def check_links(links: Sequence[str]) -> tuple[str, ...]:
    """The templates, if each is a web address with a place for the node's name."""
    for link in links:
        try:
            parts = urlsplit(link)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and "{id}" not in parts.netloc
        except ValueError:
            good = False
        if not good or "{id}" not in link:
            raise InputError(f"a link must look like https://host/path/{{id}}; got {link!r}.")
    return tuple(links)


def make_link(link: str, node_id: str) -> str:
    """The address for a node; its name cannot break out of its place.

    >>> make_link("https://crm.example/customer?key={id}", "A 7&admin=1")
    'https://crm.example/customer?key=A%207%26admin%3D1'
    """
    return link.replace("{id}", quote(node_id, safe="", errors="replace"))


def name_link(link: str) -> str:
    """What to call it: the host.

    >>> name_link("https://crm.example/customer/{id}")
    'crm.example'
    """
    return urlsplit(link).hostname or link
