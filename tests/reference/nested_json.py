"""Change one place of nested JSON."""

from __future__ import annotations

import copy


def paths_of(value, path=()):
    """Every place in nested dicts and lists, as a tuple of keys; long lists are told by their first places."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths_of(inner, (*path, key))


def replaced(value, path, new, *, remove=False):
    """A copy with another value at this place, or without it."""
    whole = copy.deepcopy(value)
    place = whole
    for key in path[:-1]:
        place = place[key]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return whole
