"""A graph cut into parts is the graph that `read_tables` gives."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import calirare as cr
from calirare.data.parts import partitioning
from calirare.data.parts.partitioning import partition_tables
from calirare.data.parts.shards import open_shards
from calirare.errors import CalirareError, ColumnError, InputError

SCHEMA = {
    "format": 1,
    "id": "id",
    "label": None,
    "edges": {"source": "source", "target": "target", "weight": None},
    "columns": [
        {"name": "age", "type": "numeric", "median": 3.0, "mean": 1.0, "scale": 2.0, "indicator": True},
        {"name": "kind", "type": "categorical", "categories": ["a", "b"], "indicator": False},
        {"name": "note", "type": "ignore", "reason": "free text"},
    ],
    "sparse": False,
}


def whole(parts):
    """The adjacency matrix that the parts make up."""
    blocks = []
    for place in range(len(parts)):
        part = parts.part(place)
        columns = np.concatenate([np.arange(part.start, part.stop), part.halo])
        pairs = part.adjacency.tocoo()
        blocks.append(sp.coo_array((pairs.data, (pairs.row, columns[pairs.col])), (part.num_nodes, parts.num_nodes)))
    return sp.vstack(blocks).toarray()


def write(folder, nodes, edges):
    nodes.write_parquet(folder / "nodes.parquet")
    edges.write_parquet(folder / "edges.parquet")
    return folder / "nodes.parquet", folder / "edges.parquet"


def nodes_of(ids):
    """Nodes with gaps and with a category that the schema does not know."""
    places = range(len(ids))
    ages = pl.Series([None if k % 3 == 2 else float(k) for k in places], dtype=pl.Float64)
    kinds = pl.Series([("a", "b", "c", None)[k % 4] for k in places], dtype=pl.String)
    return pl.DataFrame({"id": ids, "age": ages, "kind": kinds})


@st.composite
def tables(draw):
    size = draw(st.integers(1, 12))
    kind = draw(st.sampled_from(["near", "far", "text"]))
    numbers = draw(st.permutations(range(size)))
    ids = {"near": lambda k: k + 5, "far": lambda k: k * 1_000_003, "text": lambda k: f"n{k}"}[kind]
    ends = st.integers(0, size - 1)
    rows = draw(st.lists(st.tuples(ends, ends, st.sampled_from([0.0, 0.25, 1.0, 3.0])), max_size=30))
    edges = {
        "source": [ids(row[0]) for row in rows],
        "target": [ids(row[1]) for row in rows],
        "amount": [row[2] for row in rows],
    }
    types = {"source": pl.String if kind == "text" else pl.Int64, "target": pl.String if kind == "text" else pl.Int64}
    return nodes_of([ids(k) for k in numbers]), pl.DataFrame(edges, schema_overrides=types | {"amount": pl.Float64})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables=tables(), partitions=st.integers(1, 5), weighted=st.booleans(), batch=st.integers(1, 20))
def test_the_parts_are_the_graph(tmp_path_factory, tables, partitions, weighted, batch):
    folder = tmp_path_factory.mktemp("parts")
    paths = write(folder, *tables)
    names = {"weight": "amount"} if weighted else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitioning, "NODE_ROWS", batch)
        patch.setattr(partitioning, "EDGE_ROWS", batch)
        parts = partition_tables(*paths, SCHEMA, folder, partitions=partitions, options=names)
    graph = cr.read_tables(*paths, schema=SCHEMA, **names)
    adjacency = graph.adjacency().toarray()
    assert len(parts) <= partitions and parts.num_nodes == graph.num_nodes
    assert (whole(parts) == adjacency).all()
    degree = np.concatenate([parts.part(k).degree[: parts.part(k).num_nodes] for k in range(len(parts))])
    np.testing.assert_allclose(degree, adjacency.sum(axis=1, dtype=np.float64), rtol=1e-12)
    for place in range(len(parts)):
        part = parts.part(place)
        np.testing.assert_array_equal(part.degree[part.num_nodes :], degree[part.halo])
        rows = np.concatenate([np.arange(part.start, part.stop), part.halo])
        np.testing.assert_array_equal(part.take(parts.features), graph.x[rows])
    assert [one for k in range(len(parts)) for one in parts.ids(k)] == graph.ids.tolist()
    assert parts.read == graph.schema["read"]


def test_sparse_features(tmp_path):
    paths = write(tmp_path, nodes_of(list(range(9))), pl.DataFrame({"source": [0, 5, 8], "target": [8, 2, 1]}))
    schema = {**SCHEMA, "sparse": True}
    parts = partition_tables(*paths, schema, tmp_path, partitions=3)
    graph = cr.read_tables(*paths, schema=schema)
    part = parts.part(2)
    rows = np.concatenate([np.arange(part.start, part.stop), part.halo])
    assert (part.take(parts.features) != graph.x[rows]).nnz == 0


def test_parts_are_as_many_as_the_edges_ask_for(tmp_path):
    rng = np.random.default_rng(0)
    edges = pl.DataFrame(rng.integers(0, 200, size=(3_000, 2)), schema=["source", "target"])
    paths = write(tmp_path, nodes_of(list(range(200))), edges)
    parts = partition_tables(*paths, SCHEMA, tmp_path, edges_per_part=1_000)
    assert len(parts) == 8  # (2 · 3,000 + 8 · 200) / 1,000, and the loops make no difference
    sizes = [parts.part(place).adjacency.nnz for place in range(8)]
    assert max(sizes) < 1.5 * min(sizes)


@pytest.mark.parametrize(
    ("nodes", "edges", "names", "says", "kind"),
    [
        (
            {"id": [1, 1, 2], "age": [1.0, 2.0, 3.0]},
            {"source": [1], "target": [2]},
            {},
            "1 id appears more than once",
            InputError,
        ),
        ({"id": [1, None, 2]}, {"source": [1], "target": [2]}, {}, "1 ids are missing", InputError),
        ({"id": [1, 2, 3]}, {"source": [1], "target": [9]}, {}, r"not in column 'id', first: \[9\]", InputError),
        ({"id": [1, 2, 3]}, {"source": [1], "target": [0]}, {}, r"not in column 'id', first: \[0\]", InputError),
        ({"id": [1, 2, 5]}, {"source": [1], "target": [3]}, {}, r"not in column 'id', first: \[3\]", InputError),
        ({"id": [1, 2, 3]}, {"source": [1], "target": [2]}, {"source": "form"}, "source must be a column", ColumnError),
        ({"id": [1, 2, 3]}, {"source": [1], "target": [2], "w": [-1.0]}, {"weight": "w"}, "not negative", InputError),
        (
            {"id": [1, 2, 3], "age": ["x", "y", "z"]},
            {"source": [1], "target": [2]},
            {},
            "must hold numbers",
            InputError,
        ),
        ({"id": []}, {"source": [1], "target": [2]}, {}, "at least one row", InputError),
    ],
)
def test_mistakes_have_the_messages_of_read_tables(tmp_path, nodes, edges, names, says, kind):
    frame = pl.DataFrame({"age": [1.0] * len(nodes["id"]), "kind": ["a"] * len(nodes["id"])} | nodes, strict=False)
    paths = write(tmp_path, frame.cast({"kind": pl.String}), pl.DataFrame(edges))
    for function in (
        lambda: partition_tables(*paths, SCHEMA, tmp_path, options=names),
        lambda: cr.read_tables(*paths, schema=SCHEMA, **names),
    ):
        with pytest.raises(CalirareError, match=says) as caught:
            function()
        assert type(caught.value) is kind


def test_a_missing_feature_column_is_named(tmp_path):
    paths = write(tmp_path, nodes_of([1, 2]).drop("age"), pl.DataFrame({"source": [1], "target": [2]}))
    with pytest.raises(ColumnError, match="age"):
        partition_tables(*paths, SCHEMA, tmp_path)


def test_messages_name_the_rows_of_their_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(partitioning, "EDGE_ROWS", 2)
    edges = pl.DataFrame({"source": [1, 1, 2, 2, 9], "target": [2, 2, 1, 1, 1]})
    paths = write(tmp_path, nodes_of([1, 2]), edges)
    assert open_shards(paths[1], "edges").num_rows == 5
    with pytest.raises(InputError, match="rows 5 to 5 of the edges: "):
        partition_tables(*paths, SCHEMA, tmp_path)
