"""read_tables: what tables mean, that scoring repeats the fit, and one clear message for everything that is wrong."""

import datetime
import json
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from calirare.data.graph import RareGraph
from calirare.data.parts.partitioning import partition_tables
from calirare.data.parts.table_stream import TableStream
from calirare.data.synthetic import make_transactions
from calirare.data.tables.audit import audit_graph
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.files import write_tables
from calirare.data.tables.findings.read_counts import describe_counts
from calirare.data.tables.reading import read_tables
from calirare.data.tables.shift import compare_profiles, compare_with_fit
from calirare.data.tables.sources.frames import to_frame
from calirare.errors import CalirareError, ColumnError, DataError, InputError, LabelError, MissingDependencyError

NODES = {
    "id": ["a", "b", "c", "d"],
    "age": [20.0, 40.0, None, 60.0],
    "country": ["NO", "SE", "NO", None],
    "is_fraud": ["yes", "no", None, "no"],
}
EDGES = {"source": ["a", "b", "c", "c", "d"], "target": ["b", "a", "c", "d", "a"], "amount": [1.0, 2.0, 9.0, 4.0, 0.5]}


def read(nodes=None, edges=None, **options):
    nodes, edges = NODES | (nodes or {}), EDGES if edges is None else edges
    return read_tables(nodes, edges, **({"label": "is_fraud", "rare": "yes"} | options))


def test_every_cell_of_a_small_table_is_where_it_belongs():
    graph = read()
    scale = np.std([20.0, 40.0, 60.0])
    assert graph.feature_names == ("age", "age is missing", "country = NO", "country = SE", "country is missing")
    expected = [[-20 / scale, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 1, 1, 0, 0], [20 / scale, 0, 0, 0, 1]]
    assert np.allclose(graph.x, expected, atol=1e-6)
    assert graph.y.tolist() == [1, 0, -1, 0] and graph.class_names == ("no", "yes") and graph.rare_class == 1
    assert graph.ids.tolist() == ["a", "b", "c", "d"]
    assert graph.edge_index.tolist() == [[0, 0, 1, 2, 3, 3], [1, 3, 0, 3, 0, 2]]
    assert graph.edge_weight is None and graph.original_y is None
    counts = {"rows": 5, "edges": 3, "duplicates": 1, "self_loops": 1, "zero_weights": 0}
    labels = {"known": 3, "missing": 1, "missing_words": {}, "spellings": {}}
    filled = {"imputed": {"age": 1, "country": 1}, "lacking": {}}
    filled |= {"unseen": {}, "rare": {}, "unreadable": {}, "infinite": {}}
    assert graph.schema["read"] == {
        "nodes": {"described": 4, "named_alone": 0},
        "edges": counts,
        "labels": labels,
        **filled,
        "edge_values": {"rare": {}, "unseen": {}, "infinite": {}},
    }


def test_infinite_values_count_as_missing_in_both_tables(caplog):
    inf = float("inf")
    empty = read({"age": [20.0, 40.0, None, None]}, EDGES | {"amount": [1.0, None, 9.0, None, 0.5]})
    graph = read({"age": [20.0, 40.0, inf, -inf]}, EDGES | {"amount": [1.0, inf, 9.0, -inf, 0.5]})
    assert graph.x.tolist() == empty.x.tolist() and graph.feature_names == empty.feature_names
    np.testing.assert_array_equal(graph.edges.columns[0].values, empty.edges.columns[0].values)
    told = [record.message for record in caplog.records if "infinite" in record.message]
    assert told == [
        f"column {name}: infinite values count as missing, 2 of them." for name in ("'age'", "'amount' of edges")
    ]
    notes = [finding.column for finding in audit_graph(graph).findings if finding.kind == "infinite"]
    assert notes == ["age", "amount"]
    assert describe_counts(graph.schema)["infinite values, which count as missing, in age"] == 2
    scored = read({"age": [inf, 40.0, 20.0, 1.0]}, schema=graph.schema, label=None, rare=None)
    assert scored.schema["read"]["infinite"] == {"age": 1} and scored.x[0, 0] == graph.x[2, 0]


def test_columns_of_nodes_and_edges_that_share_a_name_are_counted_apart(tmp_path):
    inf = float("inf")
    nodes = {**NODES, "fee": [inf, 1.0, 2.0, 3.0], "place": ["x", "x", "y", "y"]}
    edges = {**EDGES, "fee": [inf, 1.0, -inf, 2.0, inf], "place": ["p", "p", "q", "q", "q"]}
    graph = read_tables(nodes, edges, label="is_fraud", rare="yes")
    later = nodes | {"place": ["x", "new", "new", "y"]}, edges | {"place": ["p", "p", "q", "q", "new"]}
    scored = read_tables(*later, schema=graph.schema)
    parts = partition_tables(*later, graph.schema, tmp_path, partitions=2)
    for read in (scored.schema["read"], parts.read):
        assert (read["infinite"], read["edge_values"]["infinite"]) == ({"fee": 1}, {"fee": 3})
        assert (read["unseen"], read["edge_values"]["unseen"]) == ({"place": 2}, {"place": 1})
    told = describe_counts(scored.schema)
    assert told["values never seen at fit, in place"] == 2 and told["values never seen at fit, in place of edges"] == 1
    assert [one.words.split(",")[0] for one in audit_graph(graph).findings if one.kind == "infinite"] == [
        "1 values are infinite", "3 values of edges are infinite"
    ]  # fmt: skip


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("rows", [0, 7])
def test_text_of_many_row_groups_is_read_in_full(tmp_path, rows, dictionary):
    words = pa.array(["a", None, "b", "a", "", "b", "a"][:rows], pa.string())
    table = pa.table({"word": words, "long": words.cast(pa.large_string()), "kind": words.dictionary_encode(),
                      "size": pa.array([1.5, None, 2, 3, 4, 5, 6][:rows], pa.float64())})  # fmt: skip
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=3, use_dictionary=dictionary)
    found = to_frame(tmp_path / "rows.parquet", "nodes")
    assert found.schema == {"word": pl.String, "long": pl.String, "kind": pl.String, "size": pl.Float64}
    assert found.to_dict(as_series=False) == table.to_pydict()


def test_weights_of_both_directions_add_up():
    graph = read(edges=EDGES | {"amount": [1.0, 2.0, 9.0, 0.0, 0.5]}, weight="amount")
    assert graph.edge_index.tolist() == [[0, 0, 1, 3], [1, 3, 0, 0]]
    assert graph.edge_weight.tolist() == [3.0, 0.5, 3.0, 0.5]
    assert graph.schema["read"]["edges"]["zero_weights"] == 1


@pytest.mark.parametrize(
    "kind", ["csv", "csv.gz", "semicolon.csv", "tsv", "parquet", "arrow", "lazy", "pandas", "table"]
)
def test_every_kind_of_table_gives_the_same_graph(kind, tmp_path):
    tables = []
    for name, columns in (("nodes", NODES), ("edges", EDGES)):
        frame = pl.DataFrame(columns)
        path = tmp_path / f"{name}.{kind}"
        if kind == "csv.gz":
            import gzip

            path.write_bytes(gzip.compress(frame.write_csv().encode()))
        elif kind in ("csv", "tsv", "semicolon.csv"):
            frame.write_csv(path, separator={"csv": ",", "tsv": "\t", "semicolon.csv": ";"}[kind])
        elif kind == "parquet":
            frame.write_parquet(path)
        elif kind == "arrow":
            frame.write_ipc(path)
        tables.append(
            {"lazy": frame.lazy(), "pandas": pd.DataFrame(columns), "table": pa.table(columns)}.get(kind, path)
        )
    graph, expected = read_tables(*tables, label="is_fraud", rare="yes"), read()
    for name in ("x", "y", "edge_index", "ids"):
        assert np.array_equal(getattr(graph, name), getattr(expected, name)), name
    assert graph.schema == expected.schema


def test_schema_survives_json_and_repeats_the_fit_on_other_tables():
    graph = read()
    schema = json.loads(json.dumps(graph.schema))
    new = {"id": ["x", "y", "a"], "age": [None, 1000.0, 20.0], "country": ["DK", None, "SE"], "extra": [1, 2, 3]}
    scored = read_tables(new, {"source": ["x"], "target": ["a"], "amount": [1]}, schema=schema)
    scale = np.std([20.0, 40.0, 60.0])
    expected = [[0, 1, 0, 0, 0], [960 / scale, 0, 0, 0, 1], [-20 / scale, 0, 0, 1, 0]]
    assert np.allclose(scored.x, expected, atol=1e-5)
    assert scored.feature_names == graph.feature_names and scored.class_names == graph.class_names
    assert scored.y.tolist() == [-1, -1, -1]
    assert scored.schema["read"]["unseen"] == {"country": 1}
    assert {**scored.schema, "read": None} == {**graph.schema, "read": None}
    labelled = read_tables(
        new | {"is_fraud": ["no", "yes", "maybe"]}, EDGES | {"source": ["x"] * 5, "target": ["y"] * 5}, schema=schema
    )
    assert labelled.y.tolist() == [0, 1, -1]


def test_types_are_inferred_shown_and_can_be_overridden():
    columns = {
        "code": [1, 2, 1, 2],
        "flag": [True, False, None, True],
        "since": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)],
        "empty": [None] * 4,
        "same": [7, 7, 7, 7],
        "nested": [[1], [2], [3], [4]],
    }
    graph = read(columns)
    rows = describe_schema(graph.schema)
    roles = [
        (row["table"], row["column"], row["type"]) for row in rows if row["type"] in ("id", "label", "end", "number")
    ]
    assert roles == [("nodes", "id", "id"), ("nodes", "is_fraud", "label"), ("edges", "source", "end"),
                     ("edges", "target", "end"), ("edges", "amount", "number")]  # fmt: skip
    types = {row["column"]: row["type"] for row in rows if (row["table"], row["column"], row["type"]) not in roles}
    assert types == {"age": "numeric", "country": "categorical", "code": "categorical", "flag": "numeric",
                     "since": "numeric", "empty": "ignore", "same": "numeric", "nested": "ignore"}  # fmt: skip
    same = graph.x[:, graph.feature_names.index("same")]
    since = graph.x[:, graph.feature_names.index("since")]
    assert (same == 0).all() and np.allclose(np.diff(since), since[1] - since[0])
    assert "code = 1" in graph.feature_names  # a code is a name, also where it is a number
    graph = read(columns, types={"code": "numeric", "age": "ignore", "since": "ignore"})
    assert "code" in graph.feature_names and "age" not in graph.feature_names
    treatments = {row["column"]: row["treatment"] for row in describe_schema(graph.schema)}
    assert treatments["age"] == "not used: left out by types"
    assert treatments["country"] == "2 categories: NO, SE; missing: none of them, with an indicator"


def test_free_text_is_left_out_and_many_categories_keep_the_commonest():
    n = 1000
    nodes = {
        "id": range(n),
        "note": [f"text {k}" for k in range(n)],
        "town": [f"town {k % 150 if k < 600 else k % 50}" for k in range(n)],
        "amount": np.arange(n) / 2,
        "label": np.arange(n) % 2,
    }
    graph = read_tables(nodes, {"source": [0], "target": [1]}, label="label", rare=1)
    kinds = {column["name"]: column for column in graph.schema["columns"]}
    assert kinds["note"]["type"] == "ignore" and "1000 different words" in kinds["note"]["reason"]
    assert len(kinds["town"]["categories"]) == 100
    assert {f"town {k}" for k in range(50)} <= set(kinds["town"]["categories"])
    assert graph.schema["read"]["rare"]["town"] == 200 and not graph.schema["read"]["unseen"]
    again = read_tables({**nodes, "town": [kinds["town"]["rare"][0]] * 3 + ["elsewhere"] * (n - 3)}, {"source": [0], "target": [1]},
                        schema=graph.schema)  # fmt: skip
    assert again.schema["read"]["rare"] == {"town": 3} and again.schema["read"]["unseen"] == {"town": n - 3}


def test_wide_features_stay_sparse():
    n = 400
    nodes = {"id": range(n), "y": np.arange(n) % 2}
    nodes |= {f"c{k}": [f"v{j % 60}" for j in range(n)] for k in range(4)}
    graph = read_tables(nodes, {"source": [0], "target": [1]}, label="y", rare="1")
    assert sp.issparse(graph.x) and graph.x.shape == (n, 240) and graph.x.nnz == 4 * n
    again = read_tables(nodes, {"source": [0], "target": [1]}, schema=graph.schema)
    assert sp.issparse(again.x) and (again.x != graph.x).nnz == 0


@pytest.mark.parametrize(
    ("values", "rare"),
    [
        ([1, 0, None, 0], "1"), ([1, 0, None, 0], 1), ([1, 0, None, 0], "1.0"), ([1.0, 0.0, None, 0.0], "1"),
        ([True, False, None, False], "true"), ([True, False, None, False], "True"), ([True, False, None, False], True),
        (["yes", "no", "", "no"], "yes"), ([1.0, 0.0, float("nan"), 0.0], 1),
        ([b"1".decode(), "0", None, "0"], 1),
    ],
)  # fmt: skip
def test_rare_matches_whatever_type_it_is_written_in(values, rare):
    assert read({"is_fraud": values}, rare=rare).y.tolist() == [1, 0, -1, 0]


def test_more_than_two_labels_are_one_against_the_rest():
    graph = read({"is_fraud": ["mule", "fine", "odd", None]}, rare="mule")
    assert graph.y.tolist() == [1, 0, 0, -1] and graph.class_names == ("not mule", "mule")
    assert graph.original_y.tolist() == [1, 0, 2, -1]


@pytest.mark.parametrize(
    ("ids", "source", "target"),
    [
        ([1, 2, 3, 4], [1, 2], [2, 4]),
        ([1, 2, 3, 4], ["1", "2"], ["2", "4"]),
        (["1", "2", "3", "4"], [1, 2], [2, 4]),
        ([1, 2, 3, 4], [1.0, 2.0], [2.0, 4.0]),
        ([1.0, 2.0, 3.0, 4.0], [1, 2], ["2", "4"]),
        ([2**62 + k for k in (1, 2, 3, 4)], [2**62 + 1, 2**62 + 2], [2**62 + 2, 2**62 + 4]),
        (["ä ", "名", "", "=x"], ["ä ", "名"], ["名", "=x"]),
        ([datetime.date(2020, 1, k) for k in (1, 2, 3, 4)], ["2020-01-01", "2020-01-02"], ["2020-01-02", "2020-01-04"]),
    ],
)
def test_ids_of_any_type_are_matched(ids, source, target):
    graph = read({"id": ids}, {"source": source, "target": target})
    assert graph.edge_index.tolist() == [[0, 1, 1, 3], [1, 0, 3, 1]]
    assert graph.ids.tolist() == [str(name) if not isinstance(name, (int, float)) else name for name in ids]


def test_ids_keep_their_looks(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,x,y\n007,1,0\n008,2,1\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("source,target\n007,008\n", encoding="utf-8")
    graph = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", label="y", rare=1)
    assert graph.ids.tolist() == ["007", "008"] and graph.num_edges == 1
    mixed = pd.DataFrame({"id": [1, "b"], "x": [1, 2], "y": [0, 1]}, dtype=object)
    graph = read_tables(mixed, pd.DataFrame({"s": [1], "t": ["b"]}), label="y", rare=1)
    assert graph.ids.tolist() == ["1", "b"] and graph.num_edges == 1


def test_columns_are_found_by_usual_names_and_by_place():
    nodes = {"x": [1, 2, 3], "account": [7, 8, 9], "y": [0, 1, 0]}
    assert read_tables(nodes, {"to": [8], "when": [1], "from": [7]}, label="y", rare=1).num_edges == 1
    nodes = {"who": [7, 8, 9], "x": [1, 2, 3], "y": [0, 1, 0]}
    assert read_tables(nodes, {"one": [8], "other": [7]}, label="y", rare=1).num_edges == 1
    frame = pd.DataFrame(nodes).set_index("who")
    assert read_tables(frame, {"one": [8], "other": [7]}, label="y", rare=1, id="who").ids.tolist() == [7, 8, 9]
    odd = {"b": [7], "weight": [2.0], "a": [8]}
    graph = read_tables(nodes, odd, label="y", rare=1, source="a", target="b", weight="weight")
    assert graph.edge_weight.tolist() == [2.0, 2.0]


def test_numbers_in_a_csv_are_recognised_with_gaps_and_words_stay_words(tmp_path):
    (tmp_path / "nodes.csv").write_text(
        "id,amount,country,late,zip,day\n1, 1.5,NA,true,01234,2024-01-01\n2,NA,NO,False,99999,2024-01-03\n"
        "3,-2e3,NO,,00001,\n4,n/a,SE,true,01234,2024-01-05\n",
        encoding="utf-8-sig",
    )
    nodes = pl.DataFrame({"id": [1, 2, 3, 4], "y": [1, 0, 0, 0]})
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n", encoding="utf-8")
    text = (tmp_path / "nodes.csv").read_text(encoding="utf-8-sig").splitlines()
    labelled = [text[0] + ",y", *(f"{line},{y}" for line, y in zip(text[1:], nodes["y"], strict=True))]
    (tmp_path / "nodes.csv").write_text("\n".join(labelled), encoding="utf-8-sig")
    graph = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", label="y", rare=1)
    columns = {column["name"]: column for column in graph.schema["columns"]}
    assert columns["amount"]["type"] == "numeric" and columns["amount"]["median"] == (1.5 - 2000) / 2
    assert columns["country"]["categories"] == ["NA", "NO", "SE"]
    assert columns["late"]["type"] == "numeric" and columns["late"]["indicator"]
    assert columns["zip"]["categories"] == ["00001", "01234", "99999"]
    assert columns["day"]["type"] == "numeric" and columns["day"]["median"] == 19725.0


def test_generated_tables_come_back(tmp_path):
    graph = make_transactions(300, labelled_share=0.5, seed=0)
    for format in ("parquet", "csv"):
        nodes, edges = write_tables(graph, tmp_path, format=format)
        again = read_tables(nodes, edges, label="is_fraud", rare="yes")
        assert np.allclose(again.x, graph.x, atol=1e-5)
        assert np.array_equal(again.y, graph.y) and np.array_equal(again.edge_index, graph.edge_index)
        same = read_tables(nodes, edges, schema=graph.schema)
        assert np.allclose(same.x, graph.x, atol=1e-5) and np.array_equal(same.ids, graph.ids)
    with pytest.raises(InputError, match="format must be one of"):
        write_tables(graph, tmp_path, format="xlsx")
    with pytest.raises(InputError, match="'age' is categorical, text or imputed"):
        write_tables(read(), tmp_path)


BAD = [
    ({"rare": "fraud"}, LabelError, r"rare must be one of the values in column 'is_fraud': \['no', 'yes'\]; got 'fraud'\."),
    ({"rare": None}, InputError, "rare must be given"),
    ({"rare": ["yes"]}, LabelError, "rare must be one of"),
    ({"label": None}, InputError, "label must name"),
    ({"label": "is_frod"}, ColumnError, "label must be a column of the nodes table; got 'is_frod': did you mean 'is_fraud'"),
    ({"id": "ident"}, ColumnError, "id must be a column"),
    ({"source": "sorce"}, ColumnError, "source must be a column of the edges table; got 'sorce': did you mean 'source'"),
    ({"target": "source"}, InputError, "source and target must be different"),
    ({"id": "is_fraud"}, InputError, "id and label must be different"),
    ({"weight": "amt"}, ColumnError, "weight must be a column"),
    ({"types": {"agee": "numeric"}}, ColumnError, "did you mean 'age'"),
    ({"types": {"age": "number"}}, InputError, "must be one of"),
    ({"types": {"country": "numeric"}}, InputError, "column 'country' must hold numbers; 3 values are words, such as 'NO'"),
    ({"types": {"age": "ignore", "country": "ignore"}, "edges": pl.DataFrame(EDGES).clear()}, InputError,
     "at least one attribute column"),
    ({"schema": {}}, InputError, "schema is incomplete"),
    ({"schema": {"format": 9}}, InputError, "format 9"),
    ({"nodes": {"id": ["a", "a", "c", "c"]}}, InputError, r"2 ids appear more than once: \['a', 'c'\]. Give one row per node;"),
    ({"nodes": {"id": ["a", None, "c", "d"]}}, InputError, "1 ids are missing"),
    ({"nodes": {"id": ["a", "b", "c", "a\0"]}}, InputError, "NUL character"),
    ({"nodes": {"is_fraud": [None] * 4}}, LabelError, "every value is missing"),
    ({"nodes": {"is_fraud": ["yes"] * 4}}, LabelError, "at least two classes; every labelled node is 'yes'"),
    ({"nodes": {"is_fraud": ["no"] * 4}}, LabelError, "rare must be one of the values"),
    ({"edges": {**EDGES, "size": [1.0, float("inf"), 2.0, 1.0, 1.0]}, "weight": "size"}, InputError, "not negative, missing or infinite; 1 are"),
    ({"nodes": {"id": [[1], [2], [3], [4]]}}, InputError, "must hold one id per node"),
    ({"nodes": {"is_fraud": [[1], [2], [3], [4]]}}, InputError, "single values"),
    ({"edges": {"source": ["a", "z", "q"], "target": ["b", "a", "z"]}}, InputError,
     r"2 of 3 rows name 2 nodes that are not in column 'id', first: \['z', 'q'\]"),
    ({"edges": {"source": ["a", None], "target": ["b", "a"]}}, InputError, "not in column 'id'"),
    ({"edges": {"source": ["a"]}}, InputError, "edges must have two columns"),
    ({"edges": {}}, InputError, "edges must have columns"),
    ({"edges": 7}, InputError, "edges must be a path, or a polars, pandas or Arrow frame"),
    ({"edges": {"source": ["a"], "target": ["b"], "w": [-1.0]}, "weight": "w"}, InputError, "not negative"),
    ({"edges": {"source": ["a"], "target": ["b"], "w": [None]}, "weight": "w"}, InputError, "not negative, missing or infinite"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "error", "message"), BAD)
def test_everything_wrong_gets_one_clear_message(change, error, message):
    with pytest.raises(error, match=message):
        read(**change)


def test_new_tables_must_have_the_columns_and_types_of_the_fit():
    schema = read().schema
    edges = {"source": ["a"], "target": ["a"], "amount": [1.0]}
    with pytest.raises(ColumnError, match=r"edges table must have .* 1 is missing: \['amount'\]"):
        read_tables({"id": ["a"], "age": [1.0], "country": ["NO"]}, {"source": ["a"], "target": ["a"]}, schema=schema)
    with pytest.raises(ColumnError, match=r"1 is missing: \['age'\]; did you mean 'agee'"):
        read_tables({"id": ["a"], "agee": [1.0], "country": ["NO"]}, edges, schema=schema)
    with pytest.raises(InputError, match="column 'age' must hold numbers; 1 values are words, such as 'old'"):
        read_tables({"id": ["a"], "age": ["old"], "country": ["NO"]}, edges, schema=schema)
    with pytest.raises(InputError, match="column 'age' holds a value out of all proportion"):
        read_tables({"id": ["a"], "age": [1e300], "country": ["NO"]}, edges, schema=schema)
    joined = {"id": range(60), "device_id": [f"d{k // 2}" for k in range(60)], "y": [1, 0, 0] * 20}
    by_device = read_tables(joined, label="y", rare=1, same=["device_id"]).schema
    with pytest.raises(
        ColumnError, match=r"must have the columns that the model was fitted on; 1 is missing: \['device_id'\]"
    ):
        read_tables({"id": [1, 2]}, schema=by_device)
    with pytest.raises(ColumnError, match="label must be a column"):
        read_tables({"id": ["a"], "age": [1.0], "country": ["NO"]}, edges, schema=schema, label="is_fraud")
    broken = json.loads(json.dumps(schema))
    broken["columns"][0]["scale"] = 0
    with pytest.raises(InputError, match="wrong type"):
        read_tables(NODES, EDGES, schema=broken)


FILES = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n\n", "cannot be read"),
    "header.csv": (b"id,x,y\n", "at least one row"),
    "cyrillic.csv": (b"id,x,y\n\xcf\xe5\xf2\xf0,1,0\n", "not in UTF-8"),
    "ragged.csv": (b"id,x,y\n1,2,3,4,5\n", "cannot be read"),
    "zero.csv": (b"\x00\x00\x00", "at least one row"),
    "cut.parquet": (b"PAR1\x00\x00", "cannot be read"),
    "text.parquet": (b"id,x,y\n1,2,3\n", "cannot be read"),
    "text.arrow": (b"id,x,y\n1,2,3\n", "cannot be read"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00", "cannot be read"),
    "table.xlsx": (b"PK", "must end in one of .* Save the sheet as CSV"),
    "net.graphml": (b"<", r"In Python: calirare.from_networkx\(networkx.read_graphml\('.*net.graphml'\)"),
    "bank.db": (b"SQLite", r"Name a table of the database: sqlite:///.*bank.db#TABLE"),
    "table.json": (b"[]", "one object per line, as .jsonl"),
}


@pytest.mark.parametrize("name", FILES)
def test_broken_files_are_refused(name, tmp_path):
    content, message = FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CalirareError, match=message):
        read_tables(tmp_path / name, EDGES, label="y", rare="1")
    if name == "header.csv":  # edges without rows are fine: the graph has none
        return
    with pytest.raises(CalirareError):
        read_tables(NODES, tmp_path / name, label="is_fraud", rare="yes")


@pytest.mark.parametrize("word", ["in Abklärung", "Não informado", "不明", "未確認", "En cours", "em análise"])
def test_labels_that_nobody_knows_are_unknown_in_other_languages(word):
    graph = read({"is_fraud": ["yes", "no", word, "no"]})
    assert graph.y.tolist() == [1, 0, -1, 0] and graph.schema["read"]["labels"]["missing_words"] == {word: 1}


def test_records_within_records_become_columns_whole_and_in_parts(tmp_path):
    """As JSON and Parquet hold them."""
    places = [{"city": city, "at": {"lat": lat}} for city, lat in zip("abab", (1.0, 2.0, 4.0, 8.0), strict=True)]
    flat = read({"place.city": list("abab"), "place.at.lat": [1.0, 2.0, 4.0, 8.0]})
    nodes = pa.table({**NODES, "place": places})
    pq.write_table(nodes, tmp_path / "nodes.parquet")
    pl.from_arrow(nodes).write_ndjson(tmp_path / "nodes.jsonl")
    for table in (nodes, tmp_path / "nodes.parquet", tmp_path / "nodes.jsonl"):
        graph = read_tables(table, EDGES, label="is_fraud", rare="yes")
        assert graph.feature_names == flat.feature_names
        np.testing.assert_array_equal(graph.x, flat.x)
    stream = TableStream.open(tmp_path / "nodes.parquet", EDGES, graph.schema, {})
    found = pl.concat([rows.frame for _, _, rows in stream.node_batches(3)])
    assert found["place.at.lat"].to_list() == [1.0, 2.0, 4.0, 8.0]


def test_decimals_that_polars_cannot_hold_are_numbers(tmp_path):
    narrow = read({"sum": [0.25, None, 1.5, 3.0]})
    wide = pa.array([Decimal("0.25"), None, Decimal("1.50"), Decimal(3)], pa.decimal256(50, 2))
    nodes = pa.table(NODES).append_column("sum", wide)
    pq.write_table(nodes, tmp_path / "nodes.parquet")
    for table in (nodes, tmp_path / "nodes.parquet"):
        graph = read_tables(table, EDGES, label="is_fraud", rare="yes")
        assert graph.feature_names == narrow.feature_names
        np.testing.assert_array_equal(graph.x, narrow.x)


def test_missing_files_folders_and_truncated_parquet_are_refused(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_tables(tmp_path / "no.csv", EDGES, label="y", rare=1)
    with pytest.raises(DataError, match="has no shards"):
        read_tables(tmp_path, EDGES, label="y", rare=1)
    path = tmp_path / "nodes.parquet"
    pl.DataFrame(NODES).write_parquet(path)
    whole = path.read_bytes()
    for size in range(1, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError):
            read_tables(path, EDGES, label="is_fraud", rare="yes")


SHARDS = {
    "csv": lambda frame, path: frame.write_csv(path, include_bom=True, separator=";"),
    "tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
    "parquet": lambda frame, path: frame.write_parquet(path),
    "arrow": lambda frame, path: frame.write_ipc(path, compat_level=pl.CompatLevel.oldest()),
}


@pytest.mark.parametrize("ending", SHARDS)
def test_a_folder_and_a_pattern_of_shards_are_the_table(tmp_path, ending):
    folder = tmp_path / "nodes"
    folder.mkdir()
    for place in range(2):
        SHARDS[ending](pl.DataFrame(NODES)[2 * place : 2 * place + 2], folder / f"part-{place}.{ending}")
    (folder / "_SUCCESS").touch()
    (folder / "README.txt").write_text("exported")
    expected = read()
    for table in (folder, folder / f"part-?.{ending}"):
        graph = read_tables(table, EDGES, label="is_fraud", rare="yes")
        np.testing.assert_allclose(graph.x, expected.x)
        assert graph.y.tolist() == expected.y.tolist() and graph.ids.tolist() == NODES["id"]
    SHARDS[ending](pl.DataFrame(NODES).rename({"age": "years"}), folder / f"part-9.{ending}")
    with pytest.raises(DataError, match=r"by \['years'\]; shards must be alike"):
        read_tables(folder, EDGES, label="is_fraud", rare="yes")


def test_names_that_stand_between_rows_are_no_node(tmp_path, caplog):
    path = tmp_path / "nodes.csv"
    rows = pl.DataFrame(NODES).write_csv()
    path.write_text("\ufeff" + rows + "\ufeff" + rows.replace("a,", "e,").replace("b,", "f,").split("c,")[0])
    graph = read_tables(path, EDGES, label="is_fraud", rare="yes")
    assert graph.ids.tolist() == ["a", "b", "c", "d", "e", "f"]
    assert "repeat the names of the columns are left out, 1 of them" in caplog.text


def test_ids_that_stand_in_another_column_are_pointed_out():
    nodes = {
        "row": ["0", "1", "2", "3"],
        "Kunden-Nr.": ["00", "01", "02", "03"],
        "age": [1, 2, 2, 4],
        "y": ["a", "b", "a", "b"],
    }
    edges = {"source": ["00", "01"], "target": ["02", "03"]}
    with pytest.raises(InputError, match=r"not in column 'row'.*They are in column 'Kunden-Nr.' \(--id Kunden-Nr.\)"):
        read_tables(nodes, edges, label="y", rare="a")
    assert read_tables(nodes, edges, label="y", rare="a", id="Kunden-Nr.").num_edges == 2


def test_a_column_without_a_name_is_called_by_its_place(tmp_path):
    path = tmp_path / "nodes.csv"
    rows = "".join(f"{k},{k % 3},{k % 7},{'yes' if k % 5 else 'no'}\n" for k in range(40))
    path.write_text(",x, ,is_fraud\n" + rows + ",x,,is_fraud\n")
    graph = read_tables(path, {"source": [1], "target": [2]}, label="is_fraud", rare="no")
    assert graph.schema["id"] == "column_1" and graph.feature_names == ("x", "column_3") and graph.num_nodes == 40


def test_columns_of_the_same_name_in_pandas_are_refused():
    frame = pd.DataFrame([[1, 2, 0], [2, 3, 1]], columns=["id", "x", "x"])
    with pytest.raises(InputError, match="appear twice"):
        read_tables(frame, EDGES, label="x", rare=1)


def test_times_and_encoded_categories_are_understood():
    columns = {
        "wait": [datetime.timedelta(days=k) for k in (1, 2, 3, 4)],
        "hour": [datetime.time(k) for k in (0, 6, 12, 18)],
        "seen": [datetime.datetime(2020, 1, k, 12) for k in (1, 2, 3, 4)],
        "kind": pl.Series(["x", "y", "x", None], dtype=pl.Enum(["x", "y"])),
    }
    graph = read(columns)
    steps = np.arange(4) - 1.5
    for name in ("wait", "hour", "seen"):
        assert np.allclose(graph.x[:, graph.feature_names.index(name)], steps / steps.std(), atol=1e-6), name
    medians = {column["name"]: column.get("median") for column in graph.schema["columns"]}
    assert (medians["wait"], medians["hour"], medians["seen"]) == (2.5, 9.0, 18264.0)
    assert {"kind = x", "kind = y", "kind is missing"} <= set(graph.feature_names)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_missing_library_is_named_with_the_line_that_installs_it(library, tmp_path, monkeypatch):
    pl.DataFrame(NODES).write_parquet(tmp_path / "nodes.parquet")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingDependencyError, match=rf"needs {library}, .* pip install 'calirare\[tables\]'"):
        read_tables(tmp_path / "nodes.parquet", EDGES, label="is_fraud", rare="yes")


def test_weighted_graphs_keep_their_weights_as_tables(tmp_path):
    graph = RareGraph(x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1]), edge_weight=np.array([2.5]))
    nodes, edges = write_tables(graph, tmp_path)
    again = read_tables(nodes, edges, label="is_fraud", rare="yes", weight="weight")
    assert again.edge_weight.tolist() == [2.5, 2.5] and again.feature_names == ("feature_0", "feature_1")


def test_numbers_that_are_called_ids_are_names():
    n = 300
    nodes = {"id": range(n), "bank_id": np.arange(n) % 7, "branchCode": np.arange(n) % 5, "customer_id": np.arange(n) // 1.5,
             "visits": np.arange(n) % 9, "y": np.arange(n) % 2}  # fmt: skip
    nodes["customer_id"] = nodes["customer_id"].astype(int)
    edges = {
        "source": np.arange(n),
        "target": np.arange(n)[::-1],
        "device_id": np.arange(n) % 40,
        "fee": np.arange(n) % 3,
    }
    schema = read_tables(nodes, edges, label="y", rare=1).schema
    kinds = {column["name"]: column["type"] for column in schema["columns"]}
    assert kinds == {
        "bank_id": "categorical",
        "branchCode": "categorical",
        "customer_id": "ignore",
        "visits": "numeric",
    }
    assert {c["name"]: c["kind"] for c in schema["edges"]["columns"]} == {"device_id": "category", "fee": "number"}


def test_rare_categories_of_edges_are_not_called_unseen(caplog):
    n = 2_000
    nodes = {"id": range(10), "x": range(10), "y": [0, 1] * 5}
    kind = [f"k{k % 150}" if k < 1_750 else f"r{k}" for k in range(n)]
    edges = {"source": np.arange(n) % 10, "target": np.arange(n) % 9, "kind": kind}
    graph = read_tables(nodes, edges, label="y", rare=1)
    assert (
        graph.schema["read"]["edge_values"]["rare"] == {"kind": 200}
        and graph.schema["read"]["edge_values"]["unseen"] == {}
    )
    assert "never seen" not in caplog.text
    later = read_tables(nodes, edges | {"kind": ["new", *kind[1:]]}, schema=graph.schema)
    assert later.schema["read"]["edge_values"]["rare"] == {"kind": 200} and later.schema["read"]["edge_values"][
        "unseen"
    ] == {"kind": 1}


def test_a_file_without_names_keeps_its_first_row(tmp_path, caplog):
    rows = "".join(f"{k % 9 + 1},{k % 8 + 1},{k % 21 - 10},{1289241911.7 + k}\n" for k in range(40))
    (tmp_path / "raw.csv").write_text(rows)
    labels = {"id": range(1, 10), "y": [1, 0, 0] * 3}
    graph = read_tables(None, tmp_path / "raw.csv", labels=labels, rare=1)
    assert len(graph.edges) == 40 and "no names" in caplog.text
    assert [(c.name, c.kind) for c in graph.edges.columns] == [("column_3", "number"), ("column_4", "time")]
    assert graph.edges.columns[1].values.min() == pytest.approx(1289241911.7)


def test_ends_without_usual_names_are_found_by_the_ids_that_they_hold():
    nodes = {"konto": [f"k{k}" for k in range(30)], "y": [0, 1] * 15}
    edges = {"datum": ["2024-01-01"] * 60, "soll": [f"k{k % 30}" for k in range(60)], "betrag": range(60),
             "haben": [f"k{k % 29}" for k in range(60)]}  # fmt: skip
    schema = read_tables(nodes, edges, label="y", rare=1).schema
    assert (schema["edges"]["source"], schema["edges"]["target"]) == ("soll", "haben")
    by_labels = read_tables(None, edges, labels=nodes, label="y", rare=1).schema
    assert (by_labels["edges"]["source"], by_labels["edges"]["target"]) == ("soll", "haben")


def test_labels_of_nobody_are_refused():
    labels = {"id": ["x1", "x2"], "y": [0, 1]}
    with pytest.raises(InputError, match=r"none of the 2 ids in column 'id' is there.*--source and --target"):
        read_tables(None, {"source": ["a", "b"], "target": ["b", "a"]}, labels=labels, rare=1)


@pytest.mark.parametrize("rare", [1, "1", "yes", True, "TRUE"])
def test_truth_is_found_however_it_is_said(rare):
    nodes = {"id": [1, 2, 3], "y": ["False", "True", None]}
    assert read_tables(nodes, {"source": [1], "target": [2]}, label="y", rare=rare).y.tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("labels", "rare", "y"),
    [
        (["1", "2", "unknown", "Unlabelled", "?"], "1", [1, 0, -1, -1, -1]),
        (["confirmed", "cleared", "Pending", "under review", "cleared"], "confirmed", [1, 0, -1, -1, 0]),
        (["Ja", "nein", "k.A.", "Unbekannt", "in Prüfung"], "ja", [1, 0, -1, -1, -1]),
        (["positive", "negative", "not tested", "Inconnu", "negative"], "positive", [1, 0, -1, -1, 0]),
        ([1, 0, -1, -1, 2], 1, [1, 0, -1, -1, 0]),
        ([1, -1, -1, 1, -1], 1, [1, 0, 0, 1, 0]),  # of two classes, -1 is one
        ([-1, 0, 1, 0, 1], -1, [1, 0, 0, 0, 0]),
        (["unknown", "ok", "ok", "ok", "na"], "unknown", [1, 0, 0, 0, -1]),  # who looks for it means it
    ],
)
def test_labels_that_say_unknown_are_unknown(labels, rare, y, caplog):
    edges = {"source": [0, 1], "target": [2, 3]}
    graph = read_tables({"id": range(5), "x": range(5), "label": labels}, edges, label="label", rare=rare)
    assert graph.y.tolist() == y
    assert ("count as unknown" in caplog.text) == (-1 in y)
    # A model keeps the meaning that its fit gave to a value.
    again = read_tables({"id": range(5), "x": range(5), "label": labels}, edges, schema=graph.schema)
    assert again.y.tolist() == y


@pytest.mark.parametrize("sign", ["\t", " ", ","])
def test_remarks_above_a_table_are_no_rows(tmp_path, sign):
    lines = ["# Directed graph: who trusts whom", f"# FromNodeId{sign}ToNodeId{sign}Sign"]
    (tmp_path / "edges.txt").write_text("\n".join([*lines, f"0{sign}1{sign}-1", f"1{sign}2{sign}1"]) + "\n")
    frame = to_frame(tmp_path / "edges.txt", "edges")
    assert frame.rows() == [("0", "1", "-1"), ("1", "2", "1")]
    assert frame.columns == ["FromNodeId", "ToNodeId", "Sign"]
    (tmp_path / "named.csv").write_text("#id,x\na,1\n")
    assert to_frame(tmp_path / "named.csv", "nodes").columns == ["#id", "x"]
    (tmp_path / "bare.csv").write_text("# made today\n5,7,9\n")
    assert to_frame(tmp_path / "bare.csv", "edges").rows() == [("5", "7", "9")]


def test_a_network_alone_says_that_it_does_not_read_the_columns_of_edges():
    edges = {"source": [0, 1], "target": [1, 2], "amount": [1.5, 2.0], "w": [1.0, 2.0], "note": ["a" * 300, "b" * 300]}
    nodes = {"id": range(3), "x": [1.0, 2.0, 3.0], "since": ["2020-01-01", "2020-01-03", None], "y": [0, 1, 0]}
    schema = read_tables(nodes, edges, label="y", rare=1, weight="w").schema
    said = {row["column"]: row["treatment"] for row in describe_schema(schema, networks_alone=True)}
    assert said["amount"].startswith("not used: a network alone") and said["w"] == "the weight of the edges"
    assert said["note"].startswith("not used: texts without words that come again") and said["target"] == "to"
    assert said["since"].startswith("days since 2020-01-02, / 1") and "missing: 2020-01-02" in said["since"]
    assert {row["column"]: row["treatment"] for row in describe_schema(schema)}["amount"] == "summed up per node"


def test_another_rare_value_than_at_the_fit_is_refused():
    nodes = {"id": ["a", "b"], "x": [1.0, 2.0], "fraud": ["yes", "no"]}
    edges = {"source": ["a"], "target": ["b"]}
    schema = read_tables(nodes, edges, label="fraud", rare="yes").schema
    assert read_tables(nodes, edges, label="fraud", rare="Yes", schema=schema).y.tolist() == [1, 0]
    with pytest.raises(InputError, match="rare must be that of the fit, 'yes', where a schema is given; got 'no'"):
        read_tables(nodes, edges, label="fraud", rare="no", schema=schema)


def test_a_column_that_arrow_does_not_have_is_refused():
    nodes = pd.DataFrame({"id": ["a", "b"], "x": [1j, 2j], "fraud": ["yes", "no"]})
    with pytest.raises(InputError, match="nodes cannot be turned into a table"):
        read_tables(nodes, None, label="fraud", rare="yes")


def test_what_another_kind_does_not_have_is_no_gap_that_was_filled():
    files = {"file": ["a", "b", "c"], "size": [1, None, 3], "bits": [8, 16, 8], "bad": ["yes", "no", None]}
    calls = {"file": ["a", "b", "c", "a"], "domain": ["x", "x", "y", "y"]}
    tables = {"files": files, "domains": {"domain": ["x", "y"], "years": [2, 3]}}
    graph = read_tables(tables, calls, label="bad", rare="yes")
    assert graph.num_nodes == 5 and graph.schema["read"]["imputed"] == {"size": 1}
    assert graph.schema["read"]["lacking"] == {"size": 2, "bits": 2, "years": 3}
    assert describe_counts(graph.schema) == {"gaps filled in size": 1}
    told = describe_counts(read_tables(files, calls, label="bad", rare="yes", keep_unknown_edges=True).schema)
    assert told["gaps filled in size"] == 1 and "gaps filled in bits" not in told


def test_gaps_are_counted_by_one_rule_whole_and_in_parts(tmp_path):
    rng = np.random.default_rng(0)
    people = {"key": list(range(300)), "age": rng.normal(size=300).tolist(), "bad": ["yes", "no", "no"] * 100}
    shops = {"key": list(range(300, 400)), "floors": rng.normal(size=100).tolist()}
    edges = {"source": list(range(300)), "target": rng.integers(300, 400, 300).tolist()}
    schema = read_tables({"people": people, "shops": shops}, edges, label="bad", rare="yes").schema
    known, half = rng.normal(size=300), np.where(np.arange(300) % 2, None, 0.5).tolist()
    for age, imputed, lacking, shifted in [
        (known.tolist(), {}, {"age": 100, "floors": 300}, set()),
        (half, {"age": 150}, {"age": 100, "floors": 300}, {"age"}),
        ([None] * 300, {"age": 400}, {"floors": 300}, {"age"}),  # which is no matter of kinds
    ]:
        tables = {"people": people | {"age": age}, "shops": shops}
        graph = read_tables(tables, edges, schema=schema)
        parts = partition_tables(tables, edges, schema, tmp_path, partitions=2)
        for read in (graph.schema["read"], parts.read):
            assert (read["imputed"], read["lacking"]) == (imputed, lacking)
        for shifts in (compare_with_fit(graph), compare_profiles(parts.profile, schema, parts.read)):
            assert {one.column for one in shifts.found if "cells were empty" in one.words} == shifted


def test_a_column_of_the_fit_that_is_gone_comes_with_the_way_out():
    files = {"id": ["a", "b", "c"], "size": [1, 2, 3], "bits": [8, 16, 8], "bad": ["yes", "no", None]}
    fitted = read_tables(files, label="bad", rare="yes")
    gone = {name: values for name, values in files.items() if name != "size"}
    with pytest.raises(ColumnError, match=r"\['size'\].* Add it, empty where nothing is known"):
        read_tables(gone, schema=fitted.schema)
    assert read_tables({**gone, "size": [None] * 3}, schema=fitted.schema).x[:, 0].tolist() == [0.0] * 3


@pytest.mark.parametrize("ids", [["4.71E+03", "4.71E+03", "4.72E+03"], ["4,71E+03", "4,71E+03", "9"]])
def test_ids_that_a_spreadsheet_shortened_have_lost_digits(ids):
    with pytest.raises(
        InputError, match=r"ids as '4.71E\+03', which a spreadsheet has shortened: they have lost digits"
    ):
        read_tables({"id": ids, "x": [1, 2, 3], "y": [0, 1, 0]}, label="y", rare=1)


def test_a_table_without_rows_is_said_to_be_so_beside_labels_and_other_kinds():
    edges = {"claim": ["a", "b"], "garage": ["g", "h"]}
    with pytest.raises(InputError, match="at least one row; the table has none"):
        read_tables({"claim": [], "x": []}, edges, labels={"claim": ["a", "b"], "bad": [1, 0]}, rare=1)


def test_a_table_of_the_fit_that_is_not_given_is_named():
    claims = {"claim": ["a", "b", "c"], "sum": [1, 2, 3], "bad": ["yes", "no", None]}
    garages = {"garage": ["g", "h"], **{f"fact {k}": [k, 2 * k] for k in range(1, 15)}}
    edges = {
        "repairs": {"claim": ["a", "b"], "garage": ["g", "h"]},
        "calls": {"claim": ["a"], "other": ["b"], "cost": [5]},
    }
    schema = read_tables({"claims": claims, "garages": garages}, edges, label="bad", rare="yes").schema
    with pytest.raises(
        ColumnError, match=r"14 are missing: .*'fact 12'\] and 2 more\. .* \(--nodes garages=FILE\)"
    ) as said:
        read_tables(claims, edges, schema=schema)
    assert "choices" not in str(said.value) and "empty" not in str(said.value)
    with pytest.raises(ColumnError, match=r"edges table .* 1 is missing: \['cost'\]\. .* \(--edges calls=FILE\)"):
        read_tables({"claims": claims, "garages": garages}, {"repairs": edges["repairs"]}, schema=schema)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["worm", "virus", "none"], 2),  # may be either: unknown
        (["worm", "none", ""], 2),
        (["worm", "virus", "None", ""], 3),  # unknown is written otherwise
        (["worm", "virus", "phishing", "none"], 4),
        (["worm", "benign", "virus", "none", ""], 3),  # another class says no
        (["yes", "no", "none"], 2),
    ],
)
def test_none_is_a_class_where_it_says_that_there_is_nothing(labels, classes, caplog):
    nodes = {"id": range(12), "found": [labels[k % len(labels)] for k in range(12)]}
    graph = read_tables(nodes, {"a": [0, 1], "b": [1, 2]}, label="found", rare=labels[0])
    assert len(graph.schema["label"]["values"]) == classes
    assert ("read as a class" in caplog.text) == (
        "none" in [value.lower() for value in graph.schema["label"]["values"]]
    )
    again = read_tables(nodes, {"a": [0, 1], "b": [1, 2]}, schema=graph.schema)
    assert again.y.tolist() == graph.y.tolist()


@pytest.mark.parametrize("kind", ["nodes", "edges"])
def test_whole_numbers_with_decimals_are_the_categories_that_they_were(kind):
    """A port is 443 in one file and 443.0 in the next, where a row lacks it."""
    rng = np.random.default_rng(0)
    ports = rng.choice(["22", "80", "443"], 200)
    nodes = {"id": [f"n{k}" for k in range(200)], "port": ports, "y": [k % 5 == 0 for k in range(200)]}
    edges = {"source": nodes["id"], "target": np.roll(nodes["id"], 1), "dst_port": ports}
    options = {"types": {"port": "categorical", "dst_port": "categorical"}}
    schema = read_tables(nodes, edges, label="y", rare="true", **options).schema
    before = read_tables(nodes, edges, schema=schema)
    table = nodes if kind == "nodes" else edges
    name = "port" if kind == "nodes" else "dst_port"
    later = table | {name: [f"{port}.0" for port in ports]}
    after = read_tables(*((later, edges) if kind == "nodes" else (nodes, later)), schema=schema)
    np.testing.assert_array_equal(after.x, before.x)
    np.testing.assert_array_equal(after.edges.columns[0].values, before.edges.columns[0].values)


def test_times_in_another_unit_are_read_in_it_with_a_word(caplog):
    ids, start = [f"n{k}" for k in range(60)], 1_767_700_000 + 1_000 * np.arange(60)
    nodes = {"id": ids, "y": [k % 5 == 0 for k in range(60)]}

    def edges(times):
        return {"source": ids, "target": ids[1:] + ids[:1], "start": times}

    in_words = [str(np.datetime64(int(second), "s")) for second in start]
    for first in (in_words, start, 1_000 * start):
        schema = read_tables(nodes, edges(first), label="y", rare="true").schema
        for later in (start, 1_000 * start, 1_000_000 * start):
            caplog.clear()
            graph = read_tables(nodes, edges(later), schema=schema)
            np.testing.assert_allclose(graph.edges.columns[0].values, start, atol=1e-3)
            usual = start if first is in_words else first
            assert ("60 of 60 times are read in" in caplog.text) == (not np.array_equal(later, usual))
