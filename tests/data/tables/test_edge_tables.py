"""Edges as they come: direction, repetition, types, columns of every kind, several tables, no nodes table."""

import json
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from calirare.data.graph import RareGraph
from calirare.data.merging import merge_edges
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.findings.read_counts import describe_counts
from calirare.data.tables.reading import read_tables
from calirare.data.tables.schema.asked import arguments_of
from calirare.data.tables.shift import compare_with_fit
from calirare.errors import ColumnError, InputError

NODES = {"id": ["a", "b", "c"], "x": [1.0, 2.0, 4.0], "fraud": ["yes", "no", None]}
EDGES = {
    "from": ["a", "a", "b", "c", "b"],
    "to": ["b", "b", "a", "c", "c"],
    "amount": [5.0, -2.0, 0.0, None, 7.0],
    "when": ["2024-01-01 12:00", "2024-01-02", None, "2024-01-04", "2024-01-03 06:30:15"],
    "channel": ["card", "app", "card", None, "card"],
    "note": [[1], [2], [3], [4], [5]],
}


def read(edges=EDGES, nodes=NODES, **options):
    return read_tables(nodes, edges, **({"label": "fraud", "rare": "yes"} | options))


def test_every_row_keeps_its_direction_and_every_usable_column():
    graph = read()
    edges = graph.edges
    assert edges.directed and edges.type is None and len(edges) == 5
    assert edges.source.tolist() == [0, 0, 1, 2, 1] and edges.target.tolist() == [1, 1, 0, 2, 2]
    amount, when, channel = edges.columns
    assert (amount.name, when.kind, channel.categories) == ("amount", "time", ("app", "card"))
    np.testing.assert_array_equal(amount.values, [5, -2, 0, np.nan, 7])
    first = 1704067200.0  # 2024-01-01, UTC
    np.testing.assert_array_equal(
        when.values, [first + 43200, first + 86400, np.nan, first + 3 * 86400, first + 2 * 86400 + 23415]
    )
    assert channel.values.tolist() == [1, 0, 1, -1, 1]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]] and graph.edge_weight is None
    rows = {row["column"]: row for row in describe_schema(graph.schema) if row["table"] == "edges"}
    assert list(rows) == ["from", "to", "amount", "when", "channel", "note"]
    assert rows["note"]["treatment"].startswith("not used: holds List")
    assert read(directed=False).edges.directed is False


def test_the_rule_for_parallel_edges_stands_once():
    edges = {"from": ["a", "b", "a"], "to": ["b", "a", "c"], "w": [1.0, 2.0, 4.0]}
    graph = read(edges, weight="w")
    index, weight = merge_edges(np.array([[0, 1, 0], [1, 0, 2]]), np.array([1.0, 2.0, 4.0]), 3)
    assert graph.edge_weight.tolist() == weight.tolist() == [3.0, 4.0, 3.0, 4.0]
    assert graph.edge_index.tolist() == index.tolist()
    back = RareGraph(x=graph.x, edge_index=graph.edge_index, y=graph.y, edge_weight=graph.edge_weight)
    assert back.edge_weight.tolist() == graph.edge_weight.tolist()
    assert [column.name for column in graph.edges.columns] == ["w"]  # a weight is a column too
    # Paid back to the cent: rows of a table are events, and none of them is the other's mirror.
    assert read({"from": ["a", "b"], "to": ["b", "a"], "w": [3.0, 3.0]}, weight="w").edge_weight.tolist() == [6.0, 6.0]


def test_new_tables_are_read_as_at_fit():
    schema = json.loads(json.dumps(read().schema, allow_nan=False))
    new = {
        "from": ["a", "c"], "to": ["c", "b"], "amount": ["1.5", None], "when": [None, "2024-02-01T00:00:00Z"],
        "channel": ["card", "fax"],
    }  # fmt: skip
    graph = read(new, schema=schema)
    amount, when, channel = graph.edges.columns
    np.testing.assert_array_equal(amount.values, [1.5, np.nan])
    np.testing.assert_array_equal(when.values, [np.nan, 1706745600.0])
    assert channel.values.tolist() == [1, -1] and graph.schema["read"]["edge_values"]["unseen"] == {"channel": 1}
    with pytest.raises(ColumnError, match="amount"):
        read({"from": ["a"], "to": ["b"]}, schema=schema)
    for path, value in ((["columns", 0, "kind"], "word"), (["columns", 2, "categories"], [1]), (["directed"], "yes"),
                        (["tables", 0, "source"], 3), (["types"], [1]), (["columns", 1, "unit"], 0)):  # fmt: skip
        broken = json.loads(json.dumps(schema))
        place = broken["edges"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(InputError, match="schema"):
            read(new, schema=broken)


def test_types_of_edge_from_a_column_or_from_several_tables(tmp_path):
    graph = read(edge_type="channel")
    assert graph.edges.type_names == ("app", "card", "unknown") and graph.edges.type.tolist() == [1, 0, 1, 2, 1]
    assert "channel" not in [column.name for column in graph.edges.columns]
    new = {"from": ["a", "b"], "to": ["b", "c"], "amount": [1, 2], "when": [None, None], "channel": ["fax", "card"]}
    again = read(new, schema=graph.schema)
    assert again.edges.type_names == ("app", "card", "unknown", "fax") and again.edges.type.tolist() == [3, 1]

    pays = {"payer": ["a", "b"], "payee": ["b", "c"], "amount": [1.0, 2.0]}
    calls = {"caller": ["c"], "callee": ["a"], "seconds": [30]}
    graph = read({"pays": pays, "calls": calls})
    assert graph.edges.type_names == ("pays", "calls") and graph.edges.type.tolist() == [0, 0, 1]
    assert graph.edges.source.tolist() == [0, 1, 2] and graph.edges.target.tolist() == [1, 2, 0]
    values = {column.name: column.values.tolist() for column in graph.edges.columns}
    assert values["amount"][:2] == [1.0, 2.0] and np.isnan(values["amount"][2]) and values["seconds"][2] == 30.0
    swapped = read({"calls": calls, "pays": pays}, schema=graph.schema)
    assert swapped.edges.type_names == ("pays", "calls") and swapped.edges.type.tolist() == [1, 0, 0]
    files = []
    for name, table in (("p_jan", pays), ("c_jan", calls)):
        files.append(tmp_path / f"{name}.csv")
        pl.DataFrame(table).write_csv(files[-1])
    assert read(files).edges.type_names == ("p_jan", "c_jan")
    renamed = read([str(file) for file in files], schema=graph.schema)  # other names, the same number: by place
    assert renamed.edges.type_names == ("pays", "calls") and renamed.edges.type.tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="edge_type must be left out"):
        read({"pays": pays, "calls": calls}, edge_type="amount")
    with pytest.raises(ColumnError, match="edge_type"):
        read(edge_type="chanel")
    many = {"from": ["a"] * 60, "to": ["b"] * 60, "kind": [f"k{k}" for k in range(60)]}
    with pytest.raises(InputError, match="at most 50; 'kind' holds 60"):
        read(many, edge_type="kind")


def test_only_kinds_of_node_with_labels_are_scored():
    nodes = {**NODES, "kind": ["user", "user", "shop"]}
    graph = read(nodes=nodes, node_type="kind")
    assert graph.node_type_names == ("shop", "user") and graph.node_type.tolist() == [1, 1, 0]
    assert graph.scored.tolist() == [0, 1] and graph.feature_names == ("x",)
    unlabelled = {key: value for key, value in nodes.items() if key != "fraud"}
    assert read_tables(unlabelled, EDGES, schema=graph.schema).scored.tolist() == [0, 1]
    users = {"user": ["a", "b"], "x": [1.0, 2.0], "fraud": ["yes", "no"]}
    graph = read(nodes={"users": users, "shops": {"shop": ["c"], "rent": [9.0]}})
    assert graph.node_type_names == ("users", "shops") and graph.ids.tolist() == ["a", "b", "c"]
    assert graph.feature_names == ("x", "x is missing", "rent", "rent is missing") and graph.scored.tolist() == [0, 1]
    with pytest.raises(InputError, match="share ids, so the ends of the edges must say which kind"):
        read(nodes={"users": users, "shops": {"shop": ["b", "c"], "rent": [9.0, 1.0]}})
    with pytest.raises(InputError, match="node_type must be left out"):
        read(nodes=[users, {"shop": ["c"]}], node_type="x")


def test_an_id_and_a_label_are_enough_and_labels_may_stand_alone():
    graph = read(nodes={"id": ["a", "b", "c"], "fraud": ["yes", "no", None]})
    assert graph.x.shape == (3, 0) and graph.feature_names == () and graph.num_edges == 2
    labels = {"who": ["b", "a", "z"], "fraud": ["no", "yes", "no"], "since": [1, 2, 3]}
    graph = read(nodes=None, labels=labels)
    assert graph.ids.tolist() == ["a", "b", "c", "z"] and graph.y.tolist() == [1, 0, -1, 0]
    assert graph.x.shape == (4, 0) and graph.schema["nodes"]["from_edges"]
    assert read_tables(None, EDGES, schema=graph.schema).ids.tolist() == ["a", "b", "c"]
    assert read_tables(None, EDGES, labels={"id": ["a", "b"], "y": [1, 0]}, rare=1).y.tolist() == [1, 0, -1]
    beside = read(nodes={"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}, labels=labels)
    assert beside.y.tolist() == [1, 0, -1, 0] and beside.feature_names == ("x", "x is missing")
    with pytest.raises(InputError, match="no table of nodes"):
        read(nodes=None)
    with pytest.raises(InputError, match="or with one label; 1 id has several, first: \\['a'\\]"):
        read(nodes=None, labels={"id": ["a", "b", "a"], "fraud": ["yes", "no", "no"]})
    twice = read(
        nodes=None, labels={"id": ["a", "b", "a", "a"], "fraud": ["yes", "no", "yes", None], "seen": [1, 2, 3, 4]}
    )
    assert twice.y.tolist() == [1, 0, -1]
    with pytest.raises(InputError, match="two columns"):
        read(nodes=None, labels={"id": ["a"]})
    with pytest.raises(InputError, match="stand in one table"):
        read(labels=labels)


def test_labels_of_nodes_that_no_other_table_names_are_told(caplog):
    labels = {"who": ["b", "a", "z"], "fraud": ["no", "yes", "no"]}
    read(nodes={"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}, labels=labels)
    assert "1 of 3 ids of the labels table are in no other table, first: ['z']" in caplog.text
    caplog.clear()
    read(nodes={"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}, labels={"who": ["b", "a"], "fraud": ["no", "yes"]})
    assert caplog.text == ""


def test_nodes_that_were_exported_twice_are_read_once(caplog):
    once = read(nodes={"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "fraud": ["yes", "no", None]})
    caplog.clear()
    twice = read(nodes={"id": ["a", "b", "b", "c"], "x": [1.0, 2.0, 2.0, 3.0], "fraud": ["yes", "no", "no", None]})
    assert "nodes: 1 rows repeat another in every column; each is read once." in caplog.text
    assert twice.ids.tolist() == once.ids.tolist() and twice.y.tolist() == once.y.tolist()
    np.testing.assert_array_equal(twice.x.toarray() if hasattr(twice.x, "toarray") else twice.x, once.x)
    np.testing.assert_array_equal(twice.edge_index, once.edge_index)


@pytest.mark.parametrize("other", [{"x": [1.0, 2.0, 5.0]}, {"fraud": ["yes", "no", "yes"]}])
def test_nodes_of_which_two_rows_say_different_things_are_refused(other):
    nodes = {"id": ["a", "b", "b"], "x": [1.0, 2.0, 2.0], "fraud": ["yes", "no", "no"], **other}
    with pytest.raises(InputError, match="1 id appears more than once: \\['b'\\]. Give one row per node"):
        read(nodes=nodes)


def test_ids_that_two_kinds_share_are_no_copies():
    row = {"id": ["a", "b"], "fraud": ["yes", "no"]}
    with pytest.raises(InputError, match="nodes of several tables share ids"):
        read(nodes={"people": row, "shops": row})


def test_edges_that_leave_the_nodes_can_be_kept():
    edges = {"from": ["a", "z", "a", "z"], "to": ["b", "a", "y", "y"], "amount": [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(InputError, match="--keep-unknown-edges"):
        read(edges)
    graph = read(edges, keep_unknown_edges=True)
    inside = read({name: values[:1] for name, values in edges.items()})
    assert graph.ids.tolist() == [*inside.ids, "z", "y"] and len(graph.edges) == 4
    assert [graph.node_type_names[code] for code in graph.node_type] == ["id"] * inside.num_nodes + ["outside"] * 2
    assert graph.scored.tolist() == inside.scored.tolist()
    later = read({"from": ["a"], "to": ["q"], "amount": [1.0]}, schema=graph.schema)
    assert later.ids[-1] == "q" and arguments_of(graph.schema)["keep_unknown_edges"]
    dropped = read(edges, schema=graph.schema, drop_unknown_edges=True)
    assert len(dropped.edges) == 1 and dropped.num_nodes == inside.num_nodes
    with pytest.raises(InputError, match="not both"):
        read(edges, keep_unknown_edges=True, drop_unknown_edges=True)


def test_nodes_that_edges_alone_name_have_no_gaps():
    rng = np.random.default_rng(0)
    nodes = {"id": range(300), "age": [None, *rng.normal(size=299)], "fraud": ["yes", "no", "no"] * 100}
    inside, away = rng.integers(0, 300, (2, 600)), rng.integers(1_000, 1_400, (2, 900))

    def read_with(outside):
        edges = {"source": [*inside[0], *inside[0][:1]], "target": [*inside[1], 999]}
        edges = {name: [*ends, *far[:outside]] for (name, ends), far in zip(edges.items(), away, strict=True)}
        return read_tables(nodes, edges, label="fraud", rare="yes", keep_unknown_edges=True)

    graph, alone = read_with(900), read_with(0)
    assert graph.schema["columns"] == alone.schema["columns"]
    assert graph.schema["read"]["imputed"] == {"age": 1}
    said = describe_counts(graph.schema)
    assert said["nodes that no table of nodes has"] == graph.num_nodes - 300 and said["gaps filled in age"] == 1
    more = read_tables(nodes, {"source": inside[0], "target": inside[1]}, schema=graph.schema)
    assert not [one for one in compare_with_fit(more).found if one.table == "nodes"]


def test_ids_that_are_written_otherwise_are_not_taken_for_nodes_outside():
    with pytest.raises(InputError, match="upper and lower case"):
        read({"from": ["A", "B"], "to": ["B", "C"], "amount": [1.0, 2.0]}, keep_unknown_edges=True)
    with pytest.raises(InputError, match="None is: name other columns with --id"):
        read({"from": ["x", "y"], "to": ["z", "x"], "amount": [1.0, 2.0]}, keep_unknown_edges=True)


def test_edges_that_leave_the_nodes_can_be_dropped():
    edges = {"from": ["a", "z", "a"], "to": ["b", "a", "y"], "amount": [1.0, 2.0, 3.0]}
    with pytest.raises(InputError, match="2 of 3 rows name 2 nodes .*--drop-unknown-edges"):
        read(edges)
    graph = read(edges, drop_unknown_edges=True, weight="amount")
    assert graph.edges.columns[0].values.tolist() == [1.0] and graph.edge_weight.tolist() == [1.0, 1.0]
    assert graph.schema["read"]["edges"]["unknown_ends"] == 2 and graph.schema["read"]["edges"]["rows"] == 3
    again = read(edges, schema=graph.schema)  # a model reads later tables as it read those of its fit
    assert again.edge_weight.tolist() == [1.0, 1.0] and arguments_of(graph.schema)["drop_unknown_edges"]
    with pytest.raises(InputError, match="2 of 3 rows name 2 nodes"):
        read(edges, schema=read({name: values[:1] for name, values in edges.items()}).schema)


def test_time_of_nodes_and_edges():
    graph = read(time="amount")
    assert graph.edges.columns[0].kind == "time" and graph.schema["edges"]["time"] == "amount"
    nodes = {**NODES, "opened": ["2024-01-01", "2024-01-02 12:00", None]}
    graph = read(nodes=nodes, time="opened")
    np.testing.assert_array_equal(graph.node_time, [1704067200.0, 1704196800.0, np.nan])
    assert graph.feature_names == ("x",) and graph.schema["nodes"]["time"] == "opened"
    np.testing.assert_array_equal(read(nodes=nodes, schema=graph.schema).node_time, graph.node_time)
    with pytest.raises(ColumnError, match="time must be a column .* did you mean 'opened'"):
        read(nodes=nodes, time="opend")


@pytest.mark.parametrize(
    ("edges", "hint"),
    [
        ({"from": ["7", "8"], "to": ["8", "7"]}, "leading zeros were lost"),
        ({"from": [7, 8], "to": [8, 7]}, "leading zeros were lost"),
        ({"from": ["007.0", "x"], "to": ["008.0", "008"]}, "decimals"),
        ({"from": [" 007"], "to": ["008 "]}, "spaces"),
        (
            {"from": ["007", "008"], "to": ["008; 007", "007"]},
            "cells name several nodes, such as '008; 007'; write a row",
        ),
        ({"from": ["x"], "to": ["y"]}, "'y'\\]. Keep these nodes as a kind of their own"),
        ({"from": [None], "to": ["007"]}, "These ends are empty: leave these rows out"),
        (
            {"from": ["007", "008"], "to": ["web", "web"]},
            "Column 'to' of the edges names none; if the ends are other columns",
        ),
    ],
)
def test_hints_lead_to_the_cause(edges, hint):
    with pytest.raises(InputError, match=hint):
        read(edges, nodes={"id": ["007", "008"], "x": [1, 2], "fraud": ["yes", "no"]})


@pytest.mark.parametrize(
    "ends", [("from_address", "to_address"), ("src_ip", "dst_ip"), ("a_number", "b_number"), ("paid_by", "paid_to")]
)
def test_ends_behind_other_columns_are_found_by_their_names_or_by_few_labels(ends):
    """Transfers of a chain begin with block and time; a table of labels knows few of the wallets."""
    wallets = [f"0x{k}f" for k in range(40)]
    edges = {"block": range(39), "timestamp": range(39), ends[0]: wallets[:-1], ends[1]: wallets[1:]}
    labels = {"address": wallets[3:7], "fraud": ["yes", "no", "no", "no"]}
    graph = read(edges, None, labels=labels)
    assert graph.num_nodes == 40 and (graph.y >= 0).sum() == 4
    assert [graph.node_ids[k] for k in graph.edges.source] == wallets[:-1]


def test_how_long_a_call_took_is_a_number_of_days():
    """Durations hold no ids; the guess of the ends must not stumble over them."""
    long = pl.Series([timedelta(days=k) for k in range(5)])
    edges = pl.DataFrame({"long": long, "hash": [b"\xff"] * 5, "who": EDGES["from"], "whom": EDGES["to"]})
    graph = read(edges)
    assert graph.edges.source.tolist() == [0, 0, 1, 2, 1]
    assert [column.name for column in graph.edges.columns] == ["long"]
    assert graph.edges.columns[0].values.tolist() == [0, 1, 2, 3, 4]


def test_ids_that_are_no_text_are_refused_by_name():
    with pytest.raises(InputError, match="column 'id' must hold ids as text or whole numbers; it holds Binary"):
        read(nodes=NODES | {"id": [b"\xff", b"\xfe", b"\xfd"]})


def test_what_another_kind_has_no_column_for_is_no_gap_of_the_table():
    nodes = {
        "claims": {
            "id": ["a", "b", "c"],
            "age": [1, None, 4],
            "car": ["x, red", "y", "y"],
            "fraud": ["yes", "no", None],
        },
        "garages": {"id": ["g", "h"], "rate": [9.0, 8.0]},
    }
    graph = read_tables(nodes, {"source": ["a", "b"], "target": ["g", "h"]}, label="fraud", rare="yes")
    told = {row["column"]: row["treatment"] for row in describe_schema(graph.schema)}
    assert told["age"].endswith("missing: 2.5, with an indicator") and "missing" not in told["rate"]
    assert told["car"] == "2 categories: 'x, red', y"


def test_cells_that_name_several_nodes_are_no_kind_of_their_own():
    people = [f"u{k}" for k in range(20)]
    edges = {
        "sender": people,
        "recipients": [f"{one},{other}" for one, other in zip(people, people[::-1], strict=True)],
    }
    with pytest.raises(InputError, match="cells name several nodes, such as 'u0,u19'"):
        read(edges, {"who": people, "fraud": ["yes", "no"] * 10})


def test_a_column_of_the_nodes_that_names_nodes_says_so():
    people = [f"u{k}" for k in range(300)]
    boss = [people[2 * k // 3] for k in range(300)]
    rows = {"who": people, "boss": boss, "again": people, "fraud": ["yes", "no"] * 150}
    edges = {"source": people[:2], "target": people[1:3]}
    told = {row["column"]: row["treatment"] for row in describe_schema(read(edges, rows).schema)}
    assert told["boss"].endswith("of nodes, which a further table of edges (--edges) would join")
    assert "--edges" not in told["again"]
