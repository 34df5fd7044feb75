"""What the costs ask for and what they lead to: thresholds, expected rare nodes, expected cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import html

from calirare.decisions.costs import Costs
from calirare.decisions.forecast import Group
from calirare.metrics import Estimate
from calirare.review.pages.widgets import pill, say_amount
from calirare.review.view import View


def draw_forecast(view: View, groups: Mapping[str, Group]) -> Any:
    """Thresholds, and the table of expected rare nodes and cost."""
    rules = _rules(view.costs)
    rows = [
        html.Tr(
            [
                html.Td("all" if name == "all" else pill(name)),
                html.Td(f"{group.num_nodes:,}"),
                html.Td(say_amount(group.rare.value), title=_range(group.rare)),
                html.Td(say_amount(group.cost.value), title=_range(group.cost)),
            ]
        )
        for name, group in groups.items()
    ]
    total = groups["all"].cost
    return [
        html.Section([html.H2("Thresholds"), html.Ul(rules, className="rules")], className="card"),
        html.Section(
            [
                html.H2("Expected"),
                html.Table(
                    [
                        html.Thead(html.Tr([html.Td(""), html.Th("nodes"), html.Th("rare"), html.Th("cost")])),
                        html.Tbody(rows),
                    ],
                    className="figures totals",
                ),
                html.P(
                    f"Total cost {say_amount(total.lower)} to {say_amount(total.upper)}, nine times in ten.",
                    className="hint",
                ),
            ],
            className="card",
        ),
    ]


def _rules(costs: Costs) -> list[Any]:
    """Where one action gives way to the next; with a price per case every case has thresholds of its own."""
    if costs.per_node:
        return [html.Li("Each case has its own, by its own price; the case page shows them.", id="rule-alert")]
    limits = costs.thresholds()
    if limits.review_pays:
        return [
            html.Li([pill("alert"), f" from P(rare) {limits.alert:.3f}"], id="rule-alert"),
            html.Li([pill("review"), f" from P(rare) {limits.review:.3f}"], id="rule-review"),
            html.Li([pill("clear"), " below"]),
        ]
    return [
        html.Li([pill("alert"), f" from P(rare) {limits.alone:.3f}"], id="rule-alert"),
        html.Li([pill("clear"), " below; a review never pays"], id="rule-review"),
    ]


def _range(estimate: Estimate) -> str:
    return f"{say_amount(estimate.lower)} to {say_amount(estimate.upper)}, nine times in ten"
