"""Who is let in, from where, and what leaves the desk."""

from __future__ import annotations

import logging

import pytest

from calirare.errors import InputError
from calirare.review.app import make_app
from calirare.review.security import LoginLimit
from calirare.scoring.service.access import Access, is_loopback

TOKEN = "a token that is long enough"


@pytest.fixture
def desk(shown_desk):
    return shown_desk


@pytest.fixture
def client(shown_client):
    return shown_client


def guard(desk):
    return make_app(desk, Access("0.0.0.0", 8050, TOKEN, allowed_hosts=("desk.example",))).server.test_client()


@pytest.fixture
def guarded(desk):
    """A desk that other machines can reach, with a token."""
    return guard(desk)


def log_in(client, token=TOKEN, reviewer="ada", **options):
    return client.post("/login", data={"token": token, "reviewer": reviewer}, **options)


def is_out(client):
    answer = client.get("/", headers={"Accept": "text/html"})
    return answer.status_code == 302 and answer.headers["Location"] == "/login"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_other_hosts_need_a_token(host, desk):
    assert not is_loopback(host)
    with pytest.raises(InputError, match="--token"):
        make_app(desk, Access(host))
    Access(host, token=TOKEN).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST"])
def test_loopback_needs_none(host):
    Access(host).check()


@pytest.mark.parametrize(
    ("options", "says"),
    [({"token": "short"}, "16"), ({"port": 70_000}, "port"), ({"reviewer": " "}, "name"), ({"token": "a" * 20}, "different"),
     ({"trusted_proxy": "proxy.example"}, "address of the proxy"), ({"trusted_proxy": "*"}, "address")],
)  # fmt: skip
def test_bad_settings_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        Access(**options).check()


def test_the_token_is_not_printed():
    assert TOKEN not in repr(Access(token=TOKEN))


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:8050", 200),
        ("localhost:8050", 200),
        ("[::1]:8050", 200),
        ("evil.example:8050", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.nip.io", 421),
        ("192.168.1.5", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
def test_a_strange_host_name_is_turned_away_even_on_loopback(client, host, code):
    """A page of a stranger whose name points to 127.0.0.1 must not read the desk (DNS rebinding)."""
    assert client.get("/", headers={"Host": host}).status_code == code


@pytest.mark.parametrize(
    ("host", "code"),
    [("192.168.1.5:8050", 302), ("desk.example", 302), ("DESK.example:443", 302), ("evil.example", 421)],
)
def test_names_by_which_an_open_desk_may_be_reached(guarded, host, code):
    assert guarded.get("/", headers={"Host": host, "Accept": "text/html"}).status_code == code


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 400),
        ({"Origin": "http://localhost"}, 400),
        ({"Origin": "https://localhost"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:9999"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 400),
    ],
)
@pytest.mark.parametrize("path", ["/api/decide", "/_dash-update-component"])
def test_other_sites_cannot_act_for_a_reviewer(client, path, headers, code):
    answer = client.post(path, json={}, headers={"Host": "localhost", **headers})
    assert answer.status_code == code if code == 403 else answer.status_code != 403


@pytest.mark.parametrize(
    "path",
    ["/", "/case?id=A0000001", "/_dash-layout", "/_dash-dependencies", "/export/queue.csv", "/export/decisions.parquet",
     "/_dash-component-suites/dash/deps/react@18.js", "/assets/desk.js"],
)  # fmt: skip
def test_nothing_is_shown_before_login(guarded, path):
    answer = guarded.get(path)
    assert answer.status_code in (302, 401)
    assert b"A0000" not in answer.data
    if answer.status_code == 302:
        assert answer.headers["Location"] == "/login"


@pytest.mark.parametrize("path", ["/api/decide", "/api/undo", "/_dash-update-component"])
def test_nothing_can_be_done_before_login(guarded, path, desk):
    assert guarded.post(path, json={"node": "A0000001"}).status_code == 401
    assert desk.store.since() == []


def test_the_login_opens_the_desk_with_a_careful_cookie(guarded):
    answer = log_in(guarded)
    assert answer.status_code == 303
    [cookie] = answer.headers.getlist("Set-Cookie")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
    assert guarded.get("/").status_code == 200
    assert guarded.post("/logout").status_code == 303
    assert is_out(guarded)


def test_the_name_of_the_login_stands_beside_decisions(own_desk):
    client = guard(own_desk)
    log_in(client, reviewer="  Grace   Hopper ")
    node = str(own_desk.snapshot.ids[own_desk.snapshot.listed[0]])
    answer = client.post("/api/decide", json={"node": node, "decision": "rare", "seen": 0, "key": "k"})
    assert answer.json["decision"]["reviewer"] == "Grace Hopper"


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ünïcode"])
def test_a_wrong_token_is_refused(guarded, token):
    answer = log_in(guarded, token)
    assert answer.status_code == 401 and "Set-Cookie" not in answer.headers
    assert is_out(guarded)


def test_a_login_needs_a_name(guarded):
    assert log_in(guarded, reviewer="   ").status_code == 400
    assert is_out(guarded)


def test_a_forged_or_foreign_cookie_is_no_session(guarded, desk):
    other = make_app(desk, Access("0.0.0.0", 8050, TOKEN)).server.test_client()
    cookie = log_in(other).headers["Set-Cookie"].split(";")[0].split("=", 1)[1]
    name = guarded.application.config["SESSION_COOKIE_NAME"]
    for value in (cookie, cookie[:-2] + "xx", "eyJyZXZpZXdlciI6ImFkYSJ9.x.y", "junk"):
        guarded.set_cookie(name, value)
        assert is_out(guarded)


def test_a_session_ends(guarded, monkeypatch):
    log_in(guarded)
    import time

    now = time.time()
    monkeypatch.setattr("calirare.review.security.time.time", lambda: now + 13 * 3600)
    assert is_out(guarded)


def test_wrong_tokens_are_told_to_stop_and_the_right_one_always_passes(guarded):
    """From the same address, under the same name, and after more failures in all than any limit."""
    codes = [log_in(guarded, "wrong").status_code for _ in range(8)]
    assert codes == [401] * 5 + [429] * 3
    again = log_in(guarded, "wrong")
    assert 0 < int(again.headers["Retry-After"]) <= 61
    assert log_in(guarded, "wrong", reviewer="bob").status_code == 401  # another account's failures are not his
    for turn in range(100):
        log_in(guarded, "wrong", environ_base={"REMOTE_ADDR": f"10.0.0.{turn}"})
    assert log_in(guarded).status_code == 303
    assert not is_out(guarded)


def test_the_limit_forgets_and_is_bounded(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("calirare.review.security.time.monotonic", lambda: now[0])
    limit = LoginLimit(most=2, seconds=60)
    assert [limit.fail("a", "ada") for _ in range(3)] == [0, 0, 60]
    assert limit.fail("b", "ada") == limit.fail("a", "bob") == 0
    now[0] += 61
    assert limit.fail("a", "ada") == 0
    limit.succeed("a", "ada")
    assert [limit.fail("a", "ada") for _ in range(2)] == [0, 0]
    for i in range(10_500):
        limit.fail(str(i), "")
    assert len(limit._failures) <= 10_000


def test_a_cookie_that_was_copied_is_worth_nothing_after_logout(guarded):
    cookie = log_in(guarded).headers["Set-Cookie"].split(";")[0].split("=", 1)[1]
    name = guarded.application.config["SESSION_COOKIE_NAME"]
    assert not is_out(guarded)
    guarded.post("/logout")
    guarded.set_cookie(name, cookie)
    assert is_out(guarded)
    assert guarded.post("/api/decide", json={}).status_code == 401


@pytest.mark.parametrize(("scheme", "secure"), [("https", True), ("http", False)])
def test_the_cookie_is_marked_secure_under_tls(guarded, scheme, secure):
    answer = log_in(guarded, base_url=f"{scheme}://desk.example")
    assert ("Secure" in answer.headers["Set-Cookie"]) == secure
    assert ("Strict-Transport-Security" in answer.headers) == secure


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//", "http://a:b:c", "\x00", "http://" + "a" * 5000])
def test_an_origin_that_is_none_is_turned_away_without_noise(client, origin, caplog):
    headers = {"Host": "localhost", "Origin": origin} if origin != "\x00" else {"Host": "localhost", "Origin": "%00"}
    assert client.post("/api/decide", json={}, headers=headers).status_code == 403
    assert not caplog.records


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"node": "\\ud800"}', b'{"\\udfff": 1}', b'{"seen": NaN}', b'{"seen": -Infinity}', b"{", b"\xff\xfe{",
     b'{"seen": 1' + b"0" * 5000 + b"}", b"", b'{"node": "\x00"}'],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/decide", "/api/undo", "/_dash-update-component"])
def test_odd_json_is_refused(client, desk, body, path, caplog):
    answer = client.post(path, data=body, content_type="application/json")
    assert 400 <= answer.status_code < 500, answer.data
    assert desk.store.since() == [] and not caplog.records


@pytest.mark.parametrize("path", ["/", "/login", "/export/decisions.csv", "/no/such/page", "/assets/desk.css"])
def test_every_answer_carries_the_headers(client, path):
    with client.get(path) as answer:
        headers = answer.headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'" and policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"] and "http" not in policy["script-src"]
    assert policy["connect-src"] == "'self'" and policy["form-action"] == "'self'"
    assert headers["X-Frame-Options"] == "DENY" and headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert path.startswith("/assets") or headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


def test_every_script_of_the_page_is_served_from_here(client):
    import base64
    import hashlib
    import re

    answer = client.get("/")
    page = answer.get_data(as_text=True)
    sources = re.findall(r'<script[^>]*src="([^"]*)"', page)
    assert len(sources) > 5 and all(source.startswith("/") and not source.startswith("//") for source in sources)
    assert not re.findall(r'<link[^>]*href="(?!/)', page)
    for kind, body in re.findall(r"<script(?![^>]*src=)([^>]*)>(.*?)</script>", page, re.S):
        if "application/json" in kind:
            continue  # data, which browsers do not run
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in answer.headers["Content-Security-Policy"]


def test_no_traceback_reaches_the_client(client, desk, monkeypatch, caplog):
    def broken(*_, **__):
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(type(desk), "queue", property(broken))
    monkeypatch.setattr(desk.store, "since", broken)
    with caplog.at_level(logging.ERROR):
        answers = [client.get("/export/queue.csv"), client.get("/export/decisions.csv")]
    for answer in answers:
        assert answer.status_code == 500
        assert b"secret" not in answer.data and b"Traceback" not in answer.data
    assert "the secret inside" in caplog.text


def test_a_broken_callback_tells_the_page_nothing_of_its_inside(client, desk, monkeypatch):
    monkeypatch.setattr(desk.station.queue, "judge", lambda *_: 1 / 0)
    body = {
        "output": "..forecast.data-painted...queue-grid.columnDefs...count-alert.children...count-review.children...count-clear.children..",
        "outputs": [{"id": "forecast", "property": "data-painted"}, {"id": "queue-grid", "property": "columnDefs"}]
        + [{"id": f"count-{name}", "property": "children"} for name in ("alert", "review", "clear")],
        "inputs": [{"id": name, "property": "data", "value": None} for name in ("settings", "stamp")],
        "state": [{"id": "queue-grid", "property": "columnDefs", "value": []}],
        "changedPropIds": ["settings.data"],
    }
    answer = client.post("/_dash-update-component", json=body)
    assert b"ZeroDivision" not in answer.data and b"Traceback" not in answer.data
    assert b"Something went wrong" in answer.data


def test_large_requests_are_refused(client):
    answer = client.post("/api/decide", data=b"x" * (2 << 20), content_type="application/json")
    assert answer.status_code in (400, 413)


def test_there_is_no_further_door(client):
    for path in ("/_mcp", "/_reload-hash", "/_dash-ws-callback", "/_alive_x", "/static/x", "/assets/../desk.py"):
        assert client.get(path).status_code in (200, 404)
        assert b"import" not in client.get(path).data
    assert client.post("/_mcp", json={}).status_code in (404, 405)
