"""Values that others have too, against loops; in parts, live and on new tables as at once."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from stored_recipes import columns_of

import calirare as cr
from calirare.data.as_of import edges_before
from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.tables.describe import describe_schema
from calirare.decisions.column_names import say_column
from calirare.errors import InputError, ModelFormatError
from calirare.features.alone import is_alone
from calirare.features.edges.plan import EdgePlan, SharedCells
from calirare.features.edges.shared import PARTS, plan_shared, shared_columns, sharers_of
from calirare.features.recipe import ColumnRecipe
from calirare.scoring.in_parts import score_in_parts
from calirare.scoring.live.handover import hand_over, take_over
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.service.examples import example_bodies
from calirare.scoring.table import read_for, score_table

Tables = tuple[dict[str, Any], dict[str, Any]]


def logins(seed: int = 0, size: int = 300, sites: int = 30) -> Tables:
    """Users with two addresses each, which couples share, and three that all use; rings of four of the rare share one more."""
    rng = np.random.default_rng(seed)
    odd = np.arange(size) % 15 == 0
    user, site = rng.integers(0, size, 8 * size), rng.integers(0, sites, 8 * size)
    ring = odd[user] & (rng.random(user.size) < 0.4)
    everyone = rng.random(user.size) < 0.2
    ip = [
        f"ring {k // 60}"
        if in_ring
        else f" office {number % 3}"
        if of_all
        else f"home {2 * (k // 2) if k % 10 < 4 else k} {number % 2}"
        for k, in_ring, of_all, number in zip(user.tolist(), ring, everyone, range(user.size), strict=True)
    ]
    text = [
        f"{'paid again' if number % 5 else 'thanks'} {k if k % 7 else number % 11}" for number, k in enumerate(user)
    ]
    nodes = {
        "id": [f"U{k}" for k in range(size)],
        "age": rng.integers(18, 80, size).tolist(),
        "fraud": [("yes" if odd[k] != (k % 97 == 0) else "no") if k % 2 == 0 else None for k in range(size)],
    }
    edges = {
        "user": [f"U{k}" for k in user],
        "site": [f"S{k}" for k in site],
        "ip": [None if k % 50 == 3 else "unknown" if k % 50 == 4 else one for k, one in enumerate(ip)],
        "note": text,
        "time": (1.7e9 + 3600 * rng.permutation(user.size)).tolist(),
    }
    return nodes, edges


def read(tables: Any, **options: Any) -> RareGraph:
    return cr.read_tables(*tables, label="fraud", rare="yes", keep_unknown_edges=True, **options)


def fitted(tables: Any, **options: Any) -> Any:
    return cr.RareCategoryClassifier("linear", device="cpu").fit(read(tables, **options))


def split(edges: dict[str, Any], at: int) -> tuple[dict[str, Any], dict[str, Any]]:
    first, last = slice(at), slice(at, None)
    return {name: rows[first] for name, rows in edges.items()}, {name: rows[last] for name, rows in edges.items()}


def test_users_of_few_edges_by_hand() -> None:
    cells = {"ip": np.array([7.0, 7.0, 7.0, 5.0, np.nan, 3.0])}
    table = EdgeTable(np.array([0, 0, 1, 1, 2, 2]), np.array([3, 4, 3, 3, 3, 2]), cells=cells)
    plan = EdgePlan(True, shared=(SharedCells("ip", "outgoing", PARTS[:1]), SharedCells("ip", "incoming", PARTS[:1])))
    sharers = sharers_of(table, plan)
    np.testing.assert_array_equal(sharers["ip"], [1, 1, 1, 0, np.nan, 0])
    found = dict(shared_columns(table, plan, 4, sharers))
    np.testing.assert_allclose(found["ip that others have, share of outgoing"], [1, 0.5, 0, np.nan])
    np.testing.assert_allclose(found["ip that others have, share of incoming"], [np.nan, np.nan, 0, 2 / 3])
    mean = found["log number of up to 10 others with the same ip, mean of outgoing"]
    np.testing.assert_allclose(mean, [np.log(2), np.log(2) / 2, 0, np.nan])
    both = EdgePlan(False, shared=(SharedCells("ip", "edges", PARTS[:1]),))
    np.testing.assert_array_equal(sharers_of(table, both)["ip"], [2, 2, 2, 0, np.nan, 0])
    (_, share), _ = shared_columns(table, both, 4, sharers_of(table, both))
    np.testing.assert_allclose(share, [1, 0.5, 0, 2 / 3])


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = logins()
    graph = read((nodes, edges), directed=directed)
    assert graph.schema is not None and graph.schema["edges"]["cells"] == ["ip", "note"]
    found, which = columns_of(graph), "outgoing" if directed else "edges"
    rows = list(zip(edges["user"], edges["site"], edges["ip"], strict=True))
    users = defaultdict(set)
    for user, site, ip in rows:
        users[(ip or "").strip()] |= {user} if directed else {user, site}
    for k in (0, 1, 30, 60, 101):
        me = nodes["id"][k]
        mine = [(ip.strip(), {user} if directed else {user, site}) for user, site, ip in rows if user == me and ip]
        others = [len(users[ip] - own) for ip, own in mine if ip != "unknown"]
        few = [number if number <= 10 else 0 for number in others]
        for name, value in (
            (f"ip that 2 to 10 others have, share of {which}", np.mean([2 <= number <= 10 for number in others])),
            (f"log number of up to 10 others with the same ip, mean of {which}", np.mean(np.log1p(few))),
        ):
            assert found[name][k] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("directed", [True, False])
def test_scored_from_memory_in_parts_and_live(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, directed: bool) -> None:
    tables = logins()
    model = fitted(tables, directed=directed)
    names = model.state_.recipe.names
    assert sum("others have" in name or "with the same ip" in name for name in names) >= 2
    assert all(is_alone(name) for name in names if "others have" in name)
    files = [tmp_path / "nodes.parquet", tmp_path / "edges.parquet"]
    for table, file in zip(tables, files, strict=True):
        pl.DataFrame(table).write_parquet(file)
    whole = score_table(model, read(tables, directed=directed))
    monkeypatch.setattr("calirare.data.parts.cell_tally._AT_ONCE", 1_000)  # several files of users
    monkeypatch.setattr("calirare.data.parts.partitioning.EDGE_ROWS", 700)
    score_in_parts(model, *files, tmp_path / "scores.parquet", partitions=4)
    parts = pl.read_parquet(tmp_path / "scores.parquet").sort("id")
    known = {one: value for one, value in zip(whole["id"], whole["probability"], strict=True)}
    np.testing.assert_allclose(parts["probability"], [known[one] for one in parts["id"]], atol=1e-6)
    # Of the rows that come, some use an address that their user had, some one that others had, some a new one together.
    before, came = split(tables[1], len(tables[1]["user"]) - 60)
    live = LiveScores(model, read_for(model, tables[0], before))
    found = live.score(None, came, also=tables[0]["id"])
    np.testing.assert_allclose(found["probability"], [known[one] for one in found["id"]], atol=1e-6)
    hand_over(live, tmp_path)
    again = take_over(tmp_path).score(None, came, also=tables[0]["id"])
    np.testing.assert_array_equal(again["probability"], found["probability"])


def test_a_ring_that_forms_live_is_seen_at_all_its_members() -> None:
    nodes, edges = logins()
    model = fitted((nodes, edges))
    added = {"user": ["U1", "U2", "U4"], "site": ["S0"] * 3, "ip": ["home 1 0", "a new one", "home 1 0"]}
    added |= {"note": [None] * 3, "time": [1.7e9 + 5e6] * 3}
    live = LiveScores(model, read_for(model, nodes, edges)).score(None, added, also=["U1", "U2", "U3", "U4"])
    joined = {name: [*rows, *added[name]] for name, rows in edges.items()}
    whole = score_table(model, read_for(model, nodes, joined))
    known = {one: value for one, value in zip(whole["id"], whole["probability"], strict=True)}
    np.testing.assert_allclose(live["probability"], [known[one] for one in live["id"]], atol=1e-6)


def test_new_tables_are_counted_by_themselves(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = fitted(logins())
    model.save(tmp_path / "model")
    stored, (nodes, edges) = cr.load(tmp_path / "model"), logins(seed=1)
    graph = read_for(stored, nodes, edges)
    np.testing.assert_array_equal(stored.predict_proba(graph), model.predict_proba(graph))
    name = "ip that 2 to 10 others have, share of outgoing"
    columns = stored.columns(graph)
    assert columns is not None
    alone = columns_of(read((nodes, edges)))[name]
    np.testing.assert_allclose(columns.values[:, columns.names.index(name)][:300], alone[:300], atol=1e-6)
    recipe = stored.state_.recipe
    assert recipe is not None
    bare = {one: rows for one, rows in edges.items() if one != "ip"}
    ignored = cr.RareCategoryClassifier("linear", device="cpu").fit(read(logins(), types={"ip": "ignore"}))
    assert not any("same ip" in one or "ip that" in one for one in ignored.state_.recipe.names)
    assert ignored.predict_proba(read_for(ignored, nodes, bare)).shape[0] == graph.num_nodes
    with caplog.at_level(logging.WARNING):
        lacking = recipe.apply(read_for(stored, nodes, edges | {"ip": [None] * len(edges["ip"])}))
    at = lacking.names.index(name)
    np.testing.assert_allclose(lacking.values[:, at], recipe.means[at], atol=1e-6)


def test_card_numbers_of_a_column_that_was_left_out_may_be_missing_later(caplog: pytest.LogCaptureFixture) -> None:
    nodes, edges = logins()
    rng = np.random.default_rng(0)
    owner = np.array([int(one[1:]) for one in edges["user"]])
    edges["card_id"] = [
        f"{k * 2_654_435_761 % 2**32:08x}"
        for k in np.where(rng.random(owner.size) < 0.95, np.arange(owner.size) + 300, owner // 4)
    ]
    model = fitted((nodes, edges))
    assert "card_id" in model.schema_["edges"]["cells"]
    kept = {one: rows for one, rows in edges.items() if one != "card_id"}
    with caplog.at_level(logging.WARNING):
        read_for(model, nodes, kept)
    assert "'card_id'" in caplog.text


def test_models_of_earlier_versions_score_as_before() -> None:
    tables = logins()
    state = ColumnRecipe.learn(read(tables, types={"ip": "ignore", "note": "ignore"})).state()
    assert not state["edges"].pop("shared")
    old = ColumnRecipe.restore(state)
    schema: Any = read(tables, types={"ip": "ignore", "note": "ignore"}).schema
    del schema["edges"]["cells"]
    graph = cr.read_tables(*tables, schema=schema)
    assert graph.edges is not None and not graph.edges.cells
    np.testing.assert_array_equal(old.apply(graph).values, old.apply(read(tables)).values)


def test_graphs_keep_them_and_descriptions_say_so(tmp_path: Any) -> None:
    nodes, edges = logins()
    number = [f"c{k if k % 3 else k // 30}" for k in range(len(edges["user"]))]
    graph = read((nodes, {**edges, "card": number}))
    graph.save(tmp_path / "graph.npz")
    again = RareGraph.load(tmp_path / "graph.npz")
    assert graph.edges is not None and again.edges is not None
    assert list(again.edges.cells) == ["ip", "note", "card"]
    for name, cells in graph.edges.cells.items():
        np.testing.assert_array_equal(again.edges.cells[name], cells)
    assert graph.schema is not None
    said = {row["column"]: row["treatment"] for row in describe_schema(graph.schema)}
    assert said["card"].startswith("whether others have the same value: ")
    assert said["ip"].endswith("; whether others have the same value")
    assert example_bodies(graph.schema)["ToScore"]["edges"][0]["card"] == "any value"


def test_what_all_or_nobody_shares_is_not_asked() -> None:
    nodes, edges = logins()
    edges |= {"own": [f"{one}, {k}" for k, one in enumerate(edges["user"])], "owner": edges["user"]}
    edges["all"] = [f"{k % 250} of all" for k in range(len(edges["user"]))]
    schema: Any = read((nodes, edges)).schema
    assert schema["edges"]["cells"] == ["ip", "note"]
    assert read((nodes, edges), types={"ip": "categorical", "note": "ignore"}).schema["edges"]["cells"] == ["ip"]  # type: ignore[index]


def test_numbers_are_asked_where_they_name_things() -> None:
    nodes, edges = logins()
    number = [10**6 + 37 * (k if k % 3 else k // 30) for k in range(len(edges["user"]))]
    for name, column in (
        ("card_number", number),
        ("device_key", [None if k % 9 == 0 else float(one) for k, one in enumerate(number)]),
        ("account_ref", [str(one) for one in number]),
        ("price", number),
        ("weight_key", [one + 0.5 for one in number]),
        ("last_name", [f"N{one}" for one in number]),
    ):
        schema: Any = read((nodes, {**edges, name: column})).schema
        assert (name in schema["edges"]["cells"]) == (name in ("card_number", "device_key", "account_ref")), name


def test_values_are_those_of_all_edge_tables_and_of_the_time() -> None:
    nodes, edges = logins()
    first, last = split(edges, 1_200)
    tables = {"web": {**first}, "app": {name: rows for name, rows in last.items() if name != "note"}}
    graph = cr.read_tables(nodes, tables, label="fraud", rare="yes", keep_unknown_edges=True)
    both = read((nodes, edges))
    assert graph.edges is not None and both.edges is not None
    plan = EdgePlan(True, shared=(SharedCells("ip", "outgoing", PARTS),))
    np.testing.assert_array_equal(sharers_of(graph.edges, plan)["ip"], sharers_of(both.edges, plan)["ip"])
    early = edges_before(both.edges, 1.7e9 + 3600 * 300)
    rows = np.array(edges["time"]) < 1.7e9 + 3600 * 300
    kept = {name: [one for one, there in zip(of, rows, strict=True) if there] for name, of in edges.items()}
    alone = cr.read_tables(nodes, kept, schema=both.schema)
    assert alone.edges is not None
    there = sharers_of(early, plan)["ip"]
    assert np.nanmax(there) < np.nanmax(sharers_of(both.edges, plan)["ip"])
    np.testing.assert_array_equal(there, sharers_of(alone.edges, plan)["ip"])


def test_several_edge_tables_in_parts_and_live(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    nodes, edges = logins()
    web, app = split({name: rows for name, rows in edges.items() if name != "note"}, 1_200)
    paid = {"user": web["user"][:500], "site": web["site"][:500], "time": web["time"][:500]}  # has no such column
    tables = {"web": web, "app": app, "paid": paid}
    model = fitted((nodes, tables))
    assert any("with the same ip" in name for name in model.state_.recipe.names)
    whole = score_table(model, read((nodes, tables)))
    known = dict(zip(whole["id"], whole["probability"], strict=True))
    score_in_parts(model, nodes, tables, tmp_path / "scores.parquet", partitions=3)
    parts = pl.read_parquet(tmp_path / "scores.parquet")
    np.testing.assert_allclose(parts["probability"], [known[one] for one in parts["id"]], atol=1e-6)
    before, came = split(app, 1_150)
    live = LiveScores(model, read_for(model, nodes, tables | {"app": before}))
    caplog.clear()
    found = live.score(None, {"app": came}, also=nodes["id"])
    np.testing.assert_allclose(found["probability"], [known[one] for one in found["id"]], atol=1e-6)
    live.score(None, {"paid": {name: rows[:2] for name, rows in paid.items()}}, also=["U1"])
    assert "are missing" not in caplog.text


def test_they_are_planned_where_nodes_differ() -> None:
    rng = np.random.default_rng(0)
    source, cells = np.repeat(np.arange(200), 8), np.arange(1600.0)
    cells[rng.random(1600) < 0.3] = 5000.0
    assert not plan_shared(EdgeTable(source, source, cells={"ip": cells}))
    couples = (source % 4 < 2) & (rng.random(1600) < 0.5)
    cells[couples] = 7000.0 + source[couples] // 4
    cells[(source % 20 == 0) & (rng.random(1600) < 0.7)] = 6000.0
    (told,) = [one for one in plan_shared(EdgeTable(source, source, cells={"ip": cells})) if one.which == "outgoing"]
    assert told.parts[0] == "2 to 10 others have"


def test_they_are_said_in_words() -> None:
    assert (
        say_column("ip that 2 to 10 others have, share of outgoing")
        == "share of outgoing with ip that 2 to 10 others have"
    )
    assert say_column("log number of up to 10 others with the same ip, mean of outgoing") == (
        "mean log number of up to 10 others with the same outgoing ip"
    )
    assert say_column("log number of up to 10 others with the same ip, mean of edges") == (
        "mean log number of up to 10 others with the same ip"
    )


def test_what_does_not_fit_is_refused() -> None:
    table = EdgeTable(np.array([0]), np.array([1]), cells={"ip": np.array([1.0])})
    with pytest.raises(InputError, match="to be joined"):
        table.joined(EdgeTable(np.array([0]), np.array([1])))
    with pytest.raises(InputError, match="one value per edge"):
        EdgeTable(np.array([0]), np.array([1]), cells={"ip": np.array([1.0, 2.0])})
    state = ColumnRecipe.learn(read(logins())).state()
    state["edges"]["shared"][0]["parts"] = ["all others have"]
    with pytest.raises(ModelFormatError):
        ColumnRecipe.restore(state)
