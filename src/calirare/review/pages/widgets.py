"""Small pieces that several pages draw. Text goes in as children, which the browser shows as text whatever it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from dash import dcc, html

from calirare.decisions.costs import Thresholds
from calirare.decisions.numbers import say_interval, say_probability
from calirare.review.pages.painted import painted


def case_href(node_id: str) -> str:
    """Address of a case.

    >>> case_href("A 7/é&")
    '/case?id=A%207%2F%C3%A9%26'
    """
    return f"/case?id={quote(node_id, safe='', errors='replace')}"


def case_link(node_id: str, called: str = "") -> Any:
    return dcc.Link(called or node_id, href=case_href(node_id), className="node-link", title=node_id)


def draw_beware(lines: Iterable[str]) -> list[Any]:
    """What must be read before any number of a model."""
    return [html.P(words, className="note-bad") for words in lines]


def pill(kind: str, text: str | None = None) -> Any:
    """A small coloured word: an action, a decision or a label."""
    return html.Span(text or kind, className=f"pill pill-{kind}")


def chip(words: Any, id: str) -> Any:
    """A small button that is pressed or not."""
    return html.Button(words, id=id, className="chip", **aria(pressed="false"))


def give_to(id: str) -> Any:
    """The field for the name of whoever gets a case."""
    field = dcc.Input(id=id, placeholder="Give to …", list="people")
    return html.Label([html.Span("Give to", className="unseen"), field])


def key(letter: str) -> Any:
    """A key of the keyboard."""
    return html.Kbd(letter)


def card(title: Any, *children: Any, id: str | None = None, class_name: str = "") -> Any:
    given: dict[str, Any] = {} if id is None else {"id": id}
    return html.Section([html.H2(title), *children], className=f"card {class_name}".strip(), **given)


def plot(figure: dict[str, Any], **given: Any) -> Any:
    """A figure as wide as its place."""
    return dcc.Graph(figure=figure, config={"displayModeBar": False, "responsive": True}, **given)


def aria(label: str | None = None, **states: str) -> dict[str, Any]:
    """What a screen reader says of an element, and its states.

    >>> aria("Close"), aria(pressed="false", labelledby="words")
    ({'aria-label': 'Close'}, {'aria-pressed': 'false', 'aria-labelledby': 'words'})
    """
    named = {} if label is None else {"label": label}
    return {f"aria-{name}": value for name, value in {**named, **states}.items()}


def tick(words: str, **given: Any) -> Any:
    """A box to tick. Dash's own checklist calls its boxes options of a list, which screen readers do not understand."""
    return html.Button(
        **painted([html.Span(className="box"), words]),
        className="tickbox",
        role="checkbox",
        type="button",
        **aria(checked="false"),
        **given,
    )


def percent(x: float) -> str:
    """For CSS.

    >>> percent(0.12345)
    '12.35%'
    """
    return f"{100 * min(max(x, 0.0), 1.0):.2f}%"


def interval_track(probability: float, lower: float, upper: float, thresholds: Thresholds) -> Any:
    """P(rare) as a dot on a line from 0 to 1, its interval as a bar, the thresholds as ticks."""
    ticks = [("alert", thresholds.alert if thresholds.review_pays else thresholds.alone)]
    if thresholds.review_pays:
        ticks.insert(0, ("review", thresholds.review))
    zones = _zones(thresholds)
    return html.Div(
        [
            html.Div(
                [
                    *(
                        html.Div(className=f"zone zone-{name}", style={"left": percent(a), "width": percent(b - a)})
                        for name, a, b in zones
                    ),
                    html.Div(className="range", style={"left": percent(lower), "width": percent(upper - lower)}),
                    html.Div(className="dot", style={"left": percent(probability)}),
                    *(html.Div(className=f"tick tick-{name}", style={"left": percent(at)}) for name, at in ticks),
                ],
                className="track",
            ),
            html.Div([html.Span("0"), html.Span("0.5"), html.Span("1")], className="scale"),
        ],
        className="interval",
        role="img",
        **aria(f"P(rare) {say_probability(probability)}, interval {say_interval(lower, upper)}"),
    )


def _zones(thresholds: Thresholds) -> Sequence[tuple[str, float, float]]:
    if not thresholds.review_pays:
        return (("clear", 0.0, thresholds.alone), ("alert", thresholds.alone, 1.0))
    review, alert = min(thresholds.review, 1.0), min(thresholds.alert, 1.0)
    return (("clear", 0.0, review), ("review", review, alert), ("alert", alert, 1.0))


def table(
    rows: Iterable[Iterable[Any]], head: Sequence[Any] = (), *, class_name: str = "figures", id: str | None = None
) -> Any:
    """Rows under their heads; a cell that must look otherwise comes as a `html.Td` or `html.Th` of its own."""
    given: dict[str, Any] = {} if id is None else {"id": id}
    body = [html.Tr([cell if isinstance(cell, html.Td | html.Th) else html.Td(cell) for cell in row]) for row in rows]
    heads = html.Thead(html.Tr([_head(one) for one in head]))
    return html.Table([*([heads] if head else []), html.Tbody(body)], className=class_name, **given)


def _head(one: Any) -> Any:
    if isinstance(one, html.Th):
        return one
    return html.Th(one, scope="col") if one else html.Td("")


def number(text: str) -> Any:
    """A cell of a table, to the right."""
    return html.Td(text, className="number")


def say_amount(x: float) -> str:
    """A count or a cost, with as many digits as help.

    >>> say_amount(12345.6), say_amount(12.34), say_amount(0.5)
    ('12,346', '12.3', '0.50')
    """
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.1f}" if abs(x) >= 10 else f"{x:.2f}"
