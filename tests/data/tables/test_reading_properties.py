"""Whatever the tables hold: a graph that means what they say, or one of our errors."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import few_or_many, run_property

from calirare.data.graph import RareGraph
from calirare.data.tables.audit import audit_graph
from calirare.data.tables.reading import read_tables
from calirare.data.tables.shift import compare_with_fit
from calirare.errors import CalirareError

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*"))

few_or_thousands = few_or_many(12, 3000)


words = st.text(max_size=6)
numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.floats(-1e3, 1e3), st.integers(-(2**63), 2**63 - 1)
)
anything = st.one_of(
    st.none(), words, st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.dates(), st.datetimes(),
    st.binary(max_size=3), st.lists(st.integers(-5, 5), max_size=2),
)  # fmt: skip


def column(size):
    kinds = (words, numbers, st.booleans(), st.dates(), st.floats(-5, 5), st.integers(0, 3), anything)
    return st.one_of([st.lists(st.one_of(st.none(), kind), min_size=size, max_size=size) for kind in kinds])


@st.composite
def wild_tables(draw):
    size, num_edges = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    names = draw(st.lists(words, min_size=0, max_size=4, unique=True))
    nodes = {"id": draw(st.one_of(st.just(list(range(size))), column(size)))} if draw(st.integers(0, 9)) else {}
    nodes |= {name: draw(column(size)) for name in names}
    nodes["label"] = draw(
        st.one_of(st.lists(st.sampled_from(["yes", "no", None]), min_size=size, max_size=size), column(size))
    )
    ends = st.lists(st.one_of(st.integers(0, max(size - 1, 0)), anything), min_size=num_edges, max_size=num_edges)
    close = st.lists(st.integers(0, max(size - 1, 0)), min_size=num_edges, max_size=num_edges)
    edges = {"source": draw(st.one_of(close, ends)), "target": draw(st.one_of(close, ends))}
    if draw(st.booleans()):
        edges["weight"] = draw(column(num_edges))
    for name in draw(st.lists(words, max_size=3, unique=True)):
        edges.setdefault(name, draw(column(num_edges)))
    return nodes, edges


@st.composite
def wild_options(draw):
    """Options that may fit the tables or not."""
    names = st.one_of(st.none(), st.sampled_from(["weight", "source", "label", "id"]), words)
    options = {name: draw(names) for name in ("edge_type", "node_type", "time")}
    options |= {"directed": draw(st.booleans()), "drop_unknown_edges": draw(st.booleans())}
    return {name: value for name, value in options.items() if draw(st.booleans())}


def check(graph):
    assert isinstance(graph, RareGraph)
    values = graph.x.data if hasattr(graph.x, "indptr") else graph.x
    assert np.isfinite(values).all() and graph.x.shape == (graph.num_nodes, len(graph.feature_names))
    assert set(np.unique(graph.y)) <= {-1, 0, 1}
    assert np.unique(graph.ids).size == graph.num_nodes
    json.dumps(graph.schema, allow_nan=False)


@few_or_thousands
def test_wild_columns_give_a_graph_or_our_error(examples):
    rare = st.one_of(st.just("yes"), anything)
    run_property(
        examples, wild_columns, tables=wild_tables(), rare=rare, weighted=st.booleans(), options=wild_options()
    )


def wild_columns(tables, rare, weighted, options):
    nodes, edges = tables
    try:
        graph = read_tables(nodes, edges, label="label", rare=rare, weight="weight" if weighted else None, **options)
    except CalirareError as error:
        assert str(error)
        return
    check(graph)
    drop = {"drop_unknown_edges": True} if options.get("drop_unknown_edges") else {}
    again = read_tables(nodes, edges, schema=json.loads(json.dumps(graph.schema)), **drop)
    assert np.array_equal(np.asarray(again.x), np.asarray(graph.x))
    assert np.array_equal(again.y, graph.y) and again.schema == graph.schema
    for one, other in zip(again.edges.columns, graph.edges.columns, strict=True):
        assert (one.name, one.kind, one.categories) == (other.name, other.kind, other.categories)
        np.testing.assert_array_equal(one.values, other.values)
    assert again.edges.type_names == graph.edges.type_names and again.node_type_names == graph.node_type_names
    assert compare_with_fit(again).found == ()
    audit_graph(graph)


@few_or_thousands
def test_random_bytes_give_a_graph_or_our_error(examples, tmp_path):
    def random_bytes(content, suffix):
        path = tmp_path / f"nodes{suffix}"
        path.write_bytes(b"id,x,y\n1,2,1\n2,3,0\n" + content if suffix == ".csv" else content)
        graph_or_error(path)

    content = st.one_of(st.binary(max_size=200), st.text(alphabet="id,xy10\n\"'; é\t-.e", max_size=120).map(str.encode))
    suffix = st.sampled_from([".csv", ".tsv", ".parquet", ".arrow", ".csv.gz"])
    run_property(examples, random_bytes, content=content, suffix=suffix)


@few_or_thousands
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_damaged_binary_tables_give_a_graph_or_our_error(examples, suffix, tmp_path):
    path = tmp_path / f"nodes.{suffix}"
    frame = pl.DataFrame({"id": [1, 2, 3], "x": [0.5, None, 2.0], "c": ["a", "b", "a"], "y": [1, 0, None]})
    frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)
    whole = path.read_bytes()

    def damaged(changes):
        content = bytearray(whole)
        for place, value in changes:
            content[place] = value
        path.write_bytes(bytes(content))
        graph_or_error(path)

    change = st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255))
    run_property(examples, damaged, changes=st.lists(change, min_size=1, max_size=3))


def graph_or_error(nodes):
    try:
        graph = read_tables(nodes, {"source": [1], "target": [2]}, label="y", rare="1")
    except CalirareError as error:
        assert str(error)
        return
    check(graph)


@given(data=st.data(), size=st.integers(2, 7))
def test_edges_equal_a_slow_count(data, size):
    ends = st.integers(0, size - 1)
    rows = data.draw(st.lists(st.tuples(ends, ends, st.sampled_from([0.0, 0.5, 1.0, 2.0])), max_size=20))
    nodes = {"id": [f"n{k}" for k in range(size)], "x": range(size), "y": [k % 2 for k in range(size)]}
    edges = {
        "source": pl.Series([f"n{s}" for s, _, _ in rows], dtype=pl.String),
        "target": pl.Series([f"n{t}" for _, t, _ in rows], dtype=pl.String),
        "w": pl.Series([w for _, _, w in rows], dtype=pl.Float64),
    }
    graph = read_tables(nodes, edges, label="y", rare=1, weight="w")
    expected = {}
    for s, t, w in rows:
        if s != t and w:
            for pair in ((s, t), (t, s)):
                expected[pair] = expected.get(pair, 0.0) + w
    found = dict(zip(map(tuple, graph.edge_index.T.tolist()), graph.edge_weight.tolist(), strict=True))
    assert found == expected
    counts = graph.schema["read"]["edges"]
    assert counts["self_loops"] == sum(s == t for s, t, _ in rows)
    assert counts["edges"] == len(expected) // 2
    assert sum(counts[key] for key in ("edges", "duplicates", "self_loops", "zero_weights")) == len(rows)


@given(values=st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=2, max_size=12))
def test_numbers_are_standardised_and_imputed_as_documented(values):
    known = [value for value in values if value is not None]
    nodes = {
        "id": range(len(values)),
        "x": pl.Series(values, dtype=pl.Float64),
        "one": [1.0] * len(values),
        "y": [k % 2 for k in range(len(values))],
    }
    graph = read_tables(nodes, {"s": [0], "t": [1]}, label="y", rare=1)
    if not known:
        assert graph.feature_names == ("one",)
        return
    largest = np.abs(known).max() or 1.0  # divided out, as the squares of tiny numbers vanish
    scale = np.std(np.array(known) / largest) * largest
    scale = scale if scale > 1e-12 * largest else 1.0
    expected = [((np.median(known) if value is None else value) - np.mean(known)) / scale for value in values]
    assert np.allclose(graph.x[:, 0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_corpus_of_odd_files_gives_a_graph_or_our_error(path):
    edges = {"source": [1], "target": [2]}
    try:
        graph = read_tables(path, edges, label="y", rare="1")
    except CalirareError as error:
        assert path.name.startswith("bad"), error
        return
    assert path.name.startswith("good")
    check(graph)
