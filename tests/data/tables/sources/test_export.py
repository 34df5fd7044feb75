"""Tables that other programs open."""

from __future__ import annotations

import csv
import os
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.data.tables.sources.export import check_export_path, escape_formula, write_table
from calirare.errors import DataError, InputError

COLUMNS = {
    "id": np.array(["=cmd()", "+1", "-1", "@a", "\tx", "\rx", "a,b", 'say "x"', "é", ""], dtype=object),
    "probability": np.linspace(-1, 1, 10),
    "count": np.arange(10) - 5,
}


def test_parquet_keeps_every_value(tmp_path):
    write_table(COLUMNS, tmp_path / "t.parquet")
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table.columns == list(COLUMNS)
    for name, values in COLUMNS.items():
        assert table[name].to_list() == values.tolist()


def test_csv_escapes_text_but_not_numbers(tmp_path):
    write_table(COLUMNS, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == ["'=cmd()", "+1", "-1", "'@a", "'\tx", "'\rx", "a,b", 'say "x"', "é", ""]
    assert [int(row["count"]) for row in rows] == COLUMNS["count"].tolist()
    assert [float(row["probability"]) for row in rows] == COLUMNS["probability"].tolist()


@given(st.text() | st.from_regex(r"[+-][0-9 +()=-]{0,9}", fullmatch=True))
def test_no_text_stays_a_formula(text):
    escaped = escape_formula(text)
    if re.fullmatch(r"[+-][0-9][0-9 ]*", text):  # a number is no formula, and ids that are telephone numbers stay ids
        assert escaped == text
        return
    assert not escaped.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert escaped.replace("'", "") == text.replace("'", "")
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in re.split(r"[;\t|\r\n]\s*", escaped))


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(Exception, match="length|shape|height"):
        write_table({"a": [1, 2], "b": [1]}, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    def interrupt(self, stream):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_parquet", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_table(COLUMNS, tmp_path / "t.parquet")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_folder_that_cannot_be_written_is_named():
    with pytest.raises(DataError, match="cannot be written"):
        write_table(COLUMNS, "/proc/no/t.csv")


@pytest.mark.parametrize("name", ["scores.xlsx", "scores", "scores.csv.gz"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"\.parquet, \.csv or \.jsonl"):
        check_export_path(tmp_path / name)


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(InputError, match="folder"):
        check_export_path(tmp_path / "a.csv")
