"""A griffe extension: examples in docstrings become code blocks, wherever in the docstring they stand."""

from __future__ import annotations

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Puts every run of lines that starts with `>>>` and ends with an empty line between fences."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = fence(obj.docstring.value)


def fence(text: str) -> str:
    """The text with its examples fenced."""
    lines, inside = [], False
    for line in [*text.splitlines(), ""]:
        starts = line.lstrip().startswith(">>>")
        if starts and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines[:-1])
