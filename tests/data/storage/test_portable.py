"""Portable files: what goes in comes out, and files from strangers are refused before anything runs."""

import io
import json
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from edge_cases import odd_table, typed_graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.data.storage import memory
from calirare.data.storage.archive import read_arrays, write_arrays
from calirare.data.synthetic import make_transactions
from calirare.errors import DataError

FOLDER = Path(os.environ.get("CALIRARE_DATA") or Path(__file__).parents[3].parent / "shared" / "data")


def same(a, b):
    if a is None or b is None:
        return a is b
    if sp.issparse(a):
        return sp.issparse(b) and a.shape == b.shape and (a != b).nnz == 0
    return np.array_equal(np.asarray(a), np.asarray(b))


def small_graph(**options):
    defaults = {
        "x": sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])),
        "edge_index": np.array([[0, 1], [1, 2]]),
        "y": np.array([2, 0, -1]),
        "rare_class": 2,
        "class_names": ("x", "y", "zé"),
        "edge_weight": np.array([0.5, 2.0]),
        "node_ids": np.array(["a", "ü", "長い名前"], dtype=object),
        "feature_names": ("f", "g"),
        "original_y": np.array([5, 3, 3]),
        "public_split": Split(train=np.array([0]), val=np.array([1])),
        "schema": {"format": 1, "columns": [{"name": "é", "mean": 0.1}]},
        "name": "small",
    }
    return RareGraph(**(defaults | options))


@pytest.mark.parametrize(
    "graph", [small_graph(), make_transactions(50, seed=0), small_graph(x=np.eye(3)[:, :2]), typed_graph()]
)
def test_everything_survives_the_round_trip(graph, tmp_path):
    graph.save(tmp_path / "graph.npz")
    again = RareGraph.load(tmp_path / "graph.npz")
    for name in ("x", "edge_index", "y", "edge_weight", "node_ids", "original_y", "true_probability", "node_type"):
        assert same(getattr(graph, name), getattr(again, name)), name
    for name in ("rare_class", "class_names", "feature_names", "schema", "name", "node_type_names"):
        assert getattr(graph, name) == getattr(again, name), name
    if graph.public_split is not None:
        for part in ("train", "val", "test"):
            assert same(getattr(graph.public_split, part), getattr(again.public_split, part))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("num_edges", [0, 20])
def test_edges_survive_the_round_trip(directed, typed, num_edges, tmp_path):
    table = odd_table(num_edges=num_edges, directed=directed, typed=typed)
    graph = RareGraph(x=np.zeros((12, 0)), edge_index=np.zeros((2, 0), int), y=np.zeros(12, int), edges=table)
    graph.save(tmp_path / "graph.npz")
    again = RareGraph.load(tmp_path / "graph.npz").edges
    for name in ("source", "target", "type"):
        assert same(getattr(table, name), getattr(again, name)), name
    assert (table.directed, table.type_names) == (again.directed, again.type_names)
    for one, other in zip(table.columns, again.columns, strict=True):
        assert (one.name, one.kind, one.categories) == (other.name, other.kind, other.categories)
        np.testing.assert_array_equal(one.values, other.values)
        assert one.values.dtype == other.values.dtype


def test_edges_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "graph.npz"
    typed_graph().save(path)
    good = read_arrays(path)

    def said(**changes):
        told = json.loads(good["edges_columns"].tobytes().decode()) | changes
        return {"edges_columns": np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)}

    changes = {
        "edges.source must name nodes": {"edges_ends": good["edges_ends"] + 100},
        "one value per edge": {"edges_numbers": good["edges_numbers"][:, 1:]},
        "'value' has no values": {"edges_numbers": good["edges_numbers"][:0]},
        "lacks 'edges_codes'": {"edges_codes": None},
        "type must hold": {"edges_type": good["edges_type"] + 5},
        "node_type must hold": {"node_type": good["node_type"] - 1},
        "kind must be": said(columns=[{"name": "value", "kind": "pickle", "categories": []}]),
        "lacks 'columns'": {"edges_columns": np.frombuffer(b"{}", dtype=np.uint8)},
    }
    for message, change in changes.items():
        write_arrays(path, {name: array for name, array in (good | change).items() if array is not None})
        with pytest.raises(DataError, match=message):
            RareGraph.load(path)


def test_the_same_graph_gives_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        small_graph().save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.datasets
@pytest.mark.skipif(
    not (FOLDER / "citeseer.npz").exists(), reason="no benchmark graphs in CALIRARE_DATA or ../shared/data"
)
def test_the_plain_layout_is_read():
    graph = RareGraph.load(FOLDER / "citeseer.npz")
    assert (graph.num_nodes, graph.num_classes, graph.known.size, graph.rare_class) == (3327, 6, 3312, 0)
    assert RareGraph.load(FOLDER / "citeseer.npz", rare_class=5).rare_class == 5
    assert graph.public_split.test.size == 1000 and sp.issparse(graph.x)


class Trap:
    """Unpickling this leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("key", ["y", "node_ids", "extra"])
def test_a_planted_pickle_is_refused_and_not_run(key, tmp_path):
    small_graph().save(tmp_path / "graph.npz")
    arrays = read_arrays(tmp_path / "graph.npz")
    arrays[key] = np.array([Trap(tmp_path / "sprung")] * 3, dtype=object)
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(DataError, match="pickle"):
        RareGraph.load(tmp_path / "graph.npz")
    (tmp_path / "plain.npz").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(DataError, match="not an .npz"):
        RareGraph.load(tmp_path / "plain.npz")
    assert not (tmp_path / "sprung").exists()


def member(content, dtype="<f4", shape=(4,)):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": dtype, "fortran_order": False, "shape": shape})
    return head.getvalue() + content


def write_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_bombs_are_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "bomb.npz"
    write_zip(path, {"x.npy": member(bytes(2**22), shape=(2**20,))})
    with pytest.raises(DataError, match=r"would take 4,194,\d+ bytes"):
        RareGraph.load(path, max_bytes=2**20)
    write_zip(path, {"x.npy": member(b"abcd", shape=(2**50,))})  # a header that claims a petabyte
    with pytest.raises(DataError, match="truncated or altered"):
        RareGraph.load(path)
    write_zip(path, {"x.npy": member(bytes(16))}, zipfile.ZIP_LZMA)
    with pytest.raises(DataError, match="unusual compression"):
        RareGraph.load(path)
    write_zip(path, {f"a{k}.npy": member(bytes(16)) for k in range(300)})
    with pytest.raises(DataError, match="300 arrays"):
        RareGraph.load(path)


def test_a_header_that_lies_costs_no_memory(tmp_path, monkeypatch):
    """Neither what the zip holds beyond the header's claim, nor the claim, nor more than is free is ever taken."""
    path, size = tmp_path / "lie.npz", 2**23
    for shape in ((4,), (2**40,), (-4,), (-2, -2)):
        write_zip(path, {"x.npy": member(bytes(size), shape=shape)})
        tracemalloc.start()
        with pytest.raises(DataError, match="truncated or altered"):
            read_arrays(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < size / 4, shape
    write_zip(path, {"x.npy": member(bytes(size), shape=(size // 4,))})
    monkeypatch.setattr(memory, "available_memory", lambda: size)
    with pytest.raises(DataError, match=r"would take 8,388,\d+ bytes when unpacked, and 6,710,886 are free"):
        read_arrays(path)
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * size)
    tracemalloc.start()
    assert read_arrays(path)["x"].shape == (size // 4,)
    assert tracemalloc.get_traced_memory()[1] < 1.5 * size  # the array and a chunk, not a second copy
    tracemalloc.stop()
    for dtype in ("<U0", "|S0", "|V0"):
        for length in (3, 10**13):
            write_zip(path, {"x.npy": member(b"", dtype, (length,))})
            with pytest.raises(DataError, match="truncated or altered"):
                read_arrays(path)


@pytest.mark.parametrize("name", ["../x.npy", "/etc/x.npy", "a\\..\\x.npy", "x.txt", "x.pkl"])
def test_foreign_paths_and_members_are_refused(name, tmp_path):
    write_zip(tmp_path / "graph.npz", {name: member(bytes(16))})
    with pytest.raises(DataError, match="only arrays"):
        RareGraph.load(tmp_path / "graph.npz")


def test_what_is_no_graph_is_said(tmp_path):
    path = tmp_path / "graph.npz"
    with pytest.raises(DataError, match="does not exist"):
        RareGraph.load(path)
    with pytest.raises(DataError, match="cannot be read"):
        RareGraph.load(tmp_path)
    small_graph().save(path)
    good = read_arrays(path)
    changes = {
        "lacks 'y'": {"y": None},
        "edge_index must name nodes": {"edge_index": np.array([[0], [9]])},
        "y must hold one integer": {"y": np.zeros(3)},
        "indices must be < 2": {"x_indices": np.array([0, 7], dtype=np.int32)},
        "newer": {"format": np.array(99)},
        "Expecting": {"schema": np.frombuffer(b"{oops", dtype=np.uint8)},
        "disjoint": {"val_mask": np.ones(3, dtype=bool)},
        "finite": {"x_data": np.array([1, np.nan], dtype=np.float32)},
    }
    for message, change in changes.items():
        write_arrays(path, {name: array for name, array in (good | change).items() if array is not None})
        with pytest.raises(DataError, match=message):
            RareGraph.load(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_give_a_graph_or_our_error(data, tmp_path):
    path = tmp_path / "graph.npz"
    data.draw(st.sampled_from([small_graph, typed_graph]))().save(path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    try:
        graph = RareGraph.load(path)
    except DataError:
        return
    assert isinstance(graph, RareGraph)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    small_graph().save(path)
    before = path.read_bytes()

    def fail(stream, **arrays):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(DataError, match="cannot be written: No space left"):
        make_transactions(20).save(path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["graph.npz"]


def test_what_cannot_be_stored_or_guessed_is_said(tmp_path):
    with pytest.raises(DataError, match="holds Python objects"):
        write_arrays(tmp_path / "a.npz", {"a": np.array([object()])})
    write_arrays(tmp_path / "b.npz", {"x": np.eye(2), "y": np.full(2, -1), "edge_index": np.zeros((2, 0), dtype=int)})
    with pytest.raises(DataError, match="no node has a label; pass rare_class"):
        RareGraph.load(tmp_path / "b.npz")
    assert RareGraph.load(tmp_path / "b.npz", rare_class=1).known.size == 0
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("y.npy", member(bytes(16)))
        archive.writestr("y.npy", member(bytes(16)))
    with pytest.raises(DataError, match="two arrays of the same name"):
        RareGraph.load(tmp_path / "c.npz")


def test_edges_as_they_came_survive(tmp_path):
    columns = (
        EdgeColumn("amount", "number", np.array([1.5, np.nan, -2.0])),
        EdgeColumn("channel", "category", np.array([1, -1, 0]), ("app", "card")),
        EdgeColumn("when", "time", np.array([0.0, 1e9, np.nan])),
    )
    edges = EdgeTable([0, 0, 1], [1, 1, 1], columns, directed=False, type=[0, 1, 0], type_names=("pays", "calls"))
    graph = RareGraph(
        x=np.zeros((2, 0)), edge_index=np.array([[0], [1]]), y=np.array([0, 1]), edges=edges,
        node_type=np.array([0, 1]), node_type_names=("shop", "user"), node_time=np.array([1.0, np.nan]),
    )  # fmt: skip
    graph.save(tmp_path / "graph.npz")
    again = RareGraph.load(tmp_path / "graph.npz")
    assert again.x.shape == (2, 0) and again.node_type_names == ("shop", "user")
    np.testing.assert_array_equal(again.node_time, graph.node_time)
    np.testing.assert_array_equal(again.node_type, graph.node_type)
    assert (again.edges.directed, again.edges.type_names) == (False, ("pays", "calls"))
    for name in ("source", "target", "type"):
        np.testing.assert_array_equal(getattr(again.edges, name), getattr(edges, name))
    for one, other in zip(again.edges.columns, columns, strict=True):
        assert (one.name, one.kind, one.categories) == (other.name, other.kind, other.categories)
        np.testing.assert_array_equal(one.values, other.values)
