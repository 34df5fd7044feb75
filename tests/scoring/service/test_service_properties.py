"""Whatever is sent to the service: an answer with finite numbers, or one line that says what is wrong. Never a 500."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import strategies as st
from properties import few_or_many, run_property

few_or_thousands = few_or_many(12, 3_000)
odd = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**40, 10**400, 1e308, -0.0, 5e-324]), st.text(max_size=5),
    st.sampled_from(["", " ", "nan", "NA", "1e400", "1,5", "2024-02-30", "9999-12-31T23:59:59Z", "=1+1", "\0", "\u202e", "x" * 5_000]),
)  # fmt: skip


@pytest.fixture(scope="module")
def columns(tables):
    return [list(table) for table in tables[0]]


def question(data, tables, columns):
    """A body that is nearly right: rows of the tables with some cells changed, added or taken away."""
    known = tables[0][0]["id"][:3]
    ids = st.one_of(st.sampled_from([*known, "new", "other", 7]), odd)

    def rows(names, ends):
        right = {name: data.draw(odd) for name in names if data.draw(st.integers(0, 9))}
        right |= {name: data.draw(ids) for name in ends if data.draw(st.integers(0, 9))}
        return right | data.draw(st.dictionaries(st.text(max_size=3), odd, max_size=1))

    body = {}
    if data.draw(st.booleans()):
        body["nodes"] = [rows(columns[0], ["id"]) for _ in range(data.draw(st.integers(0, 3)))]
    if data.draw(st.booleans()):
        body["edges"] = [rows(columns[1], ["source", "target"]) for _ in range(data.draw(st.integers(0, 3)))]
    return body, ids


def finite(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(finite, inner)) and (not isinstance(value, float) or math.isfinite(value))


@few_or_thousands
def test_bodies_that_are_nearly_right(examples, client, tables, columns):
    def asked(data):
        body, ids = question(data, tables, columns)
        path = data.draw(st.sampled_from(["/score", "/explain", "/triage"]))
        if path == "/score":
            body["ids"] = data.draw(st.lists(ids, max_size=2))
        if path == "/explain":
            body |= {"id": data.draw(ids), "top": data.draw(st.sampled_from([1, 10, 10**9, -1, "2", 1.5, None]))}
        if path == "/triage":
            body["cases"] = [
                {"id": data.draw(ids), "cost_miss": data.draw(odd)} for _ in range(data.draw(st.integers(0, 2)))
            ]
            body |= data.draw(
                st.dictionaries(st.sampled_from(["cost_alarm", "review_error", "budget", "?"]), odd, max_size=2)
            )
        answer = client.post(path, body)
        said = answer.json()
        assert answer.status in (200, 400, 422), (answer.status, said)
        assert finite(said) and (answer.status == 200 or "\n" not in said["error"])

    run_property(examples, asked, data=st.data())


@few_or_thousands
def test_any_bytes(examples, client):
    json_like = st.recursive(
        odd, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    )

    def asked(path, body):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = client.post(path, content)
        assert answer.status in (400, 422) and "\n" not in answer.json()["error"]

    paths = st.sampled_from(["/score", "/explain", "/triage"])
    run_property(examples, asked, path=paths, body=st.binary(max_size=30) | json_like)


@few_or_thousands
def test_any_address(examples, client, tables):
    known = st.sampled_from(tables[0][0]["id"][:2])
    names = st.one_of(
        known,
        st.text(max_size=6),
        st.sampled_from(["..", "../../etc/passwd", "%00", "a/b", "explain", "", "x" * 5_000]),
    )

    def asked(name, tail, top):
        answer = client.get(f"/nodes/{name.replace('?', '')}{tail}" + (f"?top={top}" if tail else ""))
        assert answer.status in (200, 400, 404, 422), answer.body
        said = answer.json()
        assert finite(said) and (answer.status == 200 or "\n" not in said["error"])

    tops = st.sampled_from(["1", "-1", "1001", "nan", "", "٣", "1e3", "9" * 30])
    run_property(examples, asked, name=names, tail=st.sampled_from(["", "/explain", "/explain/", "/"]), top=tops)


def test_rows_that_all_have_other_columns_take_no_memory(client):
    """Three thousand rows of five names each that no other row has: as a table they would have 45 million cells; and ten
    thousand rows of twenty-five, which a request has room for, two and a half thousand million."""
    rows = [{f"{row}.{k}": 1 for k in range(5)} for row in range(3_000)]
    answer = client.post("/score", {"nodes": rows})
    assert answer.status == 400 and "3,000 rows name 15,000 different columns" in answer.json()["error"]


@pytest.mark.parametrize("length", ["\u00b2", "9" * 5_000, "-1", "x"])
def test_a_length_that_is_no_length_is_no_crash(client, length):
    assert client.post("/score", {"ids": []}, content_length=length).status in (400, 413)
