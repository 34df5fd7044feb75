"""Files that cannot be read say why, and what to do."""

import gzip
import subprocess

import pytest

from calirare.data.tables.reading import read_tables
from calirare.data.tables.sources.csv_files import read_csv_file
from calirare.data.tables.sources.csv_mistakes import names_below_titles
from calirare.errors import ColumnError, DataError, InputError

NODES, EDGES = {"id": [1, 2], "x": [0, 1], "y": [0, 1]}, {"source": [1], "target": [2]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("id;会員;y\n1;2;0\n".encode("cp932"), r"not in UTF-8 \(byte 0x89\).*iconv -f ENCODING .* > bank-utf8.csv .*CP932 in Japan"),
        ("id,x,y\n1,2,0\n2,Пётр,1\n".encode("cp1251"), r"not in UTF-8 \(byte 0xf2\), nor plainly in Windows-1252"),
        (b'id;x;y\n1;"a;b\n' + b"2;b;1\n" * 30_000, "in line 2 a cell begins with a quotation mark that is not closed"),
        ("id;x;y\n1;a;0\n2;\"ä;b\n".encode("cp1252") + b"2;b;1\n" * 30_000, "in line 3 a cell begins with a quotation mark"),
        (b'id;x;y\n1;"a;\n b";0\n2;"b"c";1\n', "in line 4 a cell begins with a quotation mark"),
        (b'id;x;y\n1;"a;\n b";0\n2;b;c;1\n', "line 4 has 4 cells, the first line 3. Is a ';' inside a cell"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_why(tmp_path, content, says):
    (tmp_path / "bank.csv").write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_tables(tmp_path / "bank.csv", EDGES, label="y", rare=1)


@pytest.mark.parametrize(
    ("titles", "line"),
    [
        ("Accounts of branch 12\nExported 2024-01-31 09:00\n\n", 4),
        ("Accounts\n", 2),
        ("Accounts;;\n;;\nJanuary 2024;;\n", 4),
        ("\ufeffAccounts; January\n", 2),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_titles_above_the_names_are_pointed_out(tmp_path, titles, line, ending):
    file = tmp_path / f"bank.{ending}"
    text = "id;x;y\n1;2,5;0\n2;7,0;1\n"
    pack = gzip.compress if ending == "csv.gz" else bytes
    file.write_bytes(pack((titles + text).encode()))
    with pytest.raises(
        DataError, match=rf"line {line} looks like the names of the columns \(id;x;y\)\. Delete"
    ) as caught:
        read_tables(file, EDGES, label="y", rare=1)
    if ending == "csv":  # what the message says to do
        command = str(caught.value).split("for instance: ")[1]
        subprocess.run(command, shell=True, check=True, cwd=tmp_path)
        assert (tmp_path / "bank-table.csv").read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        "id,x,y\n1,2,0\n2,7,1\n",
        ",y\n1,0\n2,1\n",
        "id,y,\n1,0,\n2,1,late\n",
        "id,x,,y\na,b,c,0\nd,e,f,1\n",
        "id y\n1 0\n2 1\n",
    ],
)
def test_a_line_of_names_is_no_title(text):
    assert names_below_titles(text.splitlines()) == 0


def test_tables_in_the_wrong_order_and_a_single_one_are_named():
    with pytest.raises(ColumnError, match="'y' is one of the edges. The table of nodes comes first"):
        read_tables(EDGES, NODES, label="y", rare=1)
    schema = read_tables(NODES, EDGES, label="y", rare=1).schema
    with pytest.raises(InputError, match="a single table is read as the edges.*give edges of one line: source,target"):
        read_tables(None, NODES, schema=schema)
    with pytest.raises(InputError, match="edges must be given.*give edges of one line: source,target"):
        read_tables(NODES, schema=schema)
    with pytest.raises(InputError, match="a single table is read as the edges.*give the nodes \\(--nodes\\) alone"):
        read_tables(None, NODES, label="y", rare=1)
    bare = read_tables({"id": [1, 2], "y": [0, 1]}, EDGES, label="y", rare=1).schema
    assert read_tables(None, EDGES, schema=bare).ids.tolist() == [1, 2]


@pytest.mark.parametrize("start", ["sep=;\n", '"sep=;"\r\n', "\ufeffsep=;\n", "# from the ledger\nSEP=;\n"])
def test_a_line_that_names_the_separator_is_no_row(tmp_path, start):
    (tmp_path / "bank.csv").write_text(start + "id;x;y\n1;2,5;0\n2;7,0;1\n", encoding="utf-8")
    graph = read_tables(tmp_path / "bank.csv", EDGES, label="y", rare=1)
    assert graph.y.tolist() == [0, 1] and graph.feature_names == ("x",)


def test_names_that_stand_twice_are_told(tmp_path, caplog):
    (tmp_path / "bank.csv").write_text("id,pay,x,pay,odd_duplicated_0\n1,2,0,3,4\n")
    assert read_csv_file(tmp_path / "bank.csv").columns == ["id", "pay", "x", "pay_duplicated_0", "odd_duplicated_0"]
    assert "names columns twice; the later ones are called 'pay_duplicated_0'." in caplog.text


@pytest.mark.parametrize(
    ("names", "last", "kept"),
    [
        ("id,x,y", "TOTAL,17,", 2),
        ("id,x,y", "Summe:,,", 2),
        ("x,id,y", ",合計,", 2),
        ("id,x,y", "total,17,1", 3),
        ("id,x,y", "Total mail,,", 3),
    ],
)
def test_a_last_row_that_adds_up_the_others_is_no_node(tmp_path, caplog, names, last, kept):
    """A node may be called so; then it is filled as the others are."""
    (tmp_path / "bank.csv").write_text(f"{names}\n1,2,0\n2,1,1\n{last}\n")
    assert read_tables(tmp_path / "bank.csv", EDGES, label="y", rare=1).num_nodes == kept
    assert ("adds up the others and is left out" in caplog.text) == (kept == 2)


@pytest.mark.parametrize(("last", "kept"), [("Total,9,", 4), ("Total,10,", 3), ("Total,,", 3), ("Total,10.0,1", 4)])
def test_a_node_called_total_may_lack_a_label_as_others_do(tmp_path, last, kept):
    (tmp_path / "bank.csv").write_text(f"id,x,y\n1,2,0\n2,1,1\n3,7,\n{last}\n")
    assert read_tables(tmp_path / "bank.csv", EDGES, label="y", rare=1).num_nodes == kept


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("1,2,a\n2\n3,4,b\n", "1 row has fewer than 3 cells, the first in line 3 (1)"),
        ("1,2,a\n\n2,3,b\n3,4", "1 row has fewer than 3 cells, the first in line 5 (2)"),
        ("1,2,a\n2,,\n\n3,4,b\n", ""),
        ('1,2,"a, b"\n2,3,b\n', ""),
    ],
)
def test_rows_with_too_few_cells_are_told_of(rows, says, tmp_path, caplog):
    path = tmp_path / "nodes.csv"
    path.write_text(f"id,x,y\n{rows}")
    frame = read_csv_file(path)
    assert frame["id"].len() == 3 or '"' in rows
    assert (says in caplog.text) if says else not caplog.text
