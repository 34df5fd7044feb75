"""Addresses are read by what others share, never by whom they name."""

from __future__ import annotations

import ipaddress

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calirare as cr
from calirare.data.tables.cells.addresses import CODE, HOST, MAIL, are_codes, form_of, parts_of
from calirare.errors import InputError

LABELS = {"label": "bad", "rare": "yes"}


def tables(seed=0, size=600):
    rng = np.random.default_rng(seed)
    bad = rng.random(size) < 0.2
    nodes = pl.DataFrame(
        {
            "id": [f"n{k}" for k in range(size)],
            "mail": [f"Kim{k}.Lee@{'top.io' if b else 'post.org'}" for k, b in enumerate(bad)],
            "host": [f"{185 if b else 10}.{k % 7}.{k % 251}.{k % 241}" for k, b in enumerate(bad)],
            "bad": [("yes" if b else "no") if rng.random() < 0.6 else None for b in bad],
        }
    )
    ends = rng.integers(0, size, (2, 1_500))
    edges = {
        "source": [f"n{k}" for k in ends[0]],
        "target": [f"n{k}" for k in ends[1]],
        "client": [f"{185 if bad[k] else 10}.1.{row % 251}.{row % 241}" for row, k in enumerate(ends[0])],
    }
    return nodes, edges, bad


@given(st.integers(0, 2**32 - 1), st.sampled_from(["", ":8080", "/24"]))
def test_parts_of_a_host_are_its_networks(number, tail):
    """Against Python's own reading: an address lies in the networks that its parts name."""
    address = ipaddress.IPv4Address(number)
    texts = pl.Series([f"{address}{tail}"])
    (parts,) = parts_of(texts, HOST).to_list()
    assert form_of(texts) == HOST and len(parts) == 3
    for length, part in zip((8, 16, 24), parts, strict=True):
        zeros = part.removesuffix("*") + ".".join(["0"] * (4 - length // 8))
        assert address in ipaddress.ip_network(f"{zeros}/{length}")


@given(st.text("abcxyz._-", min_size=1, max_size=12), st.integers(0, 10**6))
def test_no_part_of_a_mail_tells_whose_it_is(name, number):
    (parts,) = parts_of(pl.Series([f"{name}{number}@mail.example.org"]), MAIL).to_list()
    many = ["4 digits"] if number > 999 else []
    assert parts == ["@mail.example.org", ".org", "a digit", *many]


def codes(seed=0, size=2_000):
    """By what they are: texts that begin as their batch, region, bank or town does; and those whose beginnings say nothing."""
    rng = np.random.default_rng(seed)
    number, batch = rng.permutation(size), rng.choice(60, size)
    hexadecimal = rng.choice(256, 60, replace=False)
    town = rng.choice(90, size, p=(p := rng.lognormal(0, 0.8, 90)) / p.sum())
    told = {
        "batches": [f"SN-{hexadecimal[b]:02X}-{k:06d}" for b, k in zip(batch, number, strict=True)],
        "towns": [f"{t + 10}{k % 814:03d}" for t, k in zip(town, number, strict=True)],
        "phones": [f"+49{a}{rng.integers(10**6, 10**7)}" for a in rng.choice([151, 160, 170, 30, 40, 89], size)],
    }
    silent = {
        "running": [f"C-{k:05d}" for k in number],
        "running, of all lengths": [f"C-{k}" for k in number],
        "random": [rng.bytes(8).hex() for _ in number],
        "a range": [f"K{k:06d}" for k in rng.integers(120_000, 873_000, size)],
        "plates": [f"{''.join(rng.choice(list('ABCDEFGHJKLMNP'), 3))}-{k}" for k in rng.integers(100, 999, size)],
    }
    return told, silent


def test_codes_are_told_from_random_and_running_numbers():
    for seed in range(5):
        told, silent = codes(seed)
        assert all(are_codes(pl.Series(texts)) for texts in told.values())
        assert [name for name, texts in silent.items() if are_codes(pl.Series(texts))] == []


def test_parts_of_a_code_are_its_beginnings():
    told, _ = codes()
    for texts in told.values():
        for text, parts in zip(texts[:50], parts_of(pl.Series(texts[:50]), CODE).to_list(), strict=True):
            begun = [text.lower()[:k] for k in range(1, 9) if text[k - 1 : k].isalnum()]
            assert parts == [f"{one}*" for one in begun if len(one) < len(text)]


def test_columns_of_codes():
    nodes, edges, _ = tables()
    rng = np.random.default_rng(0)
    batch = rng.choice(["4F", "07", "C2", "99", "1B"], nodes.height, p=[0.4, 0.3, 0.2, 0.06, 0.04])
    serial = [f"SN-{b}-{k:06d}" for b, k in zip(batch, rng.choice(10**6, nodes.height, replace=False), strict=True)]
    graph = cr.read_tables(nodes.with_columns(serial=pl.Series(serial)), edges, **LABELS)
    has = graph.x[:, graph.feature_names.index("serial has sn-4f*")] > 0
    np.testing.assert_array_equal(np.asarray(has).ravel(), batch == "4F")


def test_columns_of_addresses():
    nodes, edges, bad = tables()
    graph = cr.read_tables(nodes, edges, **LABELS)
    names = set(graph.feature_names)
    assert {"mail has @top.io", "mail has .io", "host has 185.*", "host has 185.3.*"} <= names
    assert not any("kim" in name.lower() for name in names)
    has = graph.x[:, graph.feature_names.index("host has 185.*")] > 0
    np.testing.assert_array_equal(np.asarray(has).ravel(), bad)
    (client,) = graph.edges.columns
    assert client.kind == "text" and any(word.startswith("185.") for word in client.categories)


def test_what_nobody_shares_is_left_out_with_a_word():
    nodes, edges, _ = tables()
    alone = nodes.with_columns(mail=pl.Series([f"kim@kim{k}.org" for k in range(nodes.height)]))
    (column,) = (one for one in cr.read_tables(alone, edges, **LABELS).schema["columns"] if one["name"] == "mail")
    assert (column["type"], column["reason"]) == ("ignore", "addresses of mail without a domain that comes again")


def test_a_form_that_nobody_knows_is_refused():
    nodes, edges, _ = tables()
    schema = cr.read_tables(nodes, edges, **LABELS).schema
    schema = {**schema, "columns": [{**column, "form": "post"} for column in schema["columns"]]}
    with pytest.raises(InputError, match="wrong type"):
        cr.read_tables(nodes, edges, schema=schema)
