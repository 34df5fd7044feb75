"""Parts of a page that only show, drawn by a few lines of script.

Each component of Dash listens to every change on the page, so that a case with two tables of fifty rows took seconds to
open. What is painted is described by the same components, goes to the page as text, and is plain HTML there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

PAINTED = "data-painted"
"""The property to which a callback gives what `paint` gives; `desk_painted.js` draws it."""
_CALLED = {"className": "class", "tabIndex": "tabindex", "colSpan": "colspan", "htmlFor": "for"}


def paint(drawn: Any) -> str:
    """What is to be drawn inside an element: a component of `dash.html`, a link, a text, a list of them, or nothing.

    >>> from dash import html
    >>> paint([html.P(["P is ", html.B(0.5)], className="hint"), None, "<b>"])
    '[["p",{"class":"hint"},"P is ",["b",{},"0.5"]],"<b>"]'
    """
    return json.dumps(list(_parts(drawn)), separators=(",", ":"), ensure_ascii=False)


def painted(drawn: Any) -> dict[str, Any]:
    """`paint` for an element of the layout: `html.Div(**painted(...), id="keys")`."""
    return {PAINTED: paint(drawn)}


def _parts(drawn: Any) -> Iterator[Any]:
    if drawn is None:
        return
    if isinstance(drawn, list | tuple):
        for one in drawn:
            yield from _parts(one)
    elif isinstance(drawn, str | int | float):
        yield str(drawn)
    else:
        told = drawn.to_plotly_json()
        given = dict(told["props"])
        inside = given.pop("children", None)
        attributes = {_CALLED.get(name, name): value for name, value in given.items() if value is not None}
        if told["type"] == "Link":  # a click changes the page, not the document
            yield ["a", {**attributes, "data-link": ""}, *_parts(inside)]
        elif told["namespace"] == "dash_html_components":
            yield [told["type"].lower(), attributes, *_parts(inside)]
        else:
            raise TypeError(f"{told['type']} does more than show; give it to Dash as it is.")
