"""Which column names the nodes, where their table has a name beside it, and what is said where it was the wrong one."""

import pytest

from calirare.data.parts.table_stream import TableStream
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.reading import read_tables
from calirare.errors import ColumnError, InputError

SITES = {"pub": [f"{k:03d}" for k in range(20)], "name": [f"app {k}" for k in range(20)], "bad": ["yes", "no"] * 10}
DEVICES = {"phone": [f"p{k}" for k in range(30)], "name": ["moto", "pixel", "redmi"] * 10}
INSTALLS = {"phone": [f"p{k % 30}" for k in range(60)], "pub": [f"{k % 20:03d}" for k in range(60)]}
KINDS = {"sites": SITES, "devices": DEVICES}


def read(nodes=KINDS, edges=INSTALLS, **options):
    return read_tables(nodes, edges, label="bad", rare="yes", **options)


def test_the_first_column_is_the_id_where_the_edges_have_it_and_no_name():
    graph = read()
    assert graph.ids[:2].tolist() == ["000", "001"] and graph.ids[20:22].tolist() == ["p0", "p1"]
    names = {row["column"]: row["type"] for row in describe_schema(graph.schema)}
    assert names["pub"] == "end" and graph.schema["id"] == "pub"
    assert read(SITES, {"pub": SITES["pub"], "friend": SITES["pub"][::-1]}).schema["id"] == "pub"
    friends = {"name": SITES["name"], "friend": SITES["name"][::-1], "pub": SITES["pub"]}
    assert read(SITES, friends).schema["id"] == "name"  # the edges have both


def test_parts_and_later_tables_find_the_same_id():
    graph = read()
    assert read_tables(KINDS, INSTALLS, schema=graph.schema).ids.tolist() == graph.ids.tolist()
    stream = TableStream.open(KINDS, INSTALLS, graph.schema, {})
    found = [str(one) for _, _, rows in stream.node_batches(7) for one in rows.frame[rows.id]]
    assert found == graph.ids.tolist()


def test_a_column_that_the_edges_name_instead_is_told_with_unknown_ones_kept_too():
    strangers = {"phone": [*INSTALLS["phone"], "p99"], "pub": [*INSTALLS["pub"], "001"]}
    devices = {"phone": DEVICES["phone"], "model": DEVICES["name"]}
    for nodes in ({"sites": SITES, "devices": devices}, SITES):
        with pytest.raises(InputError, match=r"no edge names one by its 'name'.*in column 'pub' \(--id pub\)"):
            read(nodes, strangers, id="name", keep_unknown_edges=True)
    with pytest.raises(InputError, match=r"not in columns \['pub', 'phone'\], first: \['p99'\]"):
        read(edges=strangers)


def test_names_that_come_twice_within_a_table_are_not_said_to_be_shared_between_tables():
    edges = {"who": INSTALLS["pub"], "what": INSTALLS["phone"]}
    with pytest.raises(InputError, match=r"column 'name' must name every node once; 3 ids .* \(--id\)"):
        read(edges=edges)


def test_a_column_that_never_repeats_is_named_where_the_id_does():
    nodes = {"address": list("abcd"), "client": ["1.13.4", "1.13.4", "1.14", "1.14"], "bad": ["yes", "no", "no", None]}
    edges = {"from_addr": list("abc"), "to_addr": list("bcd")}
    with pytest.raises(
        InputError, match=r"column 'client' must name every node once; .*--id address: it never repeats"
    ):
        read(nodes, edges)
    assert read(nodes, edges, id="address").ids.tolist() == list("abcd")
    once = {**nodes, "client": ["1.13.4", "1.13.4", "1.14", "1.15"], "address": ["a", "b", "c", "c"]}
    with pytest.raises(InputError, match=r"1 id appears more than once: \['c'\].*say so \(--id\)"):
        read(once, edges, id="address")


def test_edges_without_rows_are_told(caplog):
    read(SITES, {"pub": [], "friend": []})
    assert "edges: there are no rows, so each node stands alone." in caplog.text


def test_tables_that_are_swapped_at_scoring_are_told():
    edges = {"from": SITES["pub"], "to": SITES["pub"][::-1]}
    schema = read(SITES, edges, id="pub").schema
    with pytest.raises(ColumnError, match="'pub' is one of the edges. The table of nodes comes first"):
        read_tables(edges, SITES, schema=schema)
    renamed = {"publ": SITES["pub"], "name": SITES["name"]}
    with pytest.raises(ColumnError, match="got 'pub': did you mean 'publ'.* 'pub' is one of the edges"):
        read_tables(renamed, {**edges, "pub": edges["from"]}, schema=schema)
