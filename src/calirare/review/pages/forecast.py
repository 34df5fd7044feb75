"""What the costs ask for and what they lead to: thresholds, expected rare nodes, expected cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from dash import html

from calirare.decisions.costs import Costs
from calirare.decisions.numbers import say_probability
from calirare.metrics import Estimate
from calirare.review.pages.widgets import card, pill, say_amount, table
from calirare.review.queue import Queue
from calirare.review.view import View

_SIZES = ((1e9, "bn"), (1e6, "M"), (1e3, "k"))


def draw_forecast(view: View, queue: Queue) -> Any:
    """Thresholds, and the table of expected rare nodes and cost: of all cases, whatever filter is kept."""
    judged = queue.judge(view.costs, view.budget)
    rules, groups = _rules(view.costs, judged.decisions.cutoff), judged.groups
    waiting = queue.open_counts(replace(view, conditions=()))
    waiting["all"] = sum(waiting.values())
    rows = [
        (
            "all" if name == "all" else pill(name),
            html.Td(_short(group.num_nodes), title=f"{group.num_nodes:,}"),
            html.Td(_short(waiting[name]), title=f"{waiting[name]:,}"),
            html.Td(_short(group.rare.value), title=_range(group.rare)),
            html.Td(_short(group.cost.value), title=_range(group.cost)),
        )
        for name, group in groups.items()
    ]
    return [
        card("Thresholds", html.Ul(rules, className="rules")),
        card(
            "Expected",
            table(rows, ("", "nodes", "open", "rare", "cost"), class_name="figures totals"),
            html.P(f"Total cost {_range(groups['all'].cost)}.", className="hint"),
            html.P(_counted(groups["all"].num_nodes, waiting["all"], bool(view.conditions)), className="hint"),
        ),
    ]


def _short(x: float) -> str:
    """A count or a cost in the few letters that the table has room for.

    >>> _short(12), _short(12.34), _short(9_999), _short(12_345.6), _short(999_999), _short(2.5e9)
    ('12', '12.3', '9,999', '12.3k', '1M', '2.5bn')
    """
    if abs(x) < 10_000:
        return f"{x:,}" if isinstance(x, int) else say_amount(x)
    size, sign = next(one for one in _SIZES if abs(x) >= 0.9995 * one[0])
    return f"{x / size:.3g}{sign}"


def _counted(total: int, waiting: int, filtered: bool) -> str:
    """Which cases the forecast is of, where that is not plain from the queue."""
    decided = f"The forecast holds the {total - waiting:,} decided cases too." if total > waiting else ""
    narrowed = "The filter kept for everybody does not narrow it." if filtered else ""
    return " ".join(filter(None, (decided, narrowed)))


def _rules(costs: Costs, cutoff: float) -> list[Any]:
    """The thresholds in force under the budget. Where each case has its own price, it also has its own thresholds."""
    if costs.per_node:
        rules = [html.Li("Each case has its own, by its own price; the case page shows them.", id="rule-alert")]
        if cutoff > 0:
            least = f"from a saving of {say_amount(cutoff)} on" if np.isfinite(cutoff) else "for none"
            rules.append(html.Li([pill("review"), f" {least}: so far the budget goes."], id="rule-review"))
        return rules
    limits = costs.thresholds(cutoff)
    if limits.review_pays:
        return [
            html.Li([pill("alert"), f" from P(rare) {say_probability(limits.alert)}"], id="rule-alert"),
            html.Li([pill("review"), f" from P(rare) {say_probability(limits.review)}"], id="rule-review"),
            html.Li([pill("clear"), " below"]),
            *([html.Li(_beyond(costs), id="rule-budget", className="hint")] if cutoff > 0 else ()),
        ]
    return [
        html.Li([pill("alert"), f" from P(rare) {say_probability(limits.alone)}"], id="rule-alert"),
        html.Li([pill("clear"), f" below; {'a review never pays' if not cutoff else 'no review'}"], id="rule-review"),
    ]


def _beyond(costs: Costs) -> str:
    limits = costs.thresholds()
    return f"The budget sets these; a review would pay from {say_probability(limits.review)} to {say_probability(limits.alert)}."


def _range(estimate: Estimate) -> str:
    return f"{say_amount(estimate.lower)} to {say_amount(estimate.upper)}, nine times in ten"
