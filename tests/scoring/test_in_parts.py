"""Scoring in parts gives what scoring at once gives."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial

import numpy as np
import polars as pl
import pytest
from made_columns import World
from ray_cluster import run_program

import calirare as cr
from calirare.calibration import CaGCN
from calirare.data.arrays import UNKNOWN
from calirare.data.parts.partitioning import partition_tables
from calirare.data.tables.files import write_tables
from calirare.data.tables.shift import Shifts, compare_with_fit
from calirare.decisions.why import Reasons
from calirare.decisions.wording import wording_of
from calirare.detectors import detectors
from calirare.errors import InputError
from calirare.estimator import sureness
from calirare.estimator.methods import get_method, temporarily
from calirare.estimator.score_profile import and_scores
from calirare.features.recipe import ColumnRecipe
from calirare.scoring import in_parts as partitioned
from calirare.scoring.in_parts import score_in_parts, wants_parts
from calirare.scoring.part_columns import PartColumns
from calirare.scoring.table import read_for, score_table
from calirare.uncertainty.intervals import calibration_draws

pytestmark = pytest.mark.usefixtures("quick_networks_here")


@pytest.fixture(scope="module")
def network():
    """Three hundred accounts."""
    return cr.make_transactions(300, rare_share=0.15, labelled_share=0.4, seed=3)


@pytest.fixture(scope="module")
def tables(network, tmp_path_factory):
    """Their tables."""
    return write_tables(network, tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def fit(tables):
    """Fits a classifier on them, each once."""
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    quick = {"epochs": 20, "weight_decay": 2e-2, "hidden": 4}

    @cache
    def fit_one(detector="gcn", **options):
        return cr.RareCategoryClassifier(detectors()[detector](**quick), device="cpu", **options).fit(graph)

    return fit_one


def check(table, want, atol=2e-6):
    """The same columns: numbers up to rounding, the rest exactly."""
    assert table.columns == list(want)
    for name, values in want.items():
        if name in ("probability", "lower", "upper", "disagreement"):
            np.testing.assert_allclose(table[name].to_numpy(), values, atol=atol)
        else:
            assert table[name].to_list() == values.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "isotonic", "prior": "balanced"},
        {"detector": "sage", "method": "uncalibrated"},
        pytest.param({"detector": "gin", "method": "uncalibrated"}, marks=pytest.mark.slow),
        pytest.param({"detector": "gat", "method": "uncalibrated"}, marks=pytest.mark.slow),
    ],
)
def test_parts_give_the_scores_of_the_whole(fit, tables, tmp_path, options):
    classifier = fit(**options)
    seen = []
    done = score_in_parts(
        classifier,
        *tables,
        tmp_path / "s.parquet",
        coverage=0.7,
        partitions=3,
        progress=lambda *step: seen.append(step),
    )
    want = score_table(classifier, read_for(classifier, *tables), coverage=0.7)
    table = pl.read_parquet(tmp_path / "s.parquet")
    # Between two steps of an isotonic map the last digits of single precision count for more.
    check(table, want, atol=2e-5 if options.get("method") == "isotonic" else 2e-6)
    assert np.ptp(want["lower"]) > 0.01 and np.ptp(want["upper"]) > 0.01  # else the interval would prove little
    assert (done.num_nodes, done.num_parts) == (300, 3)
    assert done.top["probability"].tolist() == sorted(table["probability"], reverse=True)[:10]
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["s.parquet"]


@pytest.fixture(scope="module")
def typed(tables):
    """The same accounts with two dates and a limit of what they pay, payments of several types, some without, some to oneself; one column has gaps."""
    nodes, edges = (pl.read_parquet(path) for path in tables)
    rng = np.random.default_rng(0)
    gaps, fees = rng.random(edges.height) < 0.2, rng.normal(size=edges.height)
    fee = [None if gap else float(fee) for gap, fee in zip(gaps, fees, strict=True)]
    kind = rng.choice(["wire", "card", None], edges.height, p=[0.6, 0.3, 0.1])
    opened, checked = np.datetime64("2024-01-01") + rng.integers(0, 300, (2, nodes.height))
    nodes = nodes.with_columns(opened=opened, checked=pl.when(rng.random(nodes.height) < 0.8).then(pl.lit(checked)))
    most = edges.group_by("source").agg(limit=2 * pl.col("amount").max())
    nodes = nodes.drop("amount_mean_log10").join(
        most, left_on="id", right_on="source", how="left", maintain_order="left"
    )
    edges = edges.with_columns(fee=pl.Series(fee), kind=pl.Series(kind))
    loops = edges.head(7).with_columns(target=pl.col("source"))
    return nodes, pl.concat([edges, loops, edges.tail(9)])


@pytest.mark.parametrize(
    ("options", "detector"),
    [
        ({}, cr.detectors.Stack(["linear", cr.detectors.Spreading(along="kind = wire", by="amount")])),
        ({"edge_type": "kind"}, "forest"),
        ({"edge_type": "kind"}, cr.detectors.Stack(["linear", cr.detectors.Spreading(along="card | unknown")])),
        (
            {"directed": False, "weight": "amount"},
            cr.detectors.Stack(["linear", cr.detectors.GCN(epochs=5), "surroundings", "spreading"]),
        ),
    ],
)
def test_columns_in_parts_are_those_of_the_whole(typed, tmp_path, options, detector):
    detector = cr.detectors.Forest(trees=20) if detector == "forest" else detector
    graph = cr.read_tables(*typed, label="is_fraud", rare="yes", **options)
    classifier = cr.RareCategoryClassifier(detector, device="cpu").fit(graph)
    tables = [tmp_path / "nodes.parquet", tmp_path / "edges.parquet"]
    for frame, path in zip(typed, tables, strict=True):
        frame.write_parquet(path)
    seen: list[Shifts] = []
    done = score_in_parts(classifier, *tables, tmp_path / "s.parquet", partitions=4, accept=seen.append)
    want = score_table(classifier, graph)
    table = pl.read_parquet(tmp_path / "s.parquet")
    np.testing.assert_allclose(table["probability"].to_numpy(), want["probability"], atol=1e-6)
    check(table, want)
    assert done.num_parts == 4 and np.ptp(want["probability"]) > 0.1
    shifts = compare_with_fit(read_for(classifier, *tables))
    unknown = want["probability"][graph.y[graph.scored] < 0]
    assert seen == [shifts, and_scores(shifts, unknown, classifier.state_.scores)]
    assert seen[0].indices == shifts.indices


@pytest.mark.parametrize("detector", ["spreading", "surroundings"])
@pytest.mark.parametrize("same", [True, False])
def test_it_spreads_in_parts_of_the_network_of_the_fit_alone(tables, tmp_path, same, detector):
    classifier = cr.RareCategoryClassifier(detector).fit(cr.read_tables(*tables, label="is_fraud", rare="yes"))
    if not same:  # the same ids, and other payments
        other = cr.make_transactions(300, rare_share=0.15, labelled_share=0.4, seed=4)
        tables = write_tables(other, tmp_path)
    score_in_parts(classifier, *tables, tmp_path / "s.parquet", partitions=4)
    found = pl.read_parquet(tmp_path / "s.parquet")
    check(found, score_table(classifier, read_for(classifier, *tables)))
    spread = found["probability"].max() - found["probability"].min()
    assert spread > 0.1 if same else spread == 0


@pytest.mark.parametrize("weeks", [0, 60])
def test_part_columns_equal_those_of_the_recipe_to_the_last_bit(typed, tmp_path, monkeypatch, weeks):
    """Of the tables of the fit, and of later ones."""
    monkeypatch.setattr("calirare.features.propagation.MOST_COLUMNS", 1_000)
    later = typed[0], typed[1].with_columns(pl.col("time") + timedelta(weeks=weeks))
    recipe, found, want = whole_and_in_parts(typed, later, tmp_path, edge_type="kind")
    assert {one.statistic for one in recipe.aggregates} == {"mean", "spread", "two steps"} and recipe.edges.types
    assert recipe.edges.num_met and recipe.edges.num_usual and any(column.dated for column in recipe.edges.columns)
    assert recipe.own.sizes and any(one.weight for one in recipe.aggregates)
    np.testing.assert_array_equal(found, want)


def test_what_two_columns_of_an_edge_say_is_the_same_in_parts(typed, tmp_path):
    """Payments are taxed by channel, and settled later."""
    nodes, edges = typed
    rng = np.random.default_rng(1)
    waits, rates = pl.Series(rng.integers(1, 10**6, edges.height)), pl.Series(rng.uniform(0.9, 1.1, edges.height))
    tax = pl.col("amount") * rates * pl.col("channel").str.len_chars() ** 2
    edges = edges.with_columns(tax=tax, settled=pl.col("time") + pl.duration(seconds=waits))
    recipe, found, want = whole_and_in_parts((nodes, edges), (nodes, edges), tmp_path)
    assert all(getattr(recipe.edges.within, what) for what in ("times", "ratios", "beside"))
    np.testing.assert_array_equal(found, want)


def whole_and_in_parts(tables, later, folder, **options):
    """(the recipe of tables, its columns of later ones made in five parts, and at once)."""
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes", **options)
    recipe = ColumnRecipe.learn(graph)
    paths = [folder / "nodes.parquet", folder / "edges.parquet"]
    for frame, path in zip(later, paths, strict=True):
        frame.write_parquet(path)
    want = recipe.apply(cr.read_tables(*paths, schema=graph.schema))
    parts = partition_tables(*paths, graph.schema, folder, partitions=5, rows=True)
    columns = PartColumns(recipe, parts)
    columns.create()
    columns.write_structure()
    for work in (columns.write_usual, columns.write_base, columns.write_means):
        for place in range(len(parts)):
            work(place)
    return recipe, np.concatenate([columns.columns(place).values for place in range(len(parts))]), want.values


@pytest.fixture(scope="module")
def kinds(tables):
    """Accounts and shops in tables of their own, payments among accounts and in shops."""
    nodes, pays = (pl.read_parquet(path) for path in tables)
    rng = np.random.default_rng(1)
    shops = pl.DataFrame({"shop": [f"S{k}" for k in range(40)], "size": rng.gamma(2.0, 1.0, 40)})
    buys = pl.DataFrame(
        {"id": rng.choice(nodes["id"].to_list(), 400), "shop": rng.choice(shops["shop"].to_list(), 400)}
    ).with_columns(price=pl.Series(rng.gamma(2.0, 9.0, 400)))
    return {"accounts": nodes, "shops": shops}, {"pays": pays, "buys": buys}


def test_kinds_of_node_and_types_of_edge_in_parts(kinds, tmp_path):
    graph = cr.read_tables(*kinds, label="is_fraud", rare="yes")
    classifier = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.01)).fit(graph)
    seen: list[Shifts] = []
    told = {"queue": tmp_path / "q.parquet", "queue_size": 12}
    done = score_in_parts(classifier, *kinds, tmp_path / "s.parquet", partitions=12, accept=seen.append, **told)
    want = score_table(classifier, graph)
    check(pl.read_parquet(tmp_path / "s.parquet"), want)
    queue = pl.read_parquet(tmp_path / "q.parquet")
    nodes = np.array([graph.index_of(name) for name in queue["id"]])
    whole = Reasons(classifier, graph, np.full(graph.num_nodes, UNKNOWN), wording_of(classifier, 0.9))
    assert queue["reason"].to_list() == whole.write(nodes, ["review"] * 12, np.zeros(12, dtype=bool)).tolist()
    assert done.num_nodes == 300 and len(want["id"]) == 300  # accounts alone; some parts hold none of them
    np.testing.assert_allclose(done.unknown, want["probability"][graph.y[graph.scored] < 0], atol=1e-6)
    shifts = compare_with_fit(graph)
    assert seen == [shifts, and_scores(shifts, done.unknown, classifier.state_.scores)]


def test_words_in_parts(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    size, words = 200, 150
    y = (rng.random(size) < 0.3).astype(int)
    table = {"id": np.arange(size), "bad": np.where(rng.random(size) < 0.6, np.where(y, "y", "n"), None)}
    for k in range(words):
        table[f"word {k}"] = (rng.random(size) < np.where(y & (k < 9), 0.3, 0.04)).astype(int)
    ends = rng.integers(0, size - 9, (600, 2))  # the last nodes have no edges
    nodes, edges = pl.DataFrame(table), pl.DataFrame(ends, schema=["source", "target"])
    monkeypatch.setattr("calirare.data.tables.schema.learning.SPARSE_WIDTH", 100)
    graph = cr.read_tables(nodes, edges, label="bad", rare="y")
    classifier = cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.01, hops=2)).fit(graph)
    design = classifier.detector_.main_.design
    assert design.words is not None and design.hops == 2 and classifier.detector_.own_ is not None
    done = score_in_parts(classifier, nodes, edges, tmp_path / "s.parquet", partitions=3)
    check(pl.read_parquet(tmp_path / "s.parquet"), score_table(classifier, graph))
    assert done.num_parts == 3


@pytest.mark.parametrize("detector", ["linear", "gcn"])
def test_a_shift_is_found_in_parts_and_can_be_refused(fit, tables, tmp_path, detector):
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    classifier = fit() if detector == "gcn" else cr.RareCategoryClassifier("linear").fit(graph)
    nodes, edges = (pl.read_parquet(path) for path in tables)
    name = graph.feature_names[0]
    shifted = [tmp_path / "n.parquet", tmp_path / "e.parquet"]
    nodes.with_columns(pl.col(name) * 100).write_parquet(shifted[0])
    edges.with_columns(pl.col("amount") * 100).write_parquet(shifted[1])

    def refuse(shifts):
        raise InputError(shifts.found[0].words)

    with pytest.raises(InputError, match="at fit|of the fit"):
        score_in_parts(classifier, *shifted, tmp_path / "s.parquet", partitions=2, accept=refuse)
    assert not (tmp_path / "s.parquet").exists()
    done = score_in_parts(classifier, *shifted, tmp_path / "s.parquet", partitions=2)
    want = read_for(classifier, *shifted)
    scores = score_table(classifier, want)["probability"][want.y[want.scored] < 0]
    expected = and_scores(compare_with_fit(want), scores, classifier.state_.scores)
    assert {one.column for one in expected.found} >= {name, "amount"}
    assert [(one.table, one.column, one.severity, one.words) for one in done.shift.found] == [
        (one.table, one.column, one.severity, one.words) for one in expected.found
    ]


def test_sparse_features_weights_and_shards(tables, tmp_path, monkeypatch):
    nodes, edges = (pl.read_parquet(path) for path in tables)
    edges = edges.with_columns(pl.Series("amount", np.random.default_rng(0).integers(0, 4, edges.height)))
    graph = cr.read_tables(nodes, edges, label="is_fraud", rare="yes", weight="amount")
    graph = cr.read_tables(nodes, edges, schema={**graph.schema, "sparse": True})
    classifier = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=10, hidden=4, weight_decay=2e-2), method="uncalibrated", device="cpu"
    ).fit(graph)
    for name, frame in (("nodes", nodes), ("edges", edges)):
        (tmp_path / name).mkdir()
        for place in range(3):
            size = -(-frame.height // 3)
            frame[place * size : (place + 1) * size].write_parquet(tmp_path / name / f"{place}.parquet")
    monkeypatch.setattr(partitioned, "_PART_BYTES", 1 << 19)  # so that several parts are wanted unasked
    done = score_in_parts(classifier, tmp_path / "nodes", tmp_path / "edges" / "*.parquet", tmp_path / "s.csv")
    assert done.num_parts > 2 and done.read["edges"] == graph.schema["read"]["edges"]
    check(pl.read_csv(tmp_path / "s.csv"), score_table(classifier, graph))


def test_without_intervals_their_columns_are_left_out(fit, tables, tmp_path):
    classifier = fit()
    score_in_parts(classifier, *tables, tmp_path / "s.parquet", intervals=False, partitions=2)
    check(
        pl.read_parquet(tmp_path / "s.parquet"), score_table(classifier, read_for(classifier, *tables), intervals=False)
    )


def test_a_failure_leaves_the_earlier_scores_and_no_rubbish(fit, tables, tmp_path, monkeypatch):
    (tmp_path / "s.parquet").write_bytes(b"earlier")
    monkeypatch.setattr(partitioned.PartScorer, "write_scores", lambda self, place: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        score_in_parts(fit(), *tables, tmp_path / "s.parquet", intervals=False, work=tmp_path / "work")
    assert (tmp_path / "s.parquet").read_bytes() == b"earlier"
    assert not list((tmp_path / "work").iterdir())


def test_what_parts_cannot_do_is_said_before_reading(fit, tables, tmp_path):
    plain = fit(method="uncalibrated")
    with temporarily(replace(get_method("cagcn"), calibrator=partial(CaGCN, epochs=1))):
        looks_around = fit(method="cagcn")
    for classifier, options, says in [
        (looks_around, {}, "looking at the whole graph"),
        (plain, {"partitions": 0}, "1 or more"),
        (plain, {"coverage": 2.0}, "coverage"),
        (plain, {"backend": "dask"}, "backend"),
    ]:
        with pytest.raises(InputError, match=says):
            score_in_parts(classifier, *tables, tmp_path / "s.parquet", **options)
    assert not list(tmp_path.iterdir())


def test_parts_are_chosen_unasked_for_shards_and_for_many_edges(tables, monkeypatch):
    assert not wants_parts(*tables)
    assert wants_parts(tables[0].parent, tables[1]) and wants_parts(tables[0], str(tables[1].parent / "e*.parquet"))
    monkeypatch.setattr(partitioned, "MANY_EDGES", 100)
    assert wants_parts(*tables)
    assert not wants_parts("nodes.csv", "edges.csv") and not wants_parts("nodes.parquet", "gone.parquet")
    assert wants_parts(None, {"some": tables[1], "more": tables[1]}) and not wants_parts(tables[1], {"id": [1]})


@pytest.mark.slow
def test_two_processes_and_a_ray_cluster_of_two_workers_give_the_same_scores(fit, tables, tmp_path, monkeypatch):
    monkeypatch.setattr(sureness, "calibration_draws", calibration_draws)  # as many draws as other processes take
    classifier = fit()
    classifier.save(tmp_path / "model")
    words = ["score", str(tmp_path / "model"), *map(str, tables), "--partitions", "4", "--json"]
    for name, options in (("one", []), ("two", ["--jobs", "2"]), ("ray", ["--jobs", "2", "--work", str(tmp_path)])):
        out = tmp_path / f"{name}.parquet"
        printed = run_program([*words, "--out", str(out), *options], on_cluster=name == "ray")
        assert json.loads(printed[printed.index("{") :])["parts"] == 4
        check(pl.read_parquet(out), score_table(classifier, read_for(classifier, *tables)))
        assert out.read_bytes() == (tmp_path / "one.parquet").read_bytes()


@pytest.mark.parametrize("detector", ["gcn", cr.detectors.Stack(["linear", "spreading"])], ids=["gcn", "stack"])
def test_the_queue_is_told_as_at_once(detector, tables, tmp_path, monkeypatch):
    """The likeliest nodes of all parts, in the words of the whole graph; few of the others are asked, the same ones."""
    monkeypatch.setattr("calirare.decisions.facts._SAMPLE", 50)
    monkeypatch.setattr("calirare.decisions.why._LARGEST_FOR_NETWORKS", 10)
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    clf = cr.RareCategoryClassifier(detector=detector, device="cpu").fit(graph)
    done = score_in_parts(
        clf, *tables, tmp_path / "scores.parquet", partitions=4, queue=tmp_path / "queue.parquet", queue_size=12
    )
    queue, scores = (pl.read_parquet(tmp_path / name) for name in ("queue.parquet", "scores.parquet"))
    first = scores.sort("probability", descending=True, maintain_order=True).head(12)
    assert queue.drop("reason").equals(first) and len(done.top["id"]) == 10
    whole = Reasons(clf, graph, np.full(graph.num_nodes, UNKNOWN), wording_of(clf, 0.9))
    nodes = np.array([graph.index_of(name) for name in queue["id"]])
    assert queue["reason"].to_list() == whole.write(nodes, ["review"] * 12, np.zeros(12, dtype=bool)).tolist()
    assert len(set(queue["reason"])) > 3


def test_a_column_that_is_made_from_labels_is_read_of_the_node_alone_here_too(tmp_path):
    world = World.draw(n=800, rare=0.15, labelled=0.5, alike=0.8)
    paths = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"
    for path, columns in zip(paths, world.tables(contacts=world.sums(world.y * world.known)), strict=True):
        pl.DataFrame({name: list(column) for name, column in columns.items()}).write_parquet(path)
    graph = cr.read_tables(*paths, label="fraud", rare="yes")
    classifier = cr.RareCategoryClassifier("linear").fit(graph)
    assert classifier.state_.recipe.own.apart == ("contacts",)
    score_in_parts(classifier, *paths, tmp_path / "s.parquet", partitions=4)
    found = pl.read_parquet(tmp_path / "s.parquet").sort("id")["probability"]
    assert np.ptp(found.to_numpy()) > 0.1
    np.testing.assert_allclose(found.to_numpy(), classifier.predict_proba(graph)[:, 1], atol=2e-6)
