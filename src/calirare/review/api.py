"""What the page's scripts and other programs call: decisions, undo, files, login. Answers JSON, never a traceback."""

from __future__ import annotations

import json
import logging
import secrets
from typing import Any

import numpy as np
from flask import Flask, Response, jsonify, redirect, request
from werkzeug.exceptions import HTTPException

from calirare.data.checks import is_whole
from calirare.errors import CalirareError, DataError, InputError
from calirare.review.desk import Desk
from calirare.review.exports import FORMATS, export_decisions, export_queue
from calirare.review.pages import prices
from calirare.review.pages.login import login_page
from calirare.review.security import LoginLimit, current_reviewer, log_in, log_out
from calirare.review.store.decisions import ConflictError
from calirare.review.view import View
from calirare.scoring.service.access import LONGEST_NAME, Access, is_token

logger = logging.getLogger(__name__)
_MOST_AT_ONCE = 1_000
_MOST_REASONS = 60
"""No screen shows more rows."""


def add_routes(server: Flask, desk: Desk, access: Access) -> None:
    """Register every route that is not a Dash page."""
    _add_decisions(server, desk, access)
    _add_many_decisions(server, desk, access)
    _add_team(server, desk, access)
    _add_rows(server, desk, access)
    _add_reasons(server, desk, access)
    _add_exports(server, desk, access)
    _add_login(server, access)
    _add_errors(server)


def _add_decisions(server: Flask, desk: Desk, access: Access) -> None:
    @server.post("/api/decide")
    def decide() -> Any:
        data = _json_object()
        row = desk.decide(
            _text(data, "node"),
            _text(data, "decision"),
            note=_text(data, "note", ""),
            reviewer=current_reviewer(access),
            seen=_number(data, "seen"),
            action_key=_text(data, "key"),
            shown=None if data.get("model") is None else _text(data, "model"),
        )
        return jsonify(ok=True, decision=row.as_dict())

    @server.post("/api/undo")
    def undo() -> Any:
        data = _json_object()
        row = desk.undo(
            _number(data, "decision"),
            reviewer=current_reviewer(access),
            action_key=_text(data, "key"),
        )
        stands = desk.book.standing(row.node_id)
        return jsonify(ok=True, decision=row.as_dict(), stands=None if stands is None else stands.as_dict())


def _add_many_decisions(server: Flask, desk: Desk, access: Access) -> None:
    @server.post("/api/decide-many")
    def decide_many() -> Any:
        data = _json_object()
        stored, refused = desk.decide_many(
            [(_text(one, "node"), _number(one, "seen")) for one in _objects(data)],
            _text(data, "decision"),
            note=_text(data, "note", ""),
            reviewer=current_reviewer(access),
            action_key=_text(data, "key")[:48],
        )
        return jsonify(ok=True, decisions=[row.as_dict() for row in stored], refused=refused)

    @server.post("/api/undo-many")
    def undo_many() -> Any:
        data = _json_object()
        numbers = [_number({"decision": one}, "decision") for one in _list(data, "decisions")]
        who, key = current_reviewer(access), _text(data, "key")[:48]
        stored, refused = desk.undo_many(numbers, reviewer=who, action_key=key)
        return jsonify(ok=True, decisions=[row.as_dict() for row in stored], refused=refused)


def _add_team(server: Flask, desk: Desk, access: Access) -> None:
    @server.post("/api/assign")
    def assign() -> Any:
        data = _json_object()
        nodes, to = [_known(desk, one) for one in _list(data, "nodes")], _text(data, "to")
        for node in nodes:
            desk.team.assign(node, to, reviewer=current_reviewer(access))
        return jsonify(ok=True, count=len(nodes))

    @server.post("/api/second")
    def second() -> Any:
        data = _json_object()
        node = _known(desk, _text(data, "node"))
        desk.team.ask(node, data.get("wanted") is True, reviewer=current_reviewer(access))
        return jsonify(ok=True)

    @server.post("/api/settings")
    def settings() -> Any:
        change = desk.set(_json_object(), reviewer=current_reviewer(access))
        return jsonify(ok=True, number=change.number, settings=prices.store(change))


def _add_rows(server: Flask, desk: Desk, access: Access) -> None:
    @server.post("/api/rows")
    def rows() -> Any:
        """Rows of the queue, and under which settings and decisions they are so."""
        data = _json_object()
        who, queue, change = current_reviewer(access), desk.queue, desk.setting
        view = desk.view(data.get("view"), data.get("sort"), data.get("filter"), reviewer=who)
        asker = who if change.settings.blind else None
        stamp, start, stop = desk.stamp, _number(data, "start"), _number(data, "stop")
        found, count = queue.rows(view, start, stop, change.settings.columns, asker)
        return jsonify(ok=True, rows=found, count=count, settings=change.number, stamp=stamp)


def _add_reasons(server: Flask, desk: Desk, access: Access) -> None:
    @server.post("/api/reasons")
    def reasons() -> Any:
        """Reasons for the rows on screen, without cases that blind mode hides."""
        asked, queue = _list(_json_object(), "nodes")[:_MOST_REASONS], desk.queue
        names = [name for name in asked if not desk.is_hidden(_known(desk, name), current_reviewer(access))]
        nodes = np.array([desk.snapshot.find(name) for name in names], dtype=np.int64)
        listed = np.isin(nodes, queue.snapshot.listed)
        found = queue.reasons(nodes[listed], desk.view({}))
        return jsonify(ok=True, reasons=dict(zip(np.array(names, dtype=object)[listed], found, strict=True)))


def _add_exports(server: Flask, desk: Desk, access: Access) -> None:
    @server.get("/export/<what>.<kind>")
    def export(what: str, kind: str) -> Any:
        if what not in ("queue", "decisions") or kind not in FORMATS:
            return _answer(404, "There is no such file.")
        if what == "queue" and desk.setting.settings.blind:
            return _answer(403, "The desk is in blind mode: scores are not given out.")
        if what == "queue":
            content = export_queue(desk.queue, _asked_view(desk, access), kind)
        else:
            content = export_decisions(desk.store, kind)
        headers = {"Content-Disposition": f'attachment; filename="{what}.{kind}"'}
        return Response(content, mimetype=FORMATS[kind], headers=headers)


def _add_login(server: Flask, access: Access) -> None:
    limit = LoginLimit()

    @server.get("/login")
    def login_form() -> Any:
        return redirect("/") if current_reviewer(access) else login_page()

    @server.post("/login")
    def login() -> Any:
        address = request.remote_addr or ""
        name = " ".join(request.form.get("reviewer", "").split())[:LONGEST_NAME]
        if not is_token(access, request.form.get("token", "")):
            wait = limit.fail(address, name)
            if wait <= 0:
                return login_page("That is not the token.", 401, name)
            logger.warning("many wrong tokens from %s", address)
            page = login_page("That is not the token either. Ask whoever started the desk for it.", 429, name)
            page.headers["Retry-After"] = str(int(wait) + 1)
            return page
        if not name:
            return login_page("Give your name: it is written beside your decisions.", 400)
        log_in(name)
        limit.succeed(address, name)
        return redirect("/", 303)

    @server.post("/logout")
    def logout() -> Any:
        log_out()
        return redirect("/login" if access.token else "/", 303)


def _add_errors(server: Flask) -> None:
    @server.errorhandler(ConflictError)
    def conflict(error: ConflictError) -> Any:
        current = None if error.current is None else error.current.as_dict()
        return jsonify(ok=False, error=str(error), current=current), 409

    @server.errorhandler(CalirareError)
    def ours(error: CalirareError) -> Any:
        if isinstance(error, DataError):
            logger.error("%s", error)
            return jsonify(ok=False, error="The decision database did not answer; nothing was stored. Try again."), 503
        return jsonify(ok=False, error=str(error)), 400

    @server.errorhandler(HTTPException)
    def http(error: HTTPException) -> Any:
        return _answer(error.code or 500, error.name)

    @server.errorhandler(Exception)
    def unexpected(error: Exception) -> Any:
        number = secrets.token_hex(4)
        logger.exception("error %s at %s", number, request.path)
        return _answer(500, f"Something went wrong here. The desk's log has it under {number}.")


def _asked_view(desk: Desk, access: Access) -> View:
    try:
        asked = json.loads(request.args.get("view") or "{}")
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise InputError("view must be a JSON object.")
    return desk.view(asked, asked.get("sort"), asked.get("filter"), reviewer=current_reviewer(access))


def _answer(code: int, message: str) -> Any:
    return jsonify(ok=False, error=message), code


def _json_object() -> dict[str, Any]:
    data = request.get_json(silent=True) if request.is_json else None
    if not isinstance(data, dict):
        raise InputError("the request must carry a JSON object.")
    return data


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_AT_ONCE:
        raise InputError(f"{name} must be a list of 1 to {_MOST_AT_ONCE:,}.")
    return value


def _objects(data: dict[str, Any]) -> list[dict[str, Any]]:
    found = _list(data, "nodes")
    if not all(isinstance(one, dict) for one in found):
        raise InputError("nodes must be a list of objects.")
    return found


def _known(desk: Desk, node_id: Any) -> str:
    if not isinstance(node_id, str) or desk.snapshot.find(node_id) is None:
        raise InputError("node must be one of this graph.")
    return node_id


def _text(data: dict[str, Any], name: str, default: str | None = None) -> str:
    value = data.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name} must be text.")
    return value


def _number(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    if not is_whole(value) or not 0 <= value < 2**62:
        raise InputError(f"{name} must be a whole number that the desk has given.")
    return value
