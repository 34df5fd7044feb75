"""The model: fit it again with the decisions, see what that changed, go back to an earlier one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from calirare.decisions.costs import ACTIONS
from calirare.decisions.numbers import say_probability
from calirare.evaluation.look_again import WORDS, DoubtfulLabel
from calirare.metrics import METRICS
from calirare.metrics.summary import say
from calirare.review.desk import Desk, RefitOutcome
from calirare.review.jobs import Status
from calirare.review.pages.widgets import card, case_link, draw_beware, number, percent, pill, table
from calirare.review.queue import Queue
from calirare.review.security import current_reviewer
from calirare.review.store.book import DecisionBook
from calirare.review.store.decisions import Decision
from calirare.review.versions import Version, list_versions
from calirare.review.view import View
from calirare.scoring.service.access import Access

_POLL_MILLISECONDS = 500
_MOST_CHANGED = 12


def layout() -> Any:
    return html.Div(
        [
            html.Div(id="model-beware"),
            html.H1("The model and what reviewers taught it"),
            html.Div(
                [
                    card(
                        "Refit with decisions",
                        html.Div(id="refit-about"),
                        html.Button("Refit with decisions", id="refit", className="button primary"),
                        html.Div(id="refit-status", role="status"),
                    ),
                    html.Div(id="versions"),
                ],
                className="two",
            ),
            html.Div(id="outcome"),
            html.Div(id="look-again"),
            dcc.Interval(id="refit-poll", interval=_POLL_MILLISECONDS, disabled=True),
            dcc.Store(id="refit-number", data=0),
            dcc.Store(id="versions-shown"),
        ],
        className="narrow",
    )


def add_callbacks(app: Dash, desk: Desk, access: Access) -> None:
    _add_refit(app, desk, access)
    _add_model(app, desk)
    _add_way_back(app, desk)


def _add_refit(app: Dash, desk: Desk, access: Access) -> None:
    @app.callback(
        Output("refit-status", "children"),
        Output("refit", "disabled"),
        Output("refit-poll", "disabled"),
        Output("refit-number", "data"),
        Output("poll", "n_intervals", allow_duplicate=True),
        Input("refit", "n_clicks"),
        Input("refit-poll", "n_intervals"),
        Input("asked-model", "data"),
        State("refit-number", "data"),
        prevent_initial_call=True,
    )
    def run_refit(clicks: Any, polled: Any, asked: Any, seen: Any) -> Any:
        if ctx.triggered_id == "refit" and clicks:
            desk.job.start(current_reviewer(access))
        status = desk.job.status
        running = status.state == "running"
        if running or status.number == seen:
            return _status(status), running, not running, no_update, no_update
        return _status(status), False, True, status.number, _at_once()


def _add_model(app: Dash, desk: Desk) -> None:
    @app.callback(
        Output("refit-about", "children"),
        Output("versions", "children"),
        Output("versions-shown", "data"),
        Output("outcome", "children"),
        Output("model-beware", "children"),
        Output("look-again", "children"),
        Input("asked-model", "data"),
        Input("refit-number", "data"),
        State("versions-shown", "data"),
        prevent_initial_call=True,
    )
    def show_model(asked: Any, number: Any, shown: Any) -> Any:
        kept = list_versions(desk.model)
        now = [desk.snapshot.version, desk.is_current(), *(one.version for one in kept)]
        return (
            _about(desk),
            no_update if now == shown else _versions(desk, kept),  # a button under a finger is not taken away
            now,
            None if desk.outcome is None else _outcome(desk, desk.outcome, desk.view({})),
            draw_beware(desk.station.beware),
            draw_look_again(desk.station.look_again),
        )


def _add_way_back(app: Dash, desk: Desk) -> None:
    @app.callback(
        Output("poll", "n_intervals", allow_duplicate=True),
        Output("message", "data", allow_duplicate=True),
        Input({"kind": "go-back", "version": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def go_back(clicks: list[Any]) -> Any:
        if not any(clicks) or not isinstance(ctx.triggered_id, dict):
            return no_update, no_update
        if desk.job.status.state == "running":
            return no_update, {"text": "A refit is running; wait until it is done.", "kind": "bad"}
        desk.go_back_to(str(ctx.triggered_id["version"]))
        return _at_once(), {"text": f"Model {desk.snapshot.version} is in use again.", "kind": "good"}


def _at_once() -> int:
    """A new value for the clock of the header, so that it and all pages ask now, not at its next turn."""
    return time.time_ns() // 1_000_000


def _status(status: Status) -> Any:
    if status.state == "idle":
        return None
    if status.state == "running":
        return [
            html.Div(html.Div(className="bar", style={"width": percent(status.share)}), className="bar-track wide"),
            html.P(f"{status.doing}. Started by {status.by}; you can go on reviewing.", className="hint"),
        ]
    kind = "good" if status.state == "done" else "bad"
    words = "Done. The queue shows the new model." if status.state == "done" else status.doing
    return html.P(words, className=f"note-{kind}", id=f"refit-{status.state}")


def _about(desk: Desk) -> Any:
    queue = desk.queue
    counts, every = (np.bincount(codes, minlength=4) for codes in (queue.not_learned, queue.book.codes))
    learned = int((every - counts)[1:].sum())
    return [
        html.P(
            [pill("rare"), f" {counts[1]:,}  ", pill("normal"), f" {counts[2]:,}  ", pill("unsure"), f" {counts[3]:,}"],
            className="counts",
        ),
        html.P(f"decided and not learned yet; {learned:,} more have trained this model.", id="learned-said"),
        html.P(
            "Decisions “rare” and “normal” join the labels; “unsure” does not. The population's share of rare nodes stays "
            "as it was, as reviewed cases are no random draw. The old model is kept.",
            className="hint",
        ),
    ]


def _versions(desk: Desk, kept: Sequence[Version]) -> Any:
    current = desk.snapshot.version
    rows = [
        html.Li(
            [
                html.Code(one.version),
                html.Span(f"{one.time:%Y-%m-%d %H:%M} UTC", className="when"),
                pill("clear", "in use")
                if one.version == current
                else html.Button(
                    "Use again", id={"kind": "go-back", "version": one.version}, className="button quiet small"
                ),
            ]
        )
        for one in kept
    ]
    if not kept:
        rows = [html.Li([html.Code(current), pill("clear", "in use")])]
    if not desk.is_current():
        rows.append(
            html.Li("The folder now holds another model; start the desk again to use it.", className="note-bad")
        )
    return card(
        "Models",
        html.Ul(rows, className="versions"),
        html.P("Earlier models stay in the folder versions/ beside the current one.", className="hint"),
    )


def _outcome(desk: Desk, outcome: RefitOutcome, view: View) -> Any:
    change = outcome.change
    before = Queue(outcome.before, desk.book, desk.team).judge(view.costs, view.budget).action
    after = desk.queue.judge(view.costs, view.budget).action
    both = (before >= 0) & (after >= 0)
    moved = np.flatnonzero(both & (before != after))
    return card(
        "What the last refit changed",
        html.P(
            f"{change.num_decisions:,} decision{'' if change.num_decisions == 1 else 's'}; {change.labels_before:,} labels before, {change.labels_after:,} now. "
            f"{moved.size:,} of {int(both.sum()):,} nodes have another action. The new model is {change.likelihood.say()}.",
            id="outcome-said",
        ),
        html.P("The earlier one can be used again above.", className="note-bad")
        if change.likelihood.is_worse
        else None,
        html.Div([_moves(before[both], after[both]), _metrics(outcome)], className="two uneven"),
        html.H3("Nodes whose action changed, the largest change first") if moved.size else None,
        _changed(outcome, desk.book, before, after, moved),
    )


def draw_look_again(found: list[DoubtfulLabel]) -> Any:
    """The labels that the model would have called otherwise, as a card; nothing where there are none."""
    if not found:
        return None
    rows = [(case_link(one.id), one.label, number(say_probability(one.probability)), one.likelier) for one in found]
    return card(
        "Labels to look at again",
        html.P(WORDS, className="hint"),
        table(rows, ("Node", "Label", "P(label) without it", "Likelier"), class_name="figures words"),
    )


def _moves(before: np.ndarray, after: np.ndarray) -> Any:
    counts = np.zeros((3, 3), dtype=np.int64)
    np.add.at(counts, (before, after), 1)
    rows = [
        (pill(name), *(html.Td(f"{n:,}", className="same" if i == j else "") for j, n in enumerate(counts[i])))
        for i, name in enumerate(ACTIONS)
    ]
    return table(rows, ("before ↓  now →", *(pill(name) for name in ACTIONS)), class_name="figures moves")


def _metrics(outcome: RefitOutcome) -> Any:
    change = outcome.change
    rows = [(METRICS[name].title, say(change.before[name]), say(change.after[name])) for name in change.before]
    return html.Div(
        [
            table(rows, ("", "before", "now")),
            html.P(
                f"On the {change.labels_after:,} labels of the new model, each judged by a model that never saw it; 95% intervals.",
                className="hint",
            ),
        ]
    )


def _changed(
    outcome: RefitOutcome, book: DecisionBook, before: np.ndarray, after: np.ndarray, moved: np.ndarray
) -> Any:
    """The nodes that moved farthest; a decided one has moved by its own decision, and is marked."""
    old, new = outcome.before.scores.probability, outcome.after.scores.probability
    largest = moved[np.argsort(-np.abs(new[moved] - old[moved]), kind="stable")[:_MOST_CHANGED]]
    rows = [
        (
            case_link(outcome.after.ids[node]),
            [pill(ACTIONS[before[node]]), " → ", pill(ACTIONS[after[node]])],
            number(f"{say_probability(old[node])} → {say_probability(new[node])}"),
            _decided(book.standing(outcome.after.ids[node])),
        )
        for node in largest.tolist()
    ]
    return table(rows, class_name="figures changed") if rows else None


def _decided(stands: Decision | None) -> Any:
    return "" if stands is None else pill(stands.decision, f"decided {stands.decision}")
