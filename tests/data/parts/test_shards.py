"""Parquet tables in shards."""

from __future__ import annotations

import polars as pl
import pytest

from calirare.data.parts.shards import open_shards
from calirare.data.tables.sources.shard_files import find_shards, is_sharded
from calirare.errors import DataError, InputError


@pytest.fixture
def folder(tmp_path):
    """Ten rows in three shards, one of them empty."""
    for name, rows in (("b-2", range(4, 10)), ("a-1", range(4)), ("b-1", range(0))):
        frame = pl.DataFrame({"id": pl.Series(list(rows), dtype=pl.Int64), "word": [str(row) for row in rows]})
        frame.cast({"word": pl.String}).write_parquet(tmp_path / f"{name}.parquet", row_group_size=2)
    return tmp_path


@pytest.mark.parametrize("size", [1, 3, 4, 7, 10, 11])
def test_batches_hold_every_row_once_in_order(folder, size):
    shards = open_shards(folder, "nodes")
    assert shards.num_rows == 10 and shards.empty.columns == ["id", "word"]
    batches = list(shards.batches(["id"], size))
    assert [first for first, _ in batches] == list(range(0, 10, size))
    assert all(frame.height == size for _, frame in batches[:-1])
    whole = pl.concat([frame for _, frame in batches])
    assert whole.columns == ["id"] and whole["id"].to_list() == list(range(10))


def test_a_folder_a_file_and_a_pattern(folder):
    assert [path.name for path in find_shards(folder / "b-*.parquet", "nodes")] == ["b-1.parquet", "b-2.parquet"]
    assert [path.name for path in find_shards(folder / "a-1.parquet", "nodes")] == ["a-1.parquet"]
    assert is_sharded(folder) and is_sharded(str(folder / "b-?.parquet"))
    assert not is_sharded(folder / "a-1.parquet") and not is_sharded(folder / "c.parquet")
    (folder / "odd[1].parquet").write_bytes((folder / "a-1.parquet").read_bytes())
    assert not is_sharded(folder / "odd[1].parquet")  # a name, as the file is there


def test_what_is_not_there_or_of_two_formats_is_named(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (folder / "b-3.csv").write_text("id\n1\n")
    (folder / "cut.parquet").write_bytes((folder / "a-1.parquet").read_bytes()[:80])
    for path, kind, says in [
        (folder / "c.parquet", DataError, "does not exist"),
        (tmp_path / "empty", DataError, "has no shards"),
        (folder / "c-*.parquet", DataError, "has no shards"),
        (folder, InputError, "of one format; .* holds a-1.parquet and b-3.csv. .* such as '.*/[*].parquet'"),
        (folder / "cut.parquet", DataError, "truncated or altered"),
    ]:
        with pytest.raises(kind, match=says):
            open_shards(path, "edges")


@pytest.mark.parametrize("size", [1, 3, 10])
def test_a_table_that_is_not_parquet_is_held_and_gives_the_same_batches(folder, size, tmp_path_factory):
    apart = tmp_path_factory.mktemp("csv")
    whole = pl.read_parquet(folder / "*.parquet")
    whole.write_csv(apart / "all.csv")
    for table in (apart / "all.csv", apart, whole):
        held = open_shards(table, "nodes")
        want = [
            (first, frame["word"].to_list()) for first, frame in open_shards(folder, "nodes").batches(["word"], size)
        ]
        assert [(first, frame["word"].to_list()) for first, frame in held.batches(["word"], size)] == want
        assert held.empty.columns == ["id", "word"] and held.head(4)["word"].to_list() == ["0", "1", "2", "3"]


def test_shards_must_have_the_same_columns(folder):
    pl.DataFrame({"id": ["x"], "word": ["x"]}).write_parquet(folder / "c.parquet")
    with pytest.raises(DataError, match="c.parquet differ"):
        open_shards(folder, "nodes")
