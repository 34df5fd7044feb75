"""Every shape of tables that `read_tables` takes gives the same graph in parts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import calirare as cr
from calirare.data.parts import partitioning
from calirare.data.parts.node_reading import UNLABELLED, WANTED
from calirare.data.parts.partitioning import partition_tables
from calirare.data.parts.table_stream import TableStream
from calirare.errors import CalirareError

USERS, DEVICES = 40, 15


@pytest.fixture(scope="module")
def frames():
    """Users and devices; who pays whom, and who uses what; the ids of both kinds are numbers from 0."""
    rng = np.random.default_rng(0)
    label = np.where(rng.random(USERS) < 0.3, "yes", "no").astype(object)
    label[rng.random(USERS) < 0.3] = None
    label[:2] = ["yes", "no"]
    users = pl.DataFrame(
        {
            "user_id": np.arange(USERS),
            "age": [f"{age} %" for age in rng.integers(18, 80, USERS)],
            "bad": pl.Series(label, dtype=pl.String),
        }
    )
    devices = pl.DataFrame({"device_id": np.arange(DEVICES), "make": rng.choice(["a", "b"], DEVICES)})
    pays = pl.DataFrame(
        {
            "sender": rng.integers(0, USERS, 150),
            "receiver": rng.integers(0, USERS, 150),
            "amount": [f"€ {value:.2f}".replace(".", ",") for value in rng.gamma(2.0, 30.0, 150)],
            "kind": rng.choice(["wire", "card", None], 150),
            "hours": rng.gamma(2.0, 1.0, 150),
        }
    )
    uses = pl.DataFrame(
        {
            "user_id": rng.integers(0, USERS, 90),
            "device_id": rng.integers(0, DEVICES, 90),
            "hours": rng.integers(1, 9, 90),
        }
    )
    return {"users": users, "devices": devices, "pays": pays, "uses": uses}


def typed(frames):
    """Both kinds in one table, with names of their own."""
    users = frames["users"].select(
        id="u" + pl.col("user_id").cast(pl.String), age="age", bad="bad", what=pl.lit("user")
    )
    devices = frames["devices"].select(id="d" + pl.col("device_id").cast(pl.String), what=pl.lit("device"))
    uses = frames["uses"].select(
        source="u" + pl.col("user_id").cast(pl.String), target="d" + pl.col("device_id").cast(pl.String), hours="hours"
    )
    return pl.concat([users, devices], how="diagonal"), uses


def foreign(frames):
    """Payments of which some ends are nowhere."""
    return frames["pays"].with_columns(receiver=pl.col("receiver") + 5)


def named(frames):
    """Users and devices with ids that differ."""
    devices = frames["devices"].with_columns(device_id=pl.col("device_id") + 1_000)
    uses = frames["uses"].with_columns(device_id=pl.col("device_id") + 1_000)
    return {"users": frames["users"], "devices": devices}, {"pays": frames["pays"], "uses": uses}


def shared(size):
    """Phones, of which some are used by several, and one is not known."""
    return pl.Series([None, "unknown", *(f"+49 {k // 2}" for k in range(size - 2))])


LABELS = {"label": "bad", "rare": "yes"}
SHAPES = {
    "types of edge in a column": (lambda f: (f["users"], f["pays"]), {"edge_type": "kind"}, {}),
    "ends of an edge that do not differ": (lambda f: (f["users"], f["pays"]), {}, {"directed": False}),
    "weights and a time": (
        lambda f: (f["users"], f["pays"]),
        {"weight": "hours", "time": "hours"},
        {"weight": "hours"},
    ),
    "ends that are nowhere": (
        lambda f: (f["users"], foreign(f)),
        {"drop_unknown_edges": True},
        {"drop_unknown_edges": True},
    ),
    "ends that are nowhere, kept": (lambda f: (f["users"], foreign(f)), {"keep_unknown_edges": True}, {}),
    "a kind that only the edges name, and ends that are nowhere": (
        lambda f: (f["users"].head(30), f["uses"]),
        {"bipartite": True, "keep_unknown_edges": True},
        {},
    ),
    "kinds in a column": (typed, {"node_type": "what"}, {}),
    "kinds and types in tables": (named, {}, {}),
    "kinds in tables that share ids": (
        lambda f: ({"users": f["users"], "devices": f["devices"]}, {"uses": f["uses"]}),
        {},
        {},
    ),
    "a kind that only the edges name": (lambda f: (f["users"], f["uses"]), {"bipartite": True}, {}),
    "a column that names what several share": (
        lambda f: (f["users"].with_columns(phone=shared(USERS)), f["pays"]),
        {"same": ["phone"]},
        {},
    ),
    "such columns, and no edges": (
        lambda f: (f["users"].with_columns(phone=shared(USERS), card_id=pl.lit(7)), None),
        {"same": ["phone", "card_id"]},
        {},
    ),
    "types of edge in tables, one to a kind that only it names": (
        lambda f: (f["users"], named(f)[1]),
        {},
        {},
    ),
}


def compare(parts, graph):
    """The parts hold the graph."""
    everywhere = range(len(parts))
    assert [one for k in everywhere for one in parts.ids(k)] == graph.ids.tolist()
    assert parts.read == graph.schema["read"]
    np.testing.assert_array_equal(parts.features.read(0, parts.num_nodes), graph.x)
    np.testing.assert_array_equal(np.flatnonzero(parts.marked(WANTED)), graph.scored)
    np.testing.assert_array_equal(parts.marked(UNLABELLED), graph.y < 0)
    kinds = (
        [name for k in everywhere for name in np.array(parts.kind_names)[parts.kinds_of(k)["node_type"]]]
        if parts.kinds
        else None
    )
    assert kinds == (None if graph.node_type is None else np.array(graph.node_type_names)[graph.node_type].tolist())
    found = {}
    for k in everywhere:
        part, rows = parts.part(k), parts.rows(k)
        mine = ((graph.edges.source >= part.start) & (graph.edges.source < part.stop)) | (
            (graph.edges.target >= part.start) & (graph.edges.target < part.stop)
        )
        want = graph.edges.take(mine)
        assert rows.directed == want.directed and (rows.type is None) == (want.type is None)
        np.testing.assert_array_equal([rows.source, rows.target], [want.source, want.target])
        if want.type is not None:
            assert [rows.type_names[one] for one in rows.type] == [want.type_names[one] for one in want.type]
        for mine, other in zip(rows.columns, want.columns, strict=True):
            assert mine.name == other.name
            np.testing.assert_array_equal(mine.values, other.values)
        near = np.concatenate([np.arange(part.start, part.stop), part.halo])
        pairs = part.adjacency.tocoo()
        ends = zip((pairs.row + part.start).tolist(), near[pairs.col].tolist(), strict=True)
        found |= dict(zip(ends, pairs.data.tolist(), strict=True))
    weight = np.ones(graph.edge_index.shape[1]) if graph.edge_weight is None else graph.edge_weight
    assert found == pytest.approx(dict(zip(zip(*graph.edge_index.tolist(), strict=True), weight.tolist(), strict=True)))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_graph_in_parts_is_that_of_the_tables(frames, shape, tmp_path, monkeypatch):
    tables, at_fit, later = SHAPES[shape]
    nodes, edges = tables(frames)
    schema = cr.read_tables(nodes, edges, **LABELS, **at_fit).schema
    monkeypatch.setattr(partitioning, "NODE_ROWS", 17)
    monkeypatch.setattr(partitioning, "EDGE_ROWS", 23)
    parts = partition_tables(nodes, edges, schema, tmp_path, partitions=3, rows=True, options=later)
    compare(parts, cr.read_tables(nodes, edges, schema=schema, **later))


@pytest.mark.parametrize("apart", [False, True])
def test_nodes_that_only_edges_and_labels_name(frames, apart, tmp_path, monkeypatch):
    labels = frames["users"].select("user_id", "bad")
    edges = (
        frames["uses"] if apart else frames["pays"].select("sender", "receiver", "hours").filter(pl.col("sender") > 9)
    )
    options = {"bipartite": True} if apart else {}
    schema = cr.read_tables(None, edges, labels=labels, **LABELS, **options).schema
    monkeypatch.setattr(partitioning, "EDGE_ROWS", 23)
    for later in ({}, {"labels": labels}):
        folder = tmp_path / str(len(later))
        folder.mkdir()
        parts = partition_tables(None, edges, schema, folder, partitions=3, rows=True, options=later)
        compare(parts, cr.read_tables(None, edges, schema=schema, **later))


def test_tables_that_are_called_otherwise_now_keep_their_kinds_and_types(frames, tmp_path):
    nodes, edges = named(frames)
    schema = cr.read_tables(nodes, edges, **LABELS).schema
    later = {f"{name} of May": table for name, table in nodes.items()}, dict(zip("ab", edges.values(), strict=True))
    graph = cr.read_tables(*later, schema=schema)
    assert graph.node_type_names == ("users", "devices") and graph.edges.type_names == ("pays", "uses")
    assert graph.scored.tolist() == list(range(USERS))
    compare(partition_tables(*later, schema, tmp_path, partitions=2, rows=True), graph)


def test_files_of_any_kind(frames, tmp_path):
    schema = cr.read_tables(frames["users"], frames["pays"], **LABELS).schema
    frames["users"].write_csv(tmp_path / "users.csv", separator=";")
    frames["pays"].write_parquet(tmp_path / "pays.parquet")
    tables = tmp_path / "users.csv", tmp_path / "pays.parquet"
    compare(
        partition_tables(*tables, schema, tmp_path, partitions=2, rows=True), cr.read_tables(*tables, schema=schema)
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"weight": "wieght"}, "weight must be a column of the edges"),
        ({"time": "whem"}, "time must be a column"),
        ({"label": "bda"}, "label must be a column of the nodes"),
        ({"node_type": "what"}, "node_type must be a column"),
        ({"edge_type": "knid"}, "edge_type must be a column"),
        ({"id": "usr"}, "id must be a column"),
    ],
)
def test_mistakes_are_told_before_anything_is_read(frames, options, says):
    schema = cr.read_tables(frames["users"], frames["pays"], **LABELS).schema
    for read in (
        lambda: TableStream.open(frames["users"], frames["pays"], schema, options),
        lambda: cr.read_tables(frames["users"], frames["pays"], schema=schema, **options),
    ):
        with pytest.raises(CalirareError, match=says):
            read()
