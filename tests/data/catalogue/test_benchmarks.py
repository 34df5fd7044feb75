"""The benchmark graphs: statistics, problems, download through a loopback server, refusal of altered files."""

import http.server
import os
import sys
import threading
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from calirare.data.catalogue import benchmarks
from calirare.data.catalogue.benchmarks import (
    fetch_benchmark,
    list_benchmarks,
    load_benchmark,
    normalise_rows,
    verify_benchmark,
)
from calirare.data.catalogue.download import data_folder
from calirare.data.catalogue.entries import BENCHMARKS
from calirare.data.splits import split_labels
from calirare.data.storage.archive import read_arrays
from calirare.errors import DataError, InputError, MissingDependencyError

FOLDER = Path(os.environ.get("CALIRARE_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")
RAW = FOLDER / "raw"
needs_data = pytest.mark.skipif(
    not (FOLDER / "cora.npz").exists(), reason="no benchmark graphs in CALIRARE_DATA or ../shared/data"
)
needs_raw = pytest.mark.skipif(
    not (RAW / "cora").exists(), reason="no upstream files in CALIRARE_DATA or ../shared/data"
)

EXPECTED = {  # name: nodes, undirected edges without self-loops, features, rare nodes, known labels
    "cora": (2708, 5278, 1433, 351, 2708),
    "citeseer": (3327, 4552, 3703, 508, 3312),
    "pubmed": (19717, 44324, 500, 4103, 19717),
    "dblp": (17716, 52867, 1639, 1982, 17716),
    "facebook": (22470, 170823, 4714, 3327, 22470),
    "tolokers": (11758, 519000, 10, 2566, 11758),
    "reddit": (10984, 78516, 64, 366, 10984),
}


@pytest.fixture
def mirror():
    """A loopback server of the upstream files."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(RAW))) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.datasets
@needs_data
@pytest.mark.parametrize("name", EXPECTED)
def test_graphs_have_the_published_statistics(name):
    graph = load_benchmark(name, cache_dir=FOLDER)
    rare = int((graph.y == graph.rare_class).sum())
    assert (graph.num_nodes, graph.num_edges, graph.num_features, rare, graph.known.size) == EXPECTED[name]
    if BENCHMARKS[name].words:
        assert sp.issparse(graph.x)
        sums = np.asarray(graph.x.sum(axis=1)).ravel()
        assert np.allclose(sums[sums > 0], 1.0, atol=1e-5)
    else:
        assert np.allclose(graph.x.mean(axis=0), 0.0, atol=1e-4) and np.allclose(graph.x.std(axis=0), 1.0, atol=1e-4)
    assert np.array_equal(graph.original_y == BENCHMARKS[name].rare_class, graph.y == 1)
    assert verify_benchmark(name, cache_dir=FOLDER).passed


@pytest.mark.datasets
@needs_data
@pytest.mark.parametrize(("name", "classes"), [("cora", 7), ("citeseer", 6), ("pubmed", 3)])
def test_public_split_is_used_and_extended(name, classes):
    graph = load_benchmark(name, cache_dir=FOLDER)
    split = split_labels(graph, 20, seed=3)
    for part in ("train", "val", "test"):
        assert np.array_equal(getattr(split, part), getattr(graph.public_split, part))
    assert (split.train.size, split.val.size, split.test.size) == (20 * classes, 500, 1000)
    more = split_labels(graph, 40, seed=3)
    assert np.bincount(graph.original_y[more.train]).tolist() == [40] * classes
    assert np.array_equal(more.test, split.test)


@pytest.mark.datasets
@needs_data
def test_paper_protocol_counts_the_unlabelled_nodes_of_citeseer_as_rare():
    ours, paper = (load_benchmark("citeseer", protocol=p, cache_dir=FOLDER) for p in ("default", "paper"))
    changed = np.flatnonzero(ours.y != paper.y)
    assert changed.size == 15 and (paper.y[changed] == 1).all() and (ours.y[changed] == -1).all()
    assert (paper.original_y[changed] == 5).all()
    assert round(100 * paper.rare_share, 2) == 15.72
    assert ours.x[changed].nnz == 0


@pytest.mark.datasets
@needs_raw
@pytest.mark.parametrize(
    "name",
    ["cora", "citeseer", *(pytest.param(name, marks=pytest.mark.slow) for name in ("pubmed", "facebook"))],
)
def test_download_and_conversion_give_the_stored_arrays(name, mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIRARE_MIRROR", mirror)
    monkeypatch.setenv("CALIRARE_DATA", str(tmp_path))
    graph = load_benchmark(name)
    converted, stored = read_arrays(tmp_path / f"{name}.npz"), read_arrays(FOLDER / f"{name}.npz")
    assert converted.keys() == stored.keys()
    for key, array in stored.items():
        assert converted[key].dtype == array.dtype and np.array_equal(converted[key], array)
    assert graph.num_nodes == BENCHMARKS[name].num_nodes
    assert verify_benchmark(name).content_matches
    assert not list(tmp_path.glob("*.part"))
    monkeypatch.setenv("CALIRARE_MIRROR", "http://127.0.0.1:9")  # from now on the cache must do
    assert load_benchmark(name).num_nodes == graph.num_nodes


@pytest.mark.datasets
@needs_raw
def test_an_altered_upstream_file_is_refused_before_it_is_read(tmp_path, downloads_at_once):
    served = tmp_path / "served" / "cora"
    served.mkdir(parents=True)
    for file in (RAW / "cora").iterdir():
        content = file.read_bytes()
        (served / file.name).write_bytes(content + b"x" if file.name.endswith("allx") else content)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(http.server.SimpleHTTPRequestHandler, directory=str(served.parent))
    )
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(DataError, match="ind.cora.allx could not be fetched .* hash"):
            fetch_benchmark("cora", cache_dir=tmp_path / "cache", mirror=address)
    finally:
        server.shutdown()
        server.server_close()
    assert not (tmp_path / "cache" / "cora.npz").exists()


@pytest.mark.datasets
@needs_data
def test_dblp_in_its_upstream_layout_is_converted(tmp_path, monkeypatch):
    stored = read_arrays(FOLDER / "dblp.npz")
    # One direction of every edge, and a pickled name list beside the arrays: neither must matter.
    source, target = stored["edge_index"]
    upper = source < target
    n = stored["y"].size
    adj = sp.csr_array((np.ones(upper.sum()), (source[upper], target[upper])), shape=(n, n))
    raw = tmp_path / "raw" / "dblp"
    raw.mkdir(parents=True)
    np.savez(
        raw / "dblp.npz",
        adj_data=adj.data, adj_indices=adj.indices, adj_indptr=adj.indptr, adj_shape=adj.shape,
        attr_data=stored["x_data"], attr_indices=stored["x_indices"], attr_indptr=stored["x_indptr"],
        attr_shape=stored["x_shape"], labels=stored["y"], idx_to_attr=np.array({"a": 1}, dtype=object),
    )  # fmt: skip
    fetch_benchmark("dblp", cache_dir=tmp_path)
    assert verify_benchmark("dblp", cache_dir=tmp_path).content_matches
    wrong = dict(np.load(raw / "dblp.npz", allow_pickle=True))
    wrong["labels"] = np.zeros_like(stored["y"])
    np.savez(raw / "dblp.npz", **wrong)
    with pytest.raises(DataError, match="nodes per class is"):
        fetch_benchmark("dblp", cache_dir=tmp_path, force=True)
    assert verify_benchmark("dblp", cache_dir=tmp_path).passed


@pytest.mark.slow
@pytest.mark.datasets
@needs_data
def test_tolokers_in_its_upstream_layout_is_converted(tmp_path):
    stored = read_arrays(FOLDER / "tolokers.npz")
    ends = stored["edge_index"]
    raw = tmp_path / "raw" / "tolokers"
    raw.mkdir(parents=True)
    np.savez(
        raw / "tolokers.npz", node_features=stored["x"], node_labels=stored["y"],
        edges=ends[:, ends[0] < ends[1]].T[::-1], train_masks=np.ones((10, 3)),
    )  # fmt: skip
    fetch_benchmark("tolokers", cache_dir=tmp_path)
    assert verify_benchmark("tolokers", cache_dir=tmp_path).content_matches


@pytest.mark.datasets
@needs_data
def test_reddit_in_its_upstream_layout_is_converted_and_its_pickle_is_never_trusted(tmp_path):
    stored = read_arrays(FOLDER / "reddit.npz")
    ends, nodes = stored["edge_index"], np.arange(len(stored["y"]))
    graph = Data(
        x=torch.from_numpy(stored["x"]), y=torch.from_numpy(stored["y"] == 1),
        edge_index=torch.from_numpy(np.hstack([ends, np.stack([nodes, nodes])])),
    )  # fmt: skip
    raw = tmp_path / "raw" / "reddit"
    raw.mkdir(parents=True)

    def publish(content):
        torch.save(content, tmp_path / "reddit.pt")
        with zipfile.ZipFile(raw / "reddit.pt.zip", "w") as packed:
            packed.write(tmp_path / "reddit.pt", "reddit.pt")

    publish(graph)
    fetch_benchmark("reddit", cache_dir=tmp_path)
    assert verify_benchmark("reddit", cache_dir=tmp_path).content_matches
    publish(partial(print, "executed"))
    with pytest.raises(DataError, match="read safely"):
        fetch_benchmark("reddit", cache_dir=tmp_path, force=True)


def test_without_network_the_way_out_is_named(tmp_path, downloads_at_once):
    with pytest.raises(DataError, match="put cora.npz into"):
        fetch_benchmark("cora", cache_dir=tmp_path, mirror="http://127.0.0.1:9")


def test_a_broken_or_foreign_cache_file_is_refused(tmp_path):
    (tmp_path / "cora.npz").write_bytes(b"PK nothing")
    with pytest.raises(DataError, match="calirare datasets fetch cora"):
        load_benchmark("cora", cache_dir=tmp_path)
    np.savez(tmp_path / "cora.npz", a=np.zeros(2))
    with pytest.raises(DataError, match="lacks"):
        load_benchmark("cora", cache_dir=tmp_path)


def test_unknown_names_and_protocols_are_refused():
    with pytest.raises(InputError, match="did you mean 'cora'"):
        load_benchmark("coraa")
    with pytest.raises(InputError, match="protocol must be one of"):
        load_benchmark("cora", protocol="papers")
    assert [entry.name for entry in list_benchmarks()] == list(EXPECTED)


def test_cache_folder_is_the_one_pooch_would_use(monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("CALIRARE_DATA", raising=False)
    assert data_folder() == Path(pooch.os_cache("calirare"))
    monkeypatch.setenv("CALIRARE_DATA", "somewhere")
    assert data_folder() == Path("somewhere")
    assert data_folder("elsewhere") == Path("elsewhere")
    assert benchmarks.benchmark_path("Cora") == Path("somewhere") / "cora.npz"


def test_rows_are_divided_by_their_sums_without_touching_the_input():
    x = sp.csr_array(np.array([[2.0, 0.0, 6.0], [0.0, 0.0, 0.0]], dtype=np.float32))
    assert np.array_equal(normalise_rows(x).toarray(), [[0.25, 0, 0.75], [0, 0, 0]])
    assert x.toarray()[0, 2] == 6.0


def test_without_pooch_the_install_line_is_given_but_cached_graphs_load(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingDependencyError, match=r"calirare\[data\]"):
        fetch_benchmark("cora", cache_dir=tmp_path)
    if (FOLDER / "cora.npz").exists():
        assert load_benchmark("cora", cache_dir=FOLDER).num_nodes == 2708
        assert fetch_benchmark("cora", cache_dir=FOLDER) == FOLDER / "cora.npz"
