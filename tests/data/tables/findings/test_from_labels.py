"""Columns made from neighbours' labels are found, whatever is made of them; columns made from the truth are not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from made_columns import World

import calirare as cr
from calirare.data.tables.audit import audit_graph
from calirare.data.tables.findings.from_labels import _Around, made_from_labels


def read(world, **columns):
    return cr.read_tables(*world.tables(**columns), label="fraud", rare="yes")


def of_labels(world):
    return world.columns(world.y * world.known, world.known)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"labelled": 0.1, "rare": 0.15},
        {"labelled": 1.0},
        {"degree": 10},
        {"alike": 0.7},
        {"alike": 0.7, "labelled": 1.0},
    ],
    ids=str,
)
def test_every_way_to_say_it_is_found(options):
    world = World.draw(**options)
    columns = of_labels(world)
    assert made_from_labels(read(world, **columns)) == tuple(columns)


def test_one_direction_and_one_kind_of_edges_are_looked_at_apart():
    world, rng = World.draw(), np.random.default_rng(2)
    by = rng.choice(["card", "wire"], len(world.pairs))
    (source, target), bad = world.pairs.T, world.y * world.known
    wired = by == "wire"
    senders = np.bincount(target, weights=bad[source], minlength=world.y.size)
    wires = np.bincount(target[wired], weights=bad[source[wired]], minlength=world.y.size)
    wires += np.bincount(source[wired], weights=bad[target[wired]], minlength=world.y.size)
    nodes, edges = world.tables(senders=senders, wires=wires)
    graph = cr.read_tables(nodes, edges | {"by": by}, label="fraud", rare="yes", edge_type="by")
    assert made_from_labels(graph) == ("senders", "wires")


@pytest.mark.parametrize("share", [0.3, 0.75])
def test_a_column_of_last_year_is_found_though_more_is_known_today(share):
    world = World.draw(n=3000)
    then = world.known & (np.random.default_rng(3).random(3000) < share)
    assert made_from_labels(read(world, contacts=world.sums(world.y * then))) == ("contacts",)


@pytest.mark.parametrize("alike", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("labelled", [0.1, 0.4, 0.7])
@pytest.mark.parametrize("degree", [2, 6, 30])
def test_what_follows_the_truth_is_no_finding(alike, labelled, degree):
    """Neither a perfect attribute nor what is summed up from the neighbours' true classes, or nearly."""
    world = World.draw(seed=degree, alike=alike, labelled=labelled, degree=degree, n=1000)
    rng = np.random.default_rng(4)
    nearly = world.y ^ (rng.random(1000) < 0.02)
    towns = (world.y == 1) | (rng.random(1000) < 0.1)
    honest = {
        "perfect": world.y, "score": world.y + 0.3 * rng.normal(size=1000), "town": towns.astype(int),
        "degree": world.sums(np.ones(1000)), "in town": world.sums(towns), "labels": world.sums(world.known),
        "nearly": world.sums(nearly), "smooth": world.sums(world.y + 0.3 * rng.normal(size=1000)),
    } | {f"true {name}": column for name, column in world.columns(world.y, np.ones(1000)).items() if "steps" not in name}  # fmt: skip
    assert made_from_labels(read(world, **honest)) == ()


@pytest.mark.parametrize("labelled", [0.5, 1.0])
def test_a_dense_town_of_many_rare_ones_is_no_finding(labelled):
    """Nearly all of its people know a labelled rare one, and nobody elsewhere does: only chance leaves some without."""
    rng, n = np.random.default_rng(5), 1200
    town = np.arange(n) < 300
    y = (town & (rng.random(n) < 0.4)).astype(int)
    pairs = rng.integers(0, 300, (3000, 2)) + np.where(rng.random(3000) < 0.25, 0, 300)[:, None] * rng.integers(
        1, 4, (3000, 1)
    )
    world = World(y, rng.random(n) < labelled, pairs[pairs[:, 0] != pairs[:, 1]])
    assert made_from_labels(read(world, town=town.astype(int), degree=world.sums(np.ones(n)))) == ()


def test_neighbours_of_one_labelled_node_are_one_piece_of_luck():
    """All customers of one shop that is known as rare have a column to themselves: that is a shop, and no count of labels."""
    rng, n = np.random.default_rng(6), 1000
    shops = np.stack([rng.permutation(20)[:3] for _ in range(n - 20)])
    pairs = np.stack([np.repeat(np.arange(20, n), 3), shops.ravel()], axis=1)
    y, known = np.zeros(n, dtype=int), rng.random(n) < 0.3
    y[[0, *range(100, 110)]], known[[0, *range(100, 110)]] = 1, True
    known[1:20] = False
    customer = np.zeros(n, dtype=int)
    customer[20:] = (shops == 0).any(axis=1)
    assert made_from_labels(read(World(y, known, pairs), customer=customer)) == ()


def test_a_column_that_says_something_else_too_is_no_finding():
    world, rng = World.draw(n=6000), np.random.default_rng(8)
    contacts = world.sums(world.y * world.known)
    assert made_from_labels(read(world, contacts=contacts)) == ("contacts",)
    assert made_from_labels(read(world, contacts=contacts + (rng.random(6000) < 0.005))) == ()


def test_where_all_are_labelled_what_happens_to_neighbours_of_rare_nodes_is_no_finding():
    """Half of those who know a fraudster have complained: who is labelled cannot tell it from a column made of labels."""
    world, rng = World.draw(labelled=1.0), np.random.default_rng(10)
    complained = (world.sums(world.y) > 0) & (rng.random(1500) < 0.5)
    assert made_from_labels(read(world, complained=complained.astype(int))) == ()


def test_of_a_column_made_from_few_of_the_labels_nothing_is_said():
    world = World.draw(n=6000)
    then = np.random.default_rng(3).random(6000) < 0.1
    assert made_from_labels(read(world, contacts=world.sums(world.y * world.known * then))) == ()


@pytest.mark.parametrize("degree", [2, 8])
def test_of_hundreds_of_columns_of_chance_none_is_a_finding(degree):
    world, rng = World.draw(n=400, rare=0.2, labelled=0.5, degree=degree), np.random.default_rng(9)
    chance = {f"c{k}": (rng.random(400) < rng.uniform(0.01, 0.5)).astype(int) for k in range(400)}
    assert made_from_labels(read(world, **chance)) == ()


def test_only_labels_that_are_given_are_read():
    world = World.draw()
    graph = read(world, **of_labels(world))
    half = graph.known[::2]
    other = graph.with_labels(np.where(np.isin(np.arange(world.y.size), half), graph.y, 1 - np.abs(graph.y)))
    assert made_from_labels(graph, half, graph.y[half]) == made_from_labels(other, half, other.y[half])


@pytest.mark.parametrize("steps", [1, 2])
def test_counts_are_those_of_dense_powers(steps):
    rng = np.random.default_rng(7)
    dense = np.triu(rng.random((40, 40)) < 0.1, 1) * 1.0
    dense += dense.T
    rare, labelled = rng.random(40) < 0.2, rng.random(40) < 0.5
    walks = np.linalg.matrix_power(dense, steps)
    np.fill_diagonal(walks, 0.0)
    found = _Around.of(sp.csr_array(dense), steps, rare, labelled)
    np.testing.assert_allclose(found.count, walks @ rare)
    np.testing.assert_allclose(found.degree, walks.sum(axis=1))
    np.testing.assert_allclose(found.labelled, walks @ labelled)


def test_the_nodes_behind_stars_are_counted_by_how_much_hangs_on_each():
    """Rare centres of 3, 3 and 6 leaves: 12² / (9 + 9 + 36)."""
    ends = np.array([0] * 3 + [1] * 3 + [2] * 6), np.arange(3, 15)
    both = np.concatenate(ends), np.concatenate(ends[::-1])
    rare = np.arange(15) < 3
    stars = _Around.of(sp.csr_array((np.ones(24), both), shape=(15, 15)), 1, rare, rare)
    assert stars.num_behind(~rare, rare) == pytest.approx(144 / 54)


def test_the_audit_says_it_once_and_what_to_do():
    world = World.draw()
    found = [
        one for one in audit_graph(read(world, contacts=of_labels(world)["known bad contacts"])).findings if one.column
    ]
    assert [(one.severity, one.column) for one in found] == [("leak", "contacts")]
    assert found[0].words.startswith("seems to be made from the labels") and "--type contacts=ignore" in found[0].words
