"""The neighbourhood as a picture: colour is P(rare), a ring is a label or a decision."""

from __future__ import annotations

from typing import Any

import dash_cytoscape
import numpy as np
from dash import html

from calirare.data.arrays import UNKNOWN
from calirare.plots.style import NORMAL, RARE
from calirare.review.case.neighbourhood import Neighbourhood
from calirare.review.pages.widgets import aria
from calirare.review.snapshot import Snapshot
from calirare.review.store.book import DecisionBook

_WIDTH, _HEIGHT = 540, 300
_PALE, _STRONG = (244, 239, 232), (213, 94, 0)
_LONGEST_LABEL = 16
_STYLE = [
    {
        "selector": "node",
        "style": {
            "width": 13,
            "height": 13,
            "background-color": "data(colour)",
            "border-width": 1,
            "border-color": "#a9a39a",
            "label": "",
        },
    },
    {"selector": ".far", "style": {"width": 8, "height": 8, "opacity": 0.8}},
    {
        "selector": ".rare",
        "style": {"shape": "diamond", "width": 17, "height": 17, "border-width": 2, "border-color": RARE},
    },
    {"selector": ".normal", "style": {"border-width": 2.5, "border-color": NORMAL}},
    {
        "selector": ".self",
        "style": {
            "width": 24,
            "height": 24,
            "border-width": 3,
            "border-color": "#1d1d1f",
            "label": "data(name)",
            "font-size": 12,
            "font-weight": 600,
            "text-margin-y": -6,
            "z-index": 1,  # its name lies on top of its neighbours
            "text-background-color": "#ffffff",
            "text-background-opacity": 0.85,
            "text-background-padding": 2,
        },
    },
    {"selector": "node:active", "style": {"overlay-opacity": 0.12}},
    {
        "selector": "edge",
        "style": {"width": 1, "line-color": "#d9d5ce", "curve-style": "haystack", "haystack-radius": 0},
    },
    {"selector": ".own", "style": {"line-color": "#8b867d", "width": 1.6}},
]


def draw(snapshot: Snapshot, book: DecisionBook, around: Neighbourhood, *, hidden: bool = False) -> Any:
    """The picture; a click on a node gives its name. `hidden`: without the colour of the node itself."""
    picture = dash_cytoscape.Cytoscape(
        id="picture",
        elements=_nodes(snapshot, book, around, hidden) + _edges(around),
        layout={"name": "preset", "fit": True, "padding": 16},
        stylesheet=_STYLE,
        style={"width": "100%", "height": "300px"},
        className="picture",
        boxSelectionEnabled=False,
        autoungrabify=True,
        minZoom=0.2,
        maxZoom=3,
    )
    return html.Div(picture, role="img", **aria(f"Picture of the neighbourhood. {around.said} They are listed below."))


def _nodes(snapshot: Snapshot, book: DecisionBook, around: Neighbourhood, hidden: bool) -> list[dict[str, Any]]:
    found = []
    places = zip(around.nodes.tolist(), around.step.tolist(), around.position.tolist(), strict=True)
    for place, (node, step, (x, y)) in enumerate(places):
        name, p = snapshot.ids[node], float(snapshot.scores.probability[node])
        own = hidden and step == 0
        untold = own or node in snapshot.other_kind
        classes = [("self", "", "far")[step], "" if own else _known(snapshot, book, node)]
        found.append(
            {
                "data": {
                    "id": str(place),
                    "node": name,
                    "name": _short(name),
                    "p": 0 if untold else round(p, 3),
                    "colour": "#ffffff" if untold else colour(p),
                },
                "position": {"x": x * _WIDTH, "y": y * _HEIGHT},
                "classes": " ".join(filter(None, classes)),
            }
        )
    return found


def _edges(around: Neighbourhood) -> list[dict[str, Any]]:
    return [
        {"data": {"source": str(a), "target": str(b)}, "classes": "own" if a == 0 or b == 0 else ""}
        for a, b in around.edges.T.tolist()
    ]


def _known(snapshot: Snapshot, book: DecisionBook, node: int) -> str:
    """ "rare" or "normal" where a person has said so, in a decision or a label."""
    decision = book.standing(snapshot.ids[node])
    if decision is not None and decision.decision in ("rare", "normal"):
        return decision.decision
    label = int(snapshot.label[node])
    return "" if label == UNKNOWN else "rare" if label == snapshot.graph.rare_class else "normal"


def colour(p: float) -> str:
    """From pale at 0 to the colour of the rare class at 1; small probabilities differ too.

    >>> colour(0.0), colour(1.0)
    ('#f4efe8', '#d55e00')
    """
    mixed = np.array(_PALE) + np.sqrt(min(max(p, 0.0), 1.0)) * (np.array(_STRONG) - np.array(_PALE))
    return "#" + "".join(f"{round(float(part)):02x}" for part in mixed)


def legend() -> Any:
    return html.Div(
        [
            html.Span([html.Span(className="ramp"), "P(rare) 0 to 1"]),
            html.Span([html.Span(className="sign rare"), "labelled or decided rare"]),
            html.Span([html.Span(className="sign normal"), "normal"]),
            html.Span("Click a node to go there.", className="go"),
        ],
        className="legend",
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"
