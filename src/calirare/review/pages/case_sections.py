"""The sections of the case page, each drawn from what the desk says of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from calirare.decisions.numbers import say_interval, say_probability, say_share
from calirare.decisions.why import Fact
from calirare.decisions.wording import no_score
from calirare.review.case.attributes import Attribute, Comparison
from calirare.review.case.summary import Case, Pull
from calirare.review.links import make_link, name_link
from calirare.review.pages.widgets import aria, card, case_href, case_link, interval_track, key, percent, pill
from calirare.review.snapshot import COVERAGE
from calirare.review.store.decisions import Decision
from calirare.review.store.events import Event

_MOST_HISTORY = 20


def not_found(node_id: str) -> Any:
    return html.Div(
        [
            html.H1("No such node"),
            html.P(["This graph has no node ", html.Code(node_id or "without a name"), "."]),
            dcc.Link("Back to the queue", href="/"),
        ],
        className="not-found",
    )


def head(case: Case, links: Sequence[str] = (), *, hidden: bool = False) -> Any:
    place = f"{case.place + 1:,} of {case.total:,} in the queue" if case.place is not None else "not in this queue"
    if hidden:
        status = None
    elif case.other_kind:
        status = html.Span([pill("label", case.other_kind)])
    elif case.label is not None and case.action is None:
        status = html.Span([pill("label", f"labelled {case.label}")])
    else:
        status = pill(case.action or "label", case.action or "labelled")
    outside = [
        html.A(
            [name_link(link), " ↗"],
            href=make_link(link, case.node_id),
            target="_blank",
            rel="noopener noreferrer",
            className="outside",
        )
        for link in links
    ]
    return [
        dcc.Link(["Queue", key("q")], href="/", id="to-queue", className="button quiet"),
        html.H1(case.node_id, title=case.node_id, id="case-id"),
        status,
        *outside,
        html.Div(
            [
                html.Span(place, className="place", id="case-place"),
                _step("previous", case.before, "k"),
                _step("next", case.after, "j"),
            ],
            className="steps",
        ),
    ]


def hidden_score() -> Any:
    """What stands in the score's place in blind mode."""
    return card(
        "P(rare)", html.P("Hidden until you decide: the desk is in blind mode.", className="hint", id="blind-said")
    )


def team(assigned: str, wish: Event | None, reviewer: str) -> Any:
    """Whose case it is, and whether someone wants a second opinion."""
    whose = "Nobody's case yet." if not assigned else "Your case." if assigned == reviewer else f"{assigned}'s case."
    lines = [html.P(whose, id="assigned-said", className="hint")]
    if wish is not None:
        by = "You want" if wish.reviewer == reviewer else f"{wish.reviewer} wants"
        lines.append(html.P([pill("unsure", "second opinion"), f" {by} someone else to look."], id="second-said"))
    return lines


def _step(words: str, node_id: str | None, letter: str) -> Any:
    if node_id is None:
        return html.Span([words, key(letter)], className="button quiet disabled", role="link", **aria(disabled="true"))
    return dcc.Link([words, key(letter)], href=case_href(node_id), id=f"{words}-case", className="button quiet")


def probability(case: Case) -> Any:
    if case.other_kind:
        return card("P(rare)", html.P(no_score(case.other_kind), className="hint", id="kind-said"))
    lines: list[Any] = [
        html.Div(
            [
                html.Span(say_probability(case.probability), className="big", id="case-p"),
                html.Span(f"{COVERAGE:.0%} interval {say_interval(case.lower, case.upper)}", className="hint"),
            ],
            className="big-row",
        ),
        interval_track(case.probability, case.lower, case.upper, case.thresholds),
    ]
    if case.alone:
        said = ", ".join(f"{name} {say_probability(p)}" for name, p in case.alone.items())
        lines.append(html.P(f"Each detector alone: {said}.", className="hint", id="alone-said"))
    if case.costs:
        lines.append(html.P(case.costs, className="reason"))
    if case.ruled_out:
        lines.append(html.P(case.ruled_out, className="hint", id="ruled-out"))
    if case.label is not None:
        said = f"Its label, {case.label}, has trained the model."
        if case.without_label is not None:
            said += f" Without it P(rare) would be {case.without_label:.3f}."
        lines.append(html.P(said, className="hint"))
    return card("P(rare)", *lines)


def attributes(comparison: Comparison) -> Any:
    rows = [_attribute(one) for one in comparison.attributes]
    more = f" {comparison.left_out:,} more usual ones are not shown." if comparison.left_out else ""
    return card(
        "Attributes against normal nodes",
        html.Div(rows, className="attributes") if rows else html.P("It has none of the attributes.", className="hint"),
        html.P(f"Most unusual first. Compared with {comparison.against}.{more}", className="hint"),
    )


def _than(percentile: float, is_moment: bool) -> str:
    """`above 93%`, or `below 95%` for what is in the lower half."""
    more, less = ("later than", "earlier than") if is_moment else ("above", "below")
    return f"{more} {say_share(percentile)}" if percentile >= 0.5 else f"{less} {say_share(1 - percentile)}"


def _attribute(one: Attribute) -> Any:
    strange = "strange" if one.surprise > 0.9 else ""
    if one.percentile is not None:
        at = percent(one.percentile)
        bar = html.Div(
            [html.Div(className="middle"), html.Div(className=f"mark-at {strange}", style={"left": at})],
            className="percentile",
        )
        words = f"{_than(one.percentile, one.is_moment)} of them; their median is {one.usual}"
    elif one.share is not None:
        bar = html.Div(
            html.Div(className=f"share {strange}", style={"width": percent(one.share)}), className="percentile"
        )
        words = (
            f"shared by {100 * one.share:.1f}% of them; most often {one.usual}"
            if one.usual
            else f"the first of these words is in {100 * one.share:.1f}% of their texts"
        )
    else:
        bar, words = html.Div(className="percentile"), f"their median is {one.usual}" if one.usual else ""
    return html.Div(
        [
            html.Div(
                [
                    html.Span(one.name, className="name", title=one.name),
                    html.Span(one.value, className="value", title=one.value),
                ],
                className="attribute-head",
            ),
            bar,
            html.Div(words, className="hint"),
        ],
        className="attribute",
    )


def why(facts: Sequence[Fact], near: str) -> Any:
    """What speaks for and against the case, by its share of the logit; the labels around it first."""
    largest = max((abs(fact.share) for fact in facts), default=1.0) or 1.0
    rows = [
        html.Div(
            [html.Span(fact.words, className="fact"), _bar(fact.share / largest)],
            className="why-row",
        )
        for fact in facts
    ]
    if not rows and not near:
        return None
    claimed = any(fact.share for fact in facts)
    hint = (
        "To the right what speaks for rare, to the left what speaks against it." if claimed else "Most unusual first."
    )
    return card(
        "Why",
        html.P(near, className="reason", id="why-near") if near else None,
        html.Div(rows, id="why"),
        html.P(hint, className="hint") if rows else None,
    )


def _bar(share: float) -> Any:
    """From -1 to 1: to the left or to the right of the middle."""
    side = "up" if share > 0 else "down"
    return html.Div(
        html.Div(className=f"pull-bar {side}", style={"width": percent(abs(share) / 2)}), className="pull-track"
    )


def pulls(pulls: list[Pull]) -> Any:
    largest = max((abs(one.pull) for one in pulls), default=1.0) or 1.0
    rows = [
        html.Div(
            [
                case_link(one.node_id),
                pill("rare" if one.is_rare else "normal", one.label),
                _bar(one.pull / largest),
                html.Span(f"{one.pull:+.4f}", className="number"),
            ],
            className="pull",
        )
        for one in pulls
    ]
    return card(
        "Labels that pull this call",
        html.Div(rows, className="pulls"),
        html.P(
            "How far each label moves P(rare): more than 0 towards rare, less than 0 away from it.", className="hint"
        ),
        *(html.P(said, className="hint", id="against-own-class") for said in _against_own_class(pulls)),
    )


def _against_own_class(pulls: list[Pull]) -> list[str]:
    """Why the first label that pulls away from its own class does so."""
    for one in pulls:
        if one.is_rare and one.pull < 0:
            return [
                f"{one.node_id} is labelled {one.label}, yet pulls away from it: the model learned to look for what it has, "
                "and this case has less of that."
            ]
        if not one.is_rare and one.pull > 0:
            return [
                f"{one.node_id} is labelled {one.label}, yet pulls towards rare: the model learned that what it has is harmless, "
                "and this case has less of that."
            ]
    return []


def now(stands: Decision | None, conflict: Any) -> Any:
    children: list[Any] = []
    if conflict:
        children.append(
            html.Div(
                [html.Strong("Not stored. "), str(conflict.get("error", ""))[:300], " Look again, then decide."],
                className="conflict",
                role="alert",
            )
        )
    if stands is None:
        children.append(html.P("Not decided yet.", className="hint"))
    else:
        children.append(html.P([pill(stands.decision), f" by {stands.reviewer}"], className="decided"))
    return children


def history(rows: list[Decision], reviewer: str) -> Any:
    shown = list(reversed(rows))[:_MOST_HISTORY]
    return html.Ol(
        [
            html.Li(
                [
                    html.Span(f"{row.time:%Y-%m-%d %H:%M} UTC", className="when"),
                    html.Span(["back to ", pill(row.decision)] if row.undoes else pill(row.decision)),
                    html.Span("you" if row.reviewer == reviewer else row.reviewer, className="by"),
                    html.Div(row.note, className="note-text") if row.note and not row.undoes else None,
                ]
            )
            for row in shown
        ],
        className="history",
    )
