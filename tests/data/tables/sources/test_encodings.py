"""Files that are not in UTF-8: read where that is plain, with a word, and never as other letters."""

import gzip
import logging

import pytest

from calirare.data.tables.reading import read_tables
from calirare.data.tables.sources.encodings import as_utf8
from calirare.errors import DataError

WESTERN = (
    "Größe;Straße;Überweisung;20 °C;5 €;“so”", "créée;œuvre;«non»;n° 5;l’été", "¿Qué?;año;1º;3ª", "ação;ações;avô", "Åsa;blåbær;Østfold – Ærø",
    "5 µg;10 m²;±3;½",
)  # fmt: skip
OTHERS = (
    ("Пётр Иванов;да", "cp1251"), ("Петр Иванов", "koi8_r"), ("Αθήνα", "cp1253"), ("会員番号;はい", "cp932"), ("男;女", "cp932"),
    ("男;女", "gbk"), ("서울;남", "cp949"), ("男;台北", "big5"), ("会員番号", "euc_jp"), ("Łódź;żółw;miał", "cp1250"), ("řeka;šest", "cp1250"),
    ("Şişli;ışık", "cp1254"), ("Größe;élève", "mac_roman"), ("Größe;élève", "cp850"), ("שלום", "cp1255"), ("Größe", "utf-32"), ("voilà", "utf-8"), ("plain", "ascii"),
)  # fmt: skip
BROKEN = "Übung;Ünal", "voilà;été", "20 °C", "5 × 3", "année"


@pytest.mark.parametrize("text", WESTERN)
def test_western_words_are_read_as_they_were_written(text):
    assert as_utf8(text.encode("cp1252")) == (text.encode(), "Windows-1252")


@pytest.mark.parametrize(("text", "encoding"), OTHERS)
def test_words_of_other_encodings_are_not_taken_for_western_ones(text, encoding):
    assert as_utf8(text.encode(encoding))[1] == ""


@pytest.mark.parametrize("text", BROKEN)
def test_a_file_in_utf8_with_a_broken_byte_keeps_its_letters(text):
    content = text.encode() + b"\ncaf\xe9"
    assert as_utf8(content) == (content, "")


@pytest.mark.parametrize(("encoding", "name"), [("cp1252", "Windows-1252"), ("utf-16", "UTF-16")])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("names", ["id;Größe;krank", "id;size;krank"])
def test_a_table_in_another_encoding_says_what_it_was_read_as(tmp_path, caplog, encoding, name, ending, names):
    content = f"{names}\r\nä1;groß;ja\r\nä2;klein;nein\r\n".encode(encoding)
    (tmp_path / f"t.{ending}").write_bytes(gzip.compress(content) if ending == "csv.gz" else content)
    with caplog.at_level(logging.WARNING):
        graph = read_tables(tmp_path / f"t.{ending}", {"von": ["ä1"], "an": ["ä2"]}, label="krank", rare="ja")
    assert graph.ids.tolist() == ["ä1", "ä2"] and graph.feature_names[0].endswith("groß")
    assert f"is read as {name}: " in caplog.text and "ä1" in caplog.text


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_mistake_in_a_file_of_another_encoding_is_told(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("id,x,y\n1,é,0\n2,3,1,5\n".encode(encoding))
    with pytest.raises(DataError, match="line 3 has 4 cells"):
        read_tables(tmp_path / "t.csv", {"von": [1], "an": [1]}, label="y", rare="1")


def test_a_file_with_another_mistake_is_not_said_to_be_in_another_encoding(tmp_path, caplog):
    (tmp_path / "t.csv").write_text("id,x,y\n1,2,3,4\n")
    with pytest.raises(DataError, match="line 2 has 4 cells"):
        read_tables(tmp_path / "t.csv", {"von": [1], "an": [1]}, label="y", rare="1")
    assert "is read as" not in caplog.text
