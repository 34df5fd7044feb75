"""Memory is checked before it is taken, and the refusal is one line."""

import subprocess
import sys
import time

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from bombs import KINDS, bomb

from calirare.data.storage import memory
from calirare.data.tables.reading import read_tables
from calirare.data.tables.sources.arrow_claims import claimed_bytes
from calirare.errors import CalirareError, DataError, InputError, LabelError

NODES = {"id": ["a", "b"], "x": [1.0, 2.0], "y": [0, 1]}
EDGES = {"source": ["a"], "target": ["b"]}


def read(nodes=NODES, edges=EDGES, **options):
    return read_tables(nodes, edges, **({"label": "y", "rare": 1} | options))


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_claim_more_than_is_free_are_refused(tmp_path, monkeypatch, kind):
    path = bomb(tmp_path, kind, 100_000)
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    with pytest.raises(DataError, match=r"would take about [\d,]+ bytes to read, and 800,000 are free"):
        read(path)


def test_what_is_free_obeys_the_limits_of_the_process():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30));"
        "from calirare.data.storage.memory import available_memory; print(available_memory())"
    )
    found = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert 0 < found < 3 << 30
    assert memory.available_memory() > 0


def test_too_many_columns_are_refused_quickly(tmp_path):
    wide = {f"c{k}": [1, 2] for k in range(5_001)}
    pl.DataFrame({**NODES, **wide}).write_csv(tmp_path / "wide.csv")
    pq.write_table(pa.table({**NODES, **wide}), tmp_path / "wide.parquet")
    for table in (tmp_path / "wide.csv", tmp_path / "wide.parquet", {**NODES, **wide}):
        start = time.perf_counter()
        with pytest.raises(InputError, match="at most 5,000 columns; got"):
            read(table)
        assert time.perf_counter() - start < 5


def test_long_ids_labels_and_names_are_refused_in_a_short_line():
    long = "x" * 500_000
    cases = [
        ({"nodes": {**NODES, "id": ["a", long]}}, InputError, "ids of at most 1,000 characters; one has 500,000"),
        ({"nodes": {**NODES, "y": ["no", long]}, "rare": "no"}, LabelError, "at most 200 characters"),
        ({"nodes": {**NODES, long: [1, 2]}}, InputError, "column names of at most 500 characters"),
        ({"edges": {"source": ["a"], "target": [long]}}, InputError, "1 of 1 rows name a node that is not"),
        ({"edges": {**EDGES, "kind": [long]}, "edge_type": "kind"}, InputError, "few kinds"),
    ]
    for change, error, message in cases:
        with pytest.raises(error, match=message) as caught:
            read(**change)
        assert len(str(caught.value)) < 700, message
    assert read({**NODES, "note": ["short", long]}).feature_names == ("x",)  # prose, not a category


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_what_an_arrow_file_claims_is_what_it_takes(tmp_path, compression):
    table = pa.table({
        "number": np.arange(5_000) % 7, "text": [f"word {k % 9}" for k in range(5_000)],
        "coded": pa.array(["a", "b"] * 2_500).dictionary_encode(), "gaps": [None, 1.5] * 2_500,
    })  # fmt: skip
    path = tmp_path / "table.arrow"
    pyarrow.feather.write_feather(table, path, compression=compression, chunksize=1_000)
    assert claimed_bytes(path) == pytest.approx(table.nbytes, rel=0.1)
    pl.DataFrame({"x": [1.5, None], "c": ["a", "b"]}).write_ipc(path, compression="zstd")
    assert 0 < claimed_bytes(path) < 1_000


def test_a_table_that_fits_is_read(tmp_path):
    for kind in KINDS:
        with pytest.raises(CalirareError) as caught:
            read(bomb(tmp_path, kind, 1_000))
        assert "would take" not in str(caught.value)
