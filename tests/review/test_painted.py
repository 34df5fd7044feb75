"""What goes to the page as text says what the components say."""

import json

import pytest
from dash import dcc, html

from calirare.review.pages.painted import paint
from calirare.review.pages.widgets import aria, card, case_link


def test_attributes_have_the_names_of_html():
    drawn = html.Td("x", className="a b", colSpan=2, tabIndex=0, title=None, style={"left": "5%"}, **aria("said"))
    (part,) = json.loads(paint(drawn))
    given = {"class": "a b", "colspan": 2, "tabindex": 0, "style": {"left": "5%"}, "aria-label": "said"}
    assert part == ["td", given, "x"]


def test_a_link_changes_the_page_and_not_the_document():
    (part,) = json.loads(paint(case_link("A 7")))
    assert part[0] == "a" and part[1]["href"] == "/case?id=A%207" and part[1]["data-link"] == "" and part[2:] == ["A 7"]
    assert "data-link" not in json.loads(paint(html.A("out", href="https://example.org")))[0][1]


def test_lists_in_lists_numbers_and_nothing():
    (part,) = json.loads(paint(card("Title", [html.P(1), [None, "two"]], None)))
    assert part == ["section", {"class": "card"}, ["h2", {}, "Title"], ["p", {}, "1"], "two"]
    assert paint(None) == paint([]) == "[]"


def test_what_does_more_than_show_is_refused():
    with pytest.raises(TypeError, match="Input does more than show"):
        paint(html.Div(dcc.Input(id="x")))
